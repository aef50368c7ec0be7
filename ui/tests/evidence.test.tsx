// What an answer was given: one card a line, the same words once, in the words of people.

import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, within } from "@testing-library/react";
import { afterEach, beforeEach, expect, test } from "vitest";

import type { Run, Source } from "../src/api/types";
import { Evidence } from "../src/chat/evidence";
import { session } from "../src/session/session";
import { chooseLanguage } from "../src/texts";
import { CONFIG, serve } from "./server";

const USER = "00000000-0000-4000-8000-000000000001";
const WORDS: Record<string, [string, string, string]> = {
  a: ["user", "Alma lives in **Lisbon**.", "2026-11-01T10:00:00Z"],
  b: ["user", "Alma lives in **Lisbon**.", "2026-11-05T10:00:00Z"],
  d: ["An\u202en", "Nobody reads this backwards.", "2026-11-05T10:00:00Z"],
  c: ["assistant", "Noted: Lisbon.", "2026-11-05T10:01:00Z"],
};

const AWAY = { error: { code: "unavailable", message: "not now" } };
const BACK = { id: "e", kind: "turn", memory: "It is back.", speaker: "user", occurred_at: "2026-11-01T10:00:00Z" };
let isAway = true;

function source(id: string, number: number): Source {
  return { id, kind: "turn", score: 1, number, origins: [] };
}

beforeEach(async () => {
  Element.prototype.scrollIntoView = () => {};
  serve(({ path }) => {
    if (path === "/ui/config.json") return { body: { ...CONFIG, auth: "none", local_user_id: USER } };
    const id = /memories\/(\w)/.exec(path)?.[1] ?? "";
    if (id === "e") return { status: isAway ? 503 : 200, body: isAway ? AWAY : BACK };
    const words = WORDS[id];
    if (!words) return { status: 404, body: { error: { code: "not_found", message: "there is none" } } };
    const [speaker, memory, at] = words;
    return { body: { id, kind: "turn", memory, speaker, occurred_at: at, created_at: at, corrected_by: null } };
  });
  chooseLanguage("en");
  await session.start();
});
afterEach(cleanup);

function show(run: Partial<Run>) {
  render(
    <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
      <Evidence run={{ assistant: "mentor", ...run } as Run} marked={null} />
    </QueryClientProvider>,
  );
}

test("sources of one number are one card, and the same words stand there once with their days", async () => {
  show({ sources: [source("a", 6), source("b", 6), source("c", 7)], used: ["a", "b"] });
  const card = (await screen.findByText("Lisbon")).closest("li")!;
  expect(screen.getAllByRole("listitem")).toHaveLength(2);
  expect(within(card).getAllByText("[6]")).toHaveLength(1);
  expect(within(card).getByText("Lisbon").tagName).toBe("STRONG");
  expect(card.textContent).toMatch(/you, [^·]+ · you, [^·]+Alma/);
});

test("an assistant has its name", async () => {
  show({ sources: [source("c", 7)], used: [] });
  const card = (await screen.findByText("Noted: Lisbon.")).closest("li")!;
  expect(card.textContent).toContain("mentor, ");
});

test("who has said it is named without what turns the text around", async () => {
  show({ sources: [source("d", 7)], used: [] });
  const card = (await screen.findByText("Nobody reads this backwards.")).closest("li")!;
  expect(card.textContent).not.toContain("\u202e");
});

test("what was forgotten says so", async () => {
  show({ sources: [source("x", 1)], used: [] });
  await screen.findByText("This memory was forgotten.");
});

test("what could not be read says so, and is read again", async () => {
  isAway = true;
  show({ sources: [source("e", 1)], used: [] });
  await screen.findByRole("alert");
  expect(screen.queryByText(/forgotten/)).toBeNull();
  isAway = false;
  fireEvent.click(screen.getByRole("button", { name: "Try again" }));
  await screen.findByText("It is back.");
});

test.each([
  ["This answer was written without memories.", "Hello."],
  ["There is no answer.", null], // it failed, or is still to come
])("%s is said of the answer %s", async (words, final_answer) => {
  show({ sources: [], used: [], final_answer });
  await screen.findByText(words);
});
