// What follows each version of a question.

import { expect, test } from "vitest";

import type { Message, RunSummary } from "../src/api/types";
import { droppedRuns, followersOf, type Shown, withShown } from "../src/chat/branches";
import type { Item } from "../src/chat/item";
import type { Outgoing } from "../src/chat/outbox";

const day = (n: number) => `2026-01-0${n}T00:00:00Z`;
const run = (id: string, replaces: string | null = null, changes: Partial<RunSummary> = {}) =>
  ({ request_id: id, query: id, replaces, kind: "ask", status: "COMPLETED", ...changes }) as RunSummary;
const message = (runId: string, role: Message["role"], at: string) =>
  ({ id: `${role} ${runId}`, run_id: runId, role, content: runId, created_at: at }) as Message;

// a; b, which was edited into B after c; c itself into C and, in vain, into f; then d behind B.
const RUNS = [
  run("d"),
  run("B", "b"),
  run("after C"),
  run("f", "C", { status: "FAILED" }),
  run("C", "c"),
  run("task", null, { kind: "task" }),
  run("after c"),
  run("c"),
  run("b"),
  run("a"),
];
const namesOf = (runs: RunSummary[]) => runs.map((one) => one.request_id);

test("a version is followed by what was asked before another took its place, at every depth", () => {
  expect(namesOf(followersOf(RUNS, "b"))).toEqual(["C", "f", "after C"]);
  expect(namesOf(followersOf(RUNS, "c"))).toEqual(["after c"]);
  expect(followersOf(RUNS, "B")).toEqual([]);
  expect(followersOf(RUNS, "unknown")).toEqual([]);
});

test("a version that failed has no branch: what followed belongs to the one before", () => {
  const runs = [run("third", "second"), run("next"), run("second", "first", { status: "FAILED" }), run("first")];
  expect(namesOf(followersOf(runs, "first"))).toEqual(["next"]);
  expect(followersOf(runs, "second")).toEqual([]);
});

test("what is shown behind a version is its own, also within it; then the way back", () => {
  const items: Item[] = ["a", "B", "d"].flatMap((id): Item[] => [
    { key: `${id}?`, kind: "message", message: message(id, "user", day(1)) },
    { key: `${id}!`, kind: "message", message: message(id, "assistant", day(1)) },
  ]);
  const shown = (versions: Shown) => withShown(items, versions, RUNS).map(({ key }) => key);
  expect(shown({ B: null })).toEqual(["a?", "a!", "B?", "B!", "d?", "d!"]);
  const before = ["a?", "a!", "B?", "version-b", "asked-C"];
  const deep = ["version-C", "asked-f", "version-f", "asked-after C", "version-after C", "end-B"];
  expect(shown({ B: "b" })).toEqual([...before, ...deep]);
  expect(shown({ B: "b", C: "c" })).toEqual([...before, "version-c", "asked-after c", "version-after c", "end-B"]);
});

test("what followed leaves with the question as soon as it is asked again, and a task stays", () => {
  const messages = [
    message("a", "user", day(1)),
    message("b", "user", day(2)),
    message("b", "assistant", day(2)),
    message("c", "user", day(3)),
    message("task", "assistant", day(3)),
  ];
  const task = run("task", null, { kind: "task", created_at: day(3) });
  const failed = run("late", null, { status: "FAILED", created_at: day(3) });
  const again = { key: "k", replaces: "b" } as Outgoing;
  expect([...droppedRuns(messages, [task, failed], [again])]).toEqual(["b", "c", "late"]);
  expect([...droppedRuns(messages, [task, failed], [{ ...again, error: "no" }])]).toEqual([]);
  const asked = run("B", "b", { status: "NEW", created_at: day(4) });
  const since = [...messages, message("B", "user", day(4)), message("d", "user", day(5))];
  expect([...droppedRuns(since, [asked, task], [])]).toEqual(["b", "c"]);
  expect([...droppedRuns(since.slice(5), [asked, task], [])]).toEqual(["b"]);
});

test("what followed leaves with the run of a question whose messages are gone, what was asked since stays", () => {
  const runs = [
    run("next", null, { created_at: day(6) }),
    run("B", "b", { created_at: day(5) }),
    run("C", "c", { created_at: day(4) }),
    run("c", null, { created_at: day(3) }),
    run("b", null, { created_at: day(2) }),
    run("a", null, { created_at: day(1) }),
  ];
  const messages = [message("a", "user", day(1)), message("B", "user", day(5)), message("next", "user", day(6))];
  expect([...droppedRuns(messages, runs, [])].toSorted()).toEqual(["C", "b", "c"]);
});
