// What stands in a conversation, and which of it the URL names.

import { cleanup, renderHook } from "@testing-library/react";
import { afterEach, expect, test } from "vitest";

import type { Message, RunSummary } from "../src/api/types";
import { askableQuestions, findTarget, useItems, useTarget } from "../src/chat/items";
import type { Outgoing } from "../src/chat/outbox";

afterEach(cleanup);

const RUN = "00000000-0000-4000-8000-00000000000a";

function message(id: string, role: Message["role"], runId: string | null, at = "2026-01-01T00:00:00Z"): Message {
  return { id, role, run_id: runId, content: id, agent: null, attachment_ids: [], action_id: null, created_at: at };
}

function run(id: string, changes: Partial<RunSummary> = {}): RunSummary {
  return {
    request_id: id,
    user_id: "ann",
    query: `question of ${id}`,
    answer: null,
    assistant: "mentor",
    conversation_id: "c",
    kind: "ask",
    source: "api",
    status: "NEW",
    archive_status: "PENDING",
    error_code: null,
    error_message: null,
    limited: null,
    priority: "normal",
    run_at: null,
    attributes: {},
    memory: "ok",
    created_at: "2026-01-02T00:00:00Z",
    completed_at: null,
    replaces: null,
    action: null,
    ...changes,
  };
}

function itemsOf(newestFirst: Message[], runs: RunSummary[], outbox: Outgoing[] = []) {
  return renderHook((shown: Parameters<typeof useItems>) => useItems(...shown), {
    initialProps: [newestFirst, runs, outbox, "c"],
  });
}

const namesOf = ({ result }: ReturnType<typeof itemsOf>) =>
  result.current.map((item) => `${item.kind} ${item.kind === "message" ? item.message.id : item.key}`);

test("the order of 20,000 messages is found within a moment", () => {
  const messages = Array.from({ length: 10_000 }, (_, n) => [
    message(`answer ${n}`, "assistant", `run ${n}`),
    message(`question ${n}`, "user", `run ${n}`),
  ]).flat();
  const began = process.cpuUsage(); // whatever else this machine does
  expect(itemsOf(messages, []).result.current).toHaveLength(20_000);
  expect(process.cpuUsage(began).user / 1000).toBeLessThan(1500);
});

test("an answer stands behind its question, also of two that were sent quickly", () => {
  const shown = itemsOf(
    [
      message("4", "assistant", "b"),
      message("3", "assistant", "a"),
      message("2", "user", "b"),
      message("1", "user", "a"),
    ],
    [],
  );
  expect(namesOf(shown)).toEqual(["message 1", "message 3", "message 2", "message 4"]);
});

test("messages stand oldest first, each once, without those of tools", () => {
  const shown = itemsOf(
    [
      message("3", "assistant", "a"),
      message("2", "tool", "a"),
      message("1", "user", "a"),
      message("1", "user", "a"), // a page later, when rows have moved
    ],
    [run("a", { status: "COMPLETED" })],
  );
  expect(namesOf(shown)).toEqual(["message 1", "message 3"]);
});

test("a run at work stands behind its question, one whose question is not stored brings it along", () => {
  const shown = itemsOf([message("1", "user", "a")], [run("b"), run("a")]);
  expect(namesOf(shown)).toEqual(["message 1", "run run-a", "message b", "run run-b"]);
});

test("a question keeps its key when its message is stored, or who edits it would lose the words", () => {
  const { result, rerender } = itemsOf([], [run("a")]);
  const before = result.current[0]!.key;
  rerender([[message("1", "user", "a")], [run("a")], [], "c"]);
  expect(result.current[0]).toMatchObject({ key: before, message: { id: "1" } });
});

test.each<[string, Partial<RunSummary>]>([
  ["of another conversation", { conversation_id: "other" }],
  ["that only archives", { kind: "archive" }],
  ["that had ended before one looked", { status: "COMPLETED" }],
  ["from before what is loaded", { created_at: "2025-01-01T00:00:00Z" }],
])("a run %s is not shown", (_, changes) => {
  expect(namesOf(itemsOf([message("1", "user", "x")], [run("a", changes)]))).toEqual(["message 1"]);
});

