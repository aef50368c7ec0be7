// Lists: their pages, what is read again when something has changed, groups by day, filters in the URL.

import { QueryClient, QueryClientProvider, useQuery } from "@tanstack/react-query";
import { act, cleanup, render, renderHook, screen, waitFor } from "@testing-library/react";
import type { ReactNode } from "react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Router } from "wouter";
import { memoryLocation } from "wouter/memory-location";

import { dayToTime, useFilters, wholeId } from "../src/admin/filters";
import { get } from "../src/api/http";
import { keys } from "../src/api/keys";
import { refresh } from "../src/api/refresh";
import { useUserEvents } from "../src/api/user_events";
import { groupByDay } from "../src/parts/groups";
import { unique, useMore } from "../src/parts/use_more";
import { type Reply, serve } from "./server";

let queries: QueryClient;
const wrapper = ({ children }: { children: ReactNode }) => (
  <QueryClientProvider client={queries}>{children}</QueryClientProvider>
);

beforeEach(() => {
  queries = new QueryClient({ defaultOptions: { queries: { retry: false } } });
});
afterEach(() => {
  cleanup();
  queries.clear();
});

/** An observer whose marks appear on the screen when the test says so. */
function observe() {
  const seen: (() => void)[] = [];
  class Observer {
    constructor(private notice: (entries: { isIntersecting: boolean }[]) => void) {}
    observe = () => seen.push(() => this.notice([{ isIntersecting: true }]));
    disconnect = () => undefined;
  }
  vi.stubGlobal("IntersectionObserver", Observer);
  return seen;
}

function People() {
  const list = useMore("users", "/v1/admin/users", { q: "ann", limit: 2 });
  return (
    <>
      {list.items.map((person) => (
        <p key={person.user_id}>{person.name}</p>
      ))}
      <div ref={list.mark} />
    </>
  );
}

test("the next page is read when its mark appears, until there is none", async () => {
  const seen = observe();
  const asked = serve(({ path }) =>
    path.includes("before=2")
      ? { body: { results: [{ user_id: "3", name: "Eve" }], next: null } }
      : { body: { results: [{ user_id: "1", name: "Ann" }], next: "2" } },
  );
  render(<People />, { wrapper });
  await screen.findByText("Ann");
  expect(seen).toHaveLength(1);
  act(seen[0]!);
  await screen.findByText("Eve");
  expect(asked.map(({ path }) => path)).toEqual([
    "/v1/admin/users?q=ann&limit=2",
    "/v1/admin/users?q=ann&limit=2&before=2",
  ]);
  expect(seen).toHaveLength(1);
});

test("the rows stay while those of another filter are read", async () => {
  observe();
  let reply: (value: Reply) => void = () => undefined;
  const page = (name: string) => ({ body: { results: [{ user_id: name, name }], next: null } });
  serve(({ path }) => (path.includes("q=b") ? new Promise((resolve) => (reply = resolve)) : page("Ann")));
  const read = ({ q }: { q: string }) => useMore("users", "/v1/admin/users", { q });
  const { result, rerender } = renderHook(read, { wrapper, initialProps: { q: "a" } });
  await waitFor(() => expect(result.current.items[0]?.name).toBe("Ann"));
  rerender({ q: "b" });
  expect(result.current).toMatchObject({ isPending: false, items: [{ name: "Ann" }] });
  reply(page("Bob"));
  await waitFor(() => expect(result.current.items[0]?.name).toBe("Bob"));
});

test("rows that have moved to the next page are shown once", () => {
  const rows = [
    { id: "a", page: 1 },
    { id: "b", page: 1 },
    { id: "b", page: 2 },
  ];
  expect(unique(rows, (row) => row.id)).toEqual([rows[0], rows[1]]);
});

test("a reply that was on its way when something changed is not taken for the new one", async () => {
  const replies: ((name: string) => void)[] = [];
  serve(() => new Promise((reply) => replies.push((name) => reply({ body: { results: [{ name }] } }))));
  const read = () =>
    useQuery({ queryKey: keys.assistants(), queryFn: ({ signal }) => get("/v1/assistants", {}, signal) });
  const { result } = renderHook(read, { wrapper });
  await waitFor(() => expect(replies).toHaveLength(1));
  void refresh(queries, ["assistants"]);
  await waitFor(() => expect(replies).toHaveLength(2));
  replies[0]!("old");
  replies[1]!("new");
  await waitFor(() => expect(result.current.data?.results).toEqual([{ name: "new" }]));
});

