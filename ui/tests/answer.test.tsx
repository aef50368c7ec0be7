// The line under an answer: what it was given, and what was not as usual.

import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, beforeEach, expect, test } from "vitest";

import { keys } from "../src/api/keys";
import type { Run, Source } from "../src/api/types";
import { AssistantMessage } from "../src/chat/turns";
import { session } from "../src/session/session";
import { chooseLanguage } from "../src/texts";
import { ASSISTANTS, type Asked, CONFIG, serve } from "./server";

const RUN = {
  request_id: "r",
  status: "COMPLETED",
  archive_status: "ARCHIVED",
  sources: [],
  degraded: [],
  limited: null,
  memory: "ok",
  memory_reasons: [],
  buttons: [],
  timings: { created_at: "2026-11-01T10:00:00Z", completed_at: "2026-11-01T10:00:01.5Z" },
} as object as Run;

let asked: Asked[];
beforeEach(async () => {
  asked = serve(({ path }) => {
    if (path === "/ui/config.json") return { body: { ...CONFIG, auth: "none", local_user_id: "ann" } };
    const at = "2026-11-01T10:00:00Z";
    return { body: { id: path, kind: "turn", memory: "Alma lives in Lisbon.", speaker: "user", occurred_at: at } };
  });
  chooseLanguage("en");
  await session.start();
});
afterEach(cleanup);

function show(changes: Partial<Run> | null, content = "In Lisbon.", agent: string | null = null) {
  const queries = new QueryClient();
  queries.setQueryData(keys.assistants(), ASSISTANTS.body);
  if (changes) queries.setQueryData(keys.run("r"), { ...RUN, ...changes });
  const message = {
    id: "m",
    run_id: "r",
    role: "assistant" as const,
    content,
    agent,
    attachment_ids: [],
    action_id: null,
    created_at: "2026-11-01T10:00:01.5Z",
    isRunGone: !changes,
  };
  render(
    <QueryClientProvider client={queries}>
      <AssistantMessage message={message} assistant="mentor" actions={[]} onShow={() => undefined} />
    </QueryClientProvider>,
  );
}

test("memories are counted by line, and nothing is asked for that, also while it is archived", () => {
  const source = (id: string, number: number): Source => ({ id, kind: "turn", score: 1, number, origins: [] });
  const before = asked.length;
  show({ sources: [source("a", 6), source("b", 6), source("c", 7)], archive_status: "PENDING" });
  expect(screen.getByText(/2 memories/).textContent).toContain("1.5 s");
  expect(asked.slice(before)).toEqual([]);
});

test("a citation shows its words in place, once, while it has the focus", async () => {
  const source = (id: string, number: number): Source => ({ id, kind: "turn", score: 1, number, origins: [] });
  show({ sources: [source("a", 6), source("b", 6), source("c", 7)], assistant: "mentor" }, "In Lisbon [6].");
  const mark = screen.getByRole("button", { name: "[6]" });
  expect(screen.queryByRole("tooltip")).toBeNull();
  fireEvent.focus(mark);
  await screen.findByText(/Alma lives in Lisbon/);
  expect(screen.getByRole("tooltip").textContent).toMatch(/^you, .*Alma lives in Lisbon\.$/);
  expect(mark.getAttribute("aria-describedby")).toBe(screen.getByRole("tooltip").id);
  expect(asked.filter(({ path }) => path.includes("/memories/")).map(({ path }) => path.slice(0, 14))).toEqual([
    "/v1/memories/a",
    "/v1/memories/b",
  ]);
  fireEvent.blur(mark);
  expect(screen.queryByRole("tooltip")).toBeNull();
});

test("an assistant is called by its title, and the agent of it that answers by its words", () => {
  show({});
  screen.getByText(/^Mentor,/);
  cleanup();
  show({}, "In Lisbon.", "travel_desk");
  screen.getByText(/^Mentor, travel desk,/);
});

test("an answer without memories says so", () => {
  show({});
  screen.getByText(/without memories/);
});

test.each([
  [{ messages: 1204, confidence: 0.9, found: "yes" }, "Looked through 1,204 messages: what answers this was found."],
  [{ messages: 1, confidence: 0.3, found: "perhaps" }, "Looked through 1 message: it may answer this."],
  [{ messages: 8, confidence: 0, found: "no" }, "Looked through 8 messages: nothing that answers this was found."],
  [{ messages: 0, confidence: 0, found: "no" }, "There was nothing to look through: memory is still empty."],
] as const)("what was looked through is said: %j", (searched, words) => {
  show({ searched, sources: [{ id: "a", kind: "turn", score: 1, number: null, origins: [] }] });
  expect(screen.getByText(words).className).toContain("text-quiet");
});

test("what was found but not given to the answer is not said to answer it", () => {
  show({ searched: { messages: 8, confidence: 0.5, found: "yes" } });
  screen.getByText("Looked through 8 messages: the answer was given none of them.");
});

test.each([{ messages: 8, confidence: null, found: null }, null])(
  "where nothing was asked of it, nothing: %j",
  (searched) => {
    show({ searched });
    expect(screen.queryByText(/^Looked through/)).toBeNull();
  },
);

test.each([
  ["10:00:00.04", "40 ms"],
  ["10:00:01.5", "1.5 s"],
  ["10:03:00", "3 min"],
])("how long it took is said in a unit that fits: until %s", (at, words) => {
  show({ timings: { ...RUN.timings, completed_at: `2026-11-01T${at}Z` } });
  expect(screen.getByText(words).className).toContain("tabular");
});

test("an answer whose question was forgotten says so", () => {
  show({ query: "[forgotten]" });
  screen.getByText("The question of this answer was forgotten.");
  cleanup();
  show({ query: "Where does Alma live?" });
  expect(screen.queryByText(/was forgotten/)).toBeNull();
});

test("an answer whose run is gone stands by itself", () => {
  show(null);
  screen.getByText("In Lisbon.");
  expect(screen.queryByRole("button")).toBeNull();
});

test("a note names the stages that had no model's reply, and warns", () => {
  show({ degraded: ["FinalResponder", "language"] });
  const note = screen.getByText(/Rules stood in for the model here: Final Responder\./);
  expect(note.className).toContain("text-warn");
  expect(note.textContent).toContain("not in the language of its assistant");
});

test("vectors that lag are told quietly, a failed search is a warning", () => {
  show({ memory: "degraded", memory_reasons: ["vectors_behind"] });
  expect(screen.getByText(/Older messages were searched by words only/).className).toContain("text-quiet");
  cleanup();
  show({ memory: "unavailable", memory_reasons: ["search_failed"] });
  expect(screen.getByText("Memory could not be searched.").className).toContain("text-warn");
});
