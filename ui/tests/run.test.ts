// The events of a run: parsed, followed across lost connections, and reduced to what is shown.

import { act, cleanup, renderHook, waitFor } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";

import { ApiError } from "../src/api/error";
import { follow, parse, type ServerEvent } from "../src/api/event_stream";
import { type LiveRun, NEW_RUN, takeEvent, useRun } from "../src/api/run";
import { type Asked, type Reply, serve } from "./server";

afterEach(() => {
  cleanup();
  vi.useRealTimers();
});

const NEVER = new AbortController().signal;
const block = (id: string, type: string, data: unknown) =>
  `id: ${id}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
const reduce = (...events: [string, unknown][]): LiveRun =>
  events.reduce((run, [type, data]) => takeEvent(run, { id: "", type, data }), NEW_RUN);

function followAll(answer: (asked: Asked) => Reply) {
  const asked = serve(answer);
  const events: ServerEvent[] = [];
  const ended = follow(
    "/v1/runs/r/events",
    NEVER,
    (event) => events.push(event),
    () => false,
  );
  return { asked, events, ended };
}

test.each<[string, ServerEvent | null]>([
  ['id: 1.6.2\nevent: text\ndata: {"delta": "a: b"}', { id: "1.6.2", type: "text", data: { delta: "a: b" } }],
  ["data: 1", { id: "", type: "message", data: 1 }],
  [": still here", null],
  ["event: text", null],
  ["", null],
])("a block is parsed: %j", (text, event) => expect(parse(text)).toEqual(event));

test("events are read however the network has cut them", async () => {
  const text = `${block("1", "text", { delta: "é" })}: still here\n\n${block("2", "done", {})}`;
  const chunks = Array.from(new TextEncoder().encode(text), (byte) => Uint8Array.of(byte));
  const { events, ended } = followAll(({ lastEventId }) => (lastEventId ? { status: 204 } : { chunks }));
  await ended;
  expect(events.map(({ id, type }) => [id, type])).toEqual([
    ["1", "text"],
    ["2", "done"],
  ]);
  expect(events[0]?.data).toEqual({ delta: "é" });
});

test("a lost connection is opened again behind the last event, as often as it takes", async () => {
  vi.useFakeTimers();
  const answers = [{ chunks: [block("1", "text", {})] }, { status: 503 }, { chunks: [block("2", "text", {})] }];
  const { asked, events, ended } = followAll(() => answers.shift() ?? { status: 204 });
  await vi.runAllTimersAsync();
  await ended;
  expect(events.map(({ id }) => id)).toEqual(["1", "2"]);
  expect(asked.map(({ lastEventId }) => lastEventId)).toEqual([null, "1", "1", "2"]);
});

test("a connection that is silent for 40 s is lost, too", async () => {
  vi.useFakeTimers();
  const { asked, ended } = followAll(({ lastEventId }) =>
    lastEventId ? { status: 204 } : { chunks: [block("1", "text", {})], isOpen: true },
  );
  await vi.advanceTimersByTimeAsync(39_000);
  expect(asked).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(2_000);
  await ended;
  expect(asked.map((one) => one.lastEventId)).toEqual([null, "1"]);
});

test("a refusal ends it", async () => {
  const { ended } = followAll(() => ({ status: 404, body: { error: { code: "not_found", message: "no such run" } } }));
  await expect(ended).rejects.toEqual(new ApiError(404, "not_found", "no such run", null));
});

test("text grows, and begins anew with another attempt", () => {
  const run = reduce(["text", { delta: "Hel", attempt: "1" }], ["text", { delta: "lo", attempt: "1" }]);
  expect(run.text).toBe("Hello");
  expect(takeEvent(run, { id: "", type: "text", data: { delta: "Bye", attempt: "2" } }).text).toBe("Bye");
});

test("tools, decisions, buttons, images and layers are gathered", () => {
  const run = reduce(
    ["status", { status: "RESPONDING", at: "2026-01-01" }],
    ["tool_start", { call_id: "a", tool: "search", title: { en: "Search", ru: "Искать" } }],
    ["tool_start", { call_id: "b", tool: "send" }],
    ["tool_result", { call_id: "a", found: 1 }],
    ["approval_required", { action_id: "x" }],
    ["buttons", { buttons: [{ id: "confirm", label: "Yes" }] }],
    ["request_photo", {}],
    ["sticker", { attachment_id: "i" }],
    ["progress", { title: "one", ended: 1, total: 2 }],
    ["layer", { layer: 1, name: "intent", status: "ok" }],
    ["an_event_of_a_newer_server", { text: "?" }],
  );
  expect(run).toEqual({
    ...NEW_RUN,
    status: "RESPONDING",
    statusAt: "2026-01-01",
    tools: [
      {
        id: "a",
        tool: "search",
        title: { en: "Search", ru: "Искать" },
        isRunning: false,
        result: { call_id: "a", found: 1 },
      },
      { id: "b", tool: "send", title: null, isRunning: true },
    ],
    actionIds: ["x"],
    buttons: [{ id: "confirm", label: "Yes" }],
    wantsPhoto: true,
    images: ["i"],
    progress: { title: "one", ended: 1, total: 2 },
    layers: [{ layer: 1, name: "intent", status: "ok" }],
  });
});

test("a run ends with an answer or an error, and starts anew when it is retried", () => {
  const done = reduce(["done", { final_answer: "Hi" }]);
  expect(done).toMatchObject({ status: "COMPLETED", answer: "Hi", isOver: true });
  const failed = reduce(["error", { code: "cancelled", message: "stopped" }]);
  expect(failed).toMatchObject({ status: "FAILED", error: { code: "cancelled" }, isOver: true });
  expect(takeEvent(failed, { id: "", type: "status", data: { status: "NEW", at: "" } })).toBe(NEW_RUN);
});

test("useRun follows one run at a time and forgets the one before", async () => {
  const asked = serve(({ path }) => ({ chunks: [block("1", "done", { final_answer: `of ${path.split("/")[3]}` })] }));
  const { result, rerender } = renderHook(({ id }: { id: string | null }) => useRun(id), { initialProps: { id: "a" } });
  await waitFor(() => expect(result.current.answer).toBe("of a"));
  rerender({ id: "b" });
  expect(result.current).toBe(NEW_RUN);
  await waitFor(() => expect(result.current.answer).toBe("of b"));
  await act(async () => rerender({ id: null as unknown as string }));
  expect(result.current).toBe(NEW_RUN);
  expect(asked.map(({ path }) => path)).toEqual(["/v1/runs/a/events", "/v1/runs/b/events"]);
});

test("useRun says why it could not follow", async () => {
  serve(() => ({ status: 403, body: { error: { code: "forbidden", message: "not yours" } } }));
  const { result } = renderHook(() => useRun("a"));
  await waitFor(() => expect(result.current.error).toEqual({ code: "forbidden", message: "not yours" }));
  expect(result.current).toMatchObject({ status: "FAILED", isOver: true });
});