test("refresh reads all of a kind again, and nothing else", async () => {
  const stale = [keys.run("a"), keys.importRun("a"), keys.runs("c"), keys.list("runs", "/v1/runs", {})];
  for (const key of stale) queries.setQueryData(key, {});
  await refresh(queries, ["run"]);
  expect(stale.map((key) => queries.getQueryState(key)?.isInvalidated)).toEqual([true, true, false, false]);
});

const EVENT = { request_id: "r", conversation_id: "c", kind: "ask", status: "NEW", archive_status: "PENDING" };
const eventOf = (changes: Partial<typeof EVENT>) =>
  `id: 1\nevent: run\ndata: ${JSON.stringify({ ...EVENT, ...changes })}\n\n`;

/** Follow the user with these events on the stream; what they make be read again. */
function hear(...events: Partial<typeof EVENT>[]) {
  const read = vi.spyOn(queries, "invalidateQueries");
  let tell: (chunk: string) => void = () => undefined;
  const asked = serve(() => ({ chunks: events.map(eventOf), isOpen: true, onOpen: (enqueue) => (tell = enqueue) }));
  const { unmount } = renderHook(() => useUserEvents("ann"), { wrapper });
  const kinds = () => read.mock.calls.map(([filters]) => filters?.queryKey?.join(" ")).sort();
  return { asked, unmount, kinds, tell: (...more: Partial<typeof EVENT>[]) => tell(more.map(eventOf).join("")) };
}

const OF_C = [
  "actions /v1/actions",
  "actions c",
  "actions one",
  "actions waiting",
  "conversations /v1/conversations",
  "messages c",
  "runs /v1/runs",
  "runs conversation c",
  "schedules",
];

test("a run that was begun elsewhere is read with its conversation, once for several events", async () => {
  const { kinds } = hear({}, { status: "ANALYZING" }, { status: "COMPLETED" });
  await waitFor(() => expect(kinds()).toEqual(OF_C));
});

test("of a run that was asked here only its end makes the messages be read", async () => {
  queries.setQueryData(keys.runs("c"), { results: [{ ...EVENT, request_id: "r" }], next: null });
  const { kinds } = hear(
    {},
    { status: "RESPONDING" },
    { status: "COMPLETED" },
    { status: "COMPLETED", archive_status: "ARCHIVED" },
  );
  await waitFor(() =>
    expect(kinds()).toEqual(["actions /v1/actions", "actions waiting", ...OF_MEMORY, "messages c", "runs /v1/runs"]),
  );
});

test.each([
  ["that was seen to fail", [{}, { status: "FAILED" }, { status: "NEW" }], "NEW"],
  ["that had failed before the page was opened", [{ status: "NEW" }], "FAILED"],
])("a run %s is read itself when it is tried again elsewhere", async (_, events, status) => {
  queries.setQueryData(keys.runs("c"), { results: [{ ...EVENT, status }], next: null });
  const { kinds } = hear(...events);
  await waitFor(() => expect(kinds()).toEqual([...OF_C, "run r", "trace r"].sort()));
});

test("what is executed elsewhere is read again when it has ended", async () => {
  queries.setQueryData(keys.runs("c"), { results: [{ ...EVENT, kind: "action" }], next: null });
  const { kinds } = hear({ kind: "action" }, { kind: "action", status: "COMPLETED" });
  await waitFor(() => expect(kinds()).toEqual(expect.arrayContaining(["actions c", "actions one"])));
});

test("what is asked outside of conversations may leave something to decide", async () => {
  const { kinds } = hear(
    { conversation_id: null as unknown as string },
    { conversation_id: null as unknown as string },
  );
  await waitFor(() => expect(kinds()).toEqual(expect.arrayContaining(["actions /v1/actions", "actions waiting"])));
});

test("a stream begins with the newest run, which is nothing new", async () => {
  const { kinds } = hear({ status: "COMPLETED" }, { request_id: "s", conversation_id: "d", status: "COMPLETED" });
  await waitFor(() => expect(kinds()).toHaveLength(OF_C.length));
  expect(kinds().filter((key) => key?.endsWith(" c"))).toEqual([]);
});

const OF_MEMORY = [
  "memory /v1/memories",
  "memory /v1/users/ann/facts",
  "memory /v1/users/ann/imported",
  "memory days ann",
  "memory totals ann",
  "memory week ann",
];

