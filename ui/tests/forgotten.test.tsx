// The history: words that were forgotten, answers in one line, and what stands there before the first.

import { cleanup, screen } from "@testing-library/react";
import { afterEach, beforeEach, expect, test } from "vitest";

import { lineOf } from "../src/parts/forgotten";
import { chooseLanguage } from "../src/texts";
import { open, prepareBrowser } from "./page";
import { CONFIG, serve } from "./server";

const RUN = {
  user_id: "u",
  assistant: "mentor",
  conversation_id: "c",
  kind: "ask",
  status: "COMPLETED",
  error_code: null,
  action: null,
  created_at: "2026-11-05T10:00:00Z",
};

let runs: object[];
beforeEach(() => {
  prepareBrowser();
  chooseLanguage("en");
  runs = [
    { ...RUN, request_id: "a", query: "[forgotten]", answer: "[forgotten]" },
    { ...RUN, request_id: "b", query: "What of the move?", answer: "# The move\n\nFirst the **workshop**." },
  ];
  serve(({ path }) => {
    if (path === "/ui/config.json") return { body: { ...CONFIG, auth: "none", local_user_id: "u" } };
    if (path.endsWith("/events")) return { chunks: [], isOpen: true };
    return { body: { results: path.startsWith("/v1/runs?") ? runs : [], next: null } };
  });
});
afterEach(cleanup);

test("the history says in words what was forgotten, and shows answers without the signs of Markdown", async () => {
  await open("/ui/history");
  await screen.findByText("What of the move?");
  const [forgotten, told] = screen.getAllByRole("link").filter((link) => link.dataset.run);
  expect(forgotten!.textContent!.split("This was forgotten")).toHaveLength(2);
  expect(forgotten!.textContent).not.toContain("[");
  expect(told!.textContent).toMatch(/The move\s+First the workshop\./);
});

test("an empty history says what will stand there, and leads to a first question", async () => {
  runs = [];
  await open("/ui/history");
  await screen.findByText(/^You have asked nothing yet/);
  expect(screen.getByRole("link", { name: "Ask a first question" }).getAttribute("href")).toBe("/ui/");
});

test.each([
  ["- one\n- [x] two", "one\n[x] two"],
  ["| a | b |\n|---|---|\n| 1 | 2 |", " a  b \n\n 1  2 "],
  ["2 * 3 = 6, snake_case, C#", "2 * 3 = 6, snake_case, C#"],
  ["> `quoted`", "quoted"],
])("in one line %j is %j", (text, line) => {
  expect(lineOf(text)).toBe(line);
});