test("a failed run stays, and what is not sent yet stands last", () => {
  const outgoing = { key: "k", conversationId: "c" } as Outgoing;
  const shown = itemsOf([message("1", "user", "a")], [run("a", { status: "FAILED" })], [outgoing]);
  expect(namesOf(shown)).toEqual(["message 1", "run run-a", "outgoing k"]);
});

test("a question that is asked again hides the one before at once, also one that failed, and its answer", () => {
  const first = [message("2", "assistant", "a"), message("1", "user", "a")];
  const failed = run("b", { status: "FAILED", replaces: "a" });
  const asked = message("3", "user", "b");
  expect(namesOf(itemsOf([asked, ...first], [failed]))).toEqual(["message 1", "message 2", "message 3", "run run-b"]);
  const outgoing = { key: "k", conversationId: "c", replaces: "b" } as Outgoing;
  expect(namesOf(itemsOf([asked, ...first], [failed], [outgoing]))).toEqual(["outgoing k"]);
  expect(namesOf(itemsOf([asked, ...first], [failed], [{ ...outgoing, error: "no" }]))).toHaveLength(5);
  const shown = itemsOf([message("4", "user", "c"), asked, ...first], [run("c", { replaces: "b" }), failed]);
  expect(namesOf(shown)).toEqual(["message 4", "run run-c"]);
});

test("questions can be asked again, not while one is answered, nor what was done or stands before it", () => {
  const answered = [
    message("4", "assistant", "b"),
    message("3", "user", "b"),
    message("2", "assistant", "a"),
    message("1", "user", "a"),
  ];
  const askable = (...shown: Parameters<typeof itemsOf>) => askableQuestions(itemsOf(...shown).result.current);
  expect(askable(answered, [])).toEqual(["b", "a"]);
  expect(askable([message("1", "user", "a")], [run("a", { status: "FAILED" })])).toEqual(["a"]);
  expect(askable(answered, [run("c")])).toEqual([]);
  expect(askable(answered, [], [{ key: "k" } as Outgoing])).toEqual([]);
  const action = { ...message("5", "user", "c"), action_id: "x" };
  expect(askable([action, ...answered], [])).toEqual([]);
  expect(askable([message("6", "user", "d"), action, ...answered], [])).toEqual(["d"]);
});

test("a run that was seen at work stays until its answer is among the messages", () => {
  const question = message("1", "user", "a");
  const ended = run("a", { status: "COMPLETED" });
  const shown = itemsOf([question], [run("a")]);
  shown.rerender([[question], [ended], [], "c"]);
  expect(namesOf(shown)).toEqual(["message 1", "run run-a"]);
  shown.rerender([[message("2", "assistant", "a"), question], [ended], [], "c"]);
  expect(namesOf(shown)).toEqual(["message 1", "message 2"]);
});

test.each([
  [`#run-${RUN}`, { role: "assistant", runId: RUN }],
  [`#ask-${RUN}`, { role: "user", runId: RUN }],
  ["#run-1", null],
  ["", null],
])("the URL names a place: %s", (hash, target) => {
  window.location.hash = hash;
  expect(renderHook(useTarget).result.current).toEqual(target);
});

test("a place is found, else what is of its run, else nothing", () => {
  const { result } = itemsOf([message("2", "assistant", "a"), message("1", "user", "a")], [run("b", { kind: "task" })]);
  const items = result.current;
  expect(items.map(({ key }) => key)).toEqual(["asked-a", "2", "run-b"]);
  expect(findTarget(items, { role: "user", runId: "a" })).toBe(0);
  expect(findTarget(items, { role: "assistant", runId: "a" })).toBe(1);
  expect(findTarget(items, { role: "user", runId: "b" })).toBe(2);
  expect(findTarget(items, { role: "user", runId: "c" })).toBe(-1);
  expect(findTarget(items, null)).toBe(-1);
});