test("what is remembered elsewhere is read, once for many requests, and a second later what came meanwhile", async () => {
  const ends = (ids: string[]) =>
    ids.map((request_id) => ({ request_id, status: "COMPLETED", archive_status: "ARCHIVED" }));
  const { kinds, tell } = hear(...ends(["r", "s", "t"]), ...ends(["s", "t"]));
  const ofMemory = () => kinds().filter((key) => key?.startsWith("memory"));
  await waitFor(() => expect(ofMemory()).toEqual(OF_MEMORY));
  const began = performance.now();
  for (const id of ["u", "v", "w"]) tell(...ends([id]));
  await waitFor(() => expect(ofMemory()).toHaveLength(2 * OF_MEMORY.length));
  expect(performance.now() - began).toBeGreaterThan(900);
});

test("the newest request, with which a stream begins, was remembered before", async () => {
  const { kinds } = hear(
    { status: "COMPLETED", archive_status: "ARCHIVED" },
    { request_id: "s", conversation_id: "d", status: "COMPLETED", archive_status: "SKIPPED" },
  );
  await waitFor(() => expect(kinds()).toHaveLength(OF_C.length));
  expect(kinds().filter((key) => key?.startsWith("memory"))).toEqual([]);
});

test("an event changes what is shown of its run without asking", async () => {
  const page = (item: object) => ({ pages: [{ results: [item], next: null }], pageParams: [null] });
  const list = keys.list("conversations", "/v1/conversations", { limit: 50 });
  queries.setQueryData(keys.run("r"), { request_id: "r", archive_status: "PENDING" });
  queries.setQueryData(list, page({ id: "c", is_processing: true }));
  hear({ status: "COMPLETED", archive_status: "ARCHIVED" });
  await waitFor(() => expect(queries.getQueryData(keys.run("r"))).toMatchObject({ archive_status: "ARCHIVED" }));
  expect(queries.getQueryData(list)).toEqual(page({ id: "c", is_processing: false }));
});

test("a hidden page follows nothing; what it missed is read at once", async () => {
  let isHidden = false;
  vi.spyOn(document, "hidden", "get").mockImplementation(() => isHidden);
  const change = (hidden: boolean) => {
    isHidden = hidden;
    document.dispatchEvent(new Event("visibilitychange"));
  };
  const { asked, unmount, kinds } = hear();
  await waitFor(() => expect(asked).toHaveLength(1));
  change(true);
  change(false);
  await waitFor(() => expect(kinds()).toEqual(["actions", "conversations", ...OF_MEMORY, "messages", "runs"]));
  expect(asked.map(({ path }) => path)).toEqual(Array(2).fill("/v1/users/ann/events"));
  unmount();
  change(true);
  change(false);
  expect(asked).toHaveLength(2);
});

test("days are those of the calendar, a week begins on Monday, and empty groups are left out", () => {
  const now = new Date(2026, 4, 6, 0, 30); // a Wednesday
  const at = (...day: [number, number, number, number]) => new Date(...day).toISOString();
  const times = [at(2026, 4, 6, 0), at(2026, 4, 5, 23), at(2026, 4, 4, 0), at(2026, 4, 3, 23), at(2020, 0, 1, 0)];
  expect(groupByDay(times, (time) => time, now)).toEqual([
    ["Today", [times[0]]],
    ["Yesterday", [times[1]]],
    ["This week", [times[2]]],
    ["Older", [times[3], times[4]]],
  ]);
  expect(groupByDay([times[4]!], (time) => time, now).map(([title]) => title)).toEqual(["Older"]);
});

test("a filter stands in the URL, beside those of others, and is gone when it is empty", () => {
  const { hook, searchHook, history = [] } = memoryLocation({ path: "/admin/runs?user=ann&x=1", record: true });
  const inRouter = ({ children }: { children: ReactNode }) => (
    <Router hook={hook} searchHook={searchHook}>
      {children}
    </Router>
  );
  const { result } = renderHook(() => useFilters(["user", "status"]), { wrapper: inRouter });
  expect(result.current[0]).toEqual({ user: "ann", status: "" });
  act(() => result.current[1]("status", "FAILED"));
  expect(result.current[0]).toEqual({ user: "ann", status: "FAILED" });
  act(() => result.current[1]("user", ""));
  expect(history).toEqual(["/admin/runs?x=1&status=FAILED"]); // the way back does not lead through each letter
});

test("a day begins and ends in the zone of the browser", () => {
  expect(dayToTime("2026-05-06")).toBe(new Date(2026, 4, 6).toISOString());
  expect(dayToTime("2026-05-31", true)).toBe(new Date(2026, 5, 1).toISOString());
  expect([dayToTime(""), dayToTime("2026-05-99")]).toEqual([null, null]);
});

test("an id is sent when it is whole", () => {
  const id = "00000000-0000-4000-8000-00000000000a";
  expect([wholeId(` ${id} `), wholeId(id.slice(1)), wholeId("")]).toEqual([id, null, null]);
});
