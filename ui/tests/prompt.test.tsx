// The editor of prompts: what differs, what somebody else has saved, an earlier text, a try.

import { EditorView } from "@codemirror/view";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Route, Router } from "wouter";
import { memoryLocation } from "wouter/memory-location";

import { diffOf } from "../src/admin/difference";
import { PromptPage } from "../src/admin/prompt";
import { keys } from "../src/api/keys";
import { chooseLanguage } from "../src/texts";
import { ASSISTANTS, type Asked, serve } from "./server";

const RUN = "00000000-0000-4000-8000-00000000000a";
const AT = "2026-01-01T00:00:00Z";
const version = (number: number, text: string) => ({
  version: number,
  text,
  is_active: true,
  valid_from: AT,
  changed_by: "root",
});

let asked: Asked[];
let queries: QueryClient;
beforeEach(() => {
  chooseLanguage("en");
  asked = serve(({ path, method }) => {
    if (method === "PUT") return { status: 409, body: { error: { code: "conflict", message: "eve has saved 3" } } };
    if (method === "POST") return { body: { request_id: "trial" } };
    if (path === "/v1/assistants") return ASSISTANTS;
    if (path === "/v1/admin/trial_sets") return { body: { results: [] } };
    if (path.endsWith("/events")) return { chunks: ['id: 1\nevent: done\ndata: {"final_answer": "Kinder."}\n\n'] };
    if (path.endsWith("/history"))
      return { body: { results: [version(2, "Be kind.\nBe brief."), version(1, "Be kind.")] } };
    if (path.startsWith("/v1/admin/runs"))
      return { body: { results: [{ request_id: RUN, query: "Who am I?", assistant: "mentor", created_at: AT }] } };
    if (path.startsWith("/v1/runs")) return { body: { final_answer: "As it was." } };
    return { body: { role: "Mentor", ...version(2, "Be kind.\nBe brief."), variables: ["query"], updated_at: "" } };
  });
  const { hook } = memoryLocation({ path: "/admin/prompts/Mentor" });
  queries = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  render(
    <QueryClientProvider client={queries}>
      <Router hook={hook}>
        <Route path="/admin/prompts/:role" component={PromptPage} />
      </Router>
    </QueryClientProvider>,
  );
});
afterEach(() => {
  cleanup();
  chooseLanguage(null);
  vi.useRealTimers();
});

const editor = async () => EditorView.findFromDOM(await screen.findByRole("textbox", { name: "Mentor" }))!;

/** Everything that stands in the editor is replaced, as by one who selects it and types. */
function write({ state, dispatch }: EditorView, insert: string) {
  act(() => dispatch({ changes: { from: 0, to: state.doc.length, insert }, userEvent: "input.type" }));
}

test("an earlier version is compared with what is written, and used", async () => {
  const text = await editor();
  await screen.findByRole("option", { name: /^1 / });
  fireEvent.change(screen.getByLabelText("Compare with"), { target: { value: "1" } });
  const difference = () => screen.getByRole("region", { name: "Difference" });
  expect(difference().querySelector("ins")!.textContent).toBe("+ Be brief.");
  write(text, "Be kind.\nBe {query}.");
  expect(difference().querySelector("ins")!.textContent).toBe("+ Be {query}.");
  fireEvent.click(screen.getByRole("button", { name: "Use this text" }));
  expect(text.state.doc.toString()).toBe("Be kind.");
  expect(screen.getByText("No difference.")).toBeTruthy();
});

test("what somebody else has saved meanwhile is said, and what is written stays", async () => {
  const text = await editor();
  write(text, "Mine {nobody}");
  expect(screen.getByText("Unknown variables: nobody")).toBeTruthy();
  fireEvent.click(screen.getByRole("button", { name: "Save" }));
  await screen.findByText("Somebody else has saved in the meantime.");
  expect(screen.getByText(/eve has saved 3/).lang).toBe("en");
  expect(text.state.doc.toString()).toBe("Mine {nobody}");
  expect(asked.find(({ method }) => method === "PUT")!.body).toEqual({
    text: "Mine {nobody}",
    is_active: true,
    version: 2,
  });
});

test("what is read again meanwhile takes the place of what is shown, not of what is being written", async () => {
  const text = await editor();
  const newer = (number: number, words: string) =>
    act(() =>
      queries.setQueryData(keys.prompt("Mentor"), {
        role: "Mentor",
        ...version(number, words),
        variables: ["query"],
        updated_at: AT,
      }),
    );
  newer(3, "Be kind to all.");
  await waitFor(() => expect(text.state.doc.toString()).toBe("Be kind to all."));
  write(text, "Mine");
  newer(4, "Be kind to Eve.");
  await screen.findByText("Somebody else has saved in the meantime.");
  expect(text.state.doc.toString()).toBe("Mine");
  write(text, "Be kind to Eve.");
  await waitFor(() => expect(screen.queryByRole("alert")).toBeNull());
  expect(screen.getByText("Version 4")).toBeTruthy();
});

test("names in braces are marked, those that the role does not know apart", async () => {
  const text = await editor();
  write(text, "{query} and {nobody}, {Not a name}");
  const marked = (kind: string) => [...text.contentDOM.querySelectorAll(kind)].map((mark) => mark.textContent);
  await waitFor(() => expect(marked(".cm-known")).toEqual(["{query}"]));
  expect(marked(".cm-unknown")).toEqual(["{nobody}"]);
});

test("more than a prompt may hold is not taken, and what was written can be taken back", async () => {
  const text = await editor();
  write(text, "a".repeat(100_001));
  expect(text.state.doc.toString()).toBe("Be kind.\nBe brief.");
  write(text, "Mine");
  expect(screen.getByText("Not saved")).toBeTruthy();
  fireEvent.keyDown(text.contentDOM, { key: "z", ctrlKey: true });
  expect(text.state.doc.toString()).toBe("Be kind.\nBe brief.");
  expect(screen.queryByText("Not saved")).toBeNull();
});

test.each([
  ["Backspace", false, "Be kind.\nBe brie"],
  ["Backspace", true, "Be kind.\nBe "],
  ["Enter", false, "Be kind.\nBe brief.\n\n"],
])("%s twice at the end (control: %s)", async (key, ctrlKey, expected) => {
  const text = await editor();
  fireEvent.keyDown(text.contentDOM, { key: "End", ctrlKey: true });
  for (const _ of "12") fireEvent.keyDown(text.contentDOM, { key, ctrlKey });
  expect(text.state.doc.toString()).toBe(expected);
});

test("a recorded request is answered with what is written, beside what was answered then", async () => {
  write(await editor(), "Be kinder.");
  expect(asked.some(({ path }) => path.startsWith("/v1/admin/runs"))).toBe(false);
  const newest = screen.getByText("Choose one of the newest").closest("details")!;
  newest.open = true;
  fireEvent(newest, new Event("toggle"));
  fireEvent.click(await screen.findByRole("button", { name: /Who am I\?/ }));
  expect(screen.getByLabelText<HTMLInputElement>("Its id").value).toBe(RUN);
  await screen.findByText("As it was.");
  fireEvent.click(screen.getByRole("button", { name: "Try" }));
  await screen.findByText("Kinder.");
  await waitFor(() =>
    expect(asked.find(({ method }) => method === "POST")!.body).toEqual({ run_id: RUN, text: "Be kinder." }),
  );
});

test("lines far from a change are folded, and a last line without an end is no change", () => {
  const lines = Array.from({ length: 10 }, (_, n) => `line ${n}`);
  expect(diffOf(lines.join("\n"), [...lines, "new"].join("\n")).map(({ kind, text }) => `${kind} ${text}`)).toEqual([
    "folded 7",
    "same line 7",
    "same line 8",
    "same line 9",
    "added new",
  ]);
  expect(diffOf("", "a")).toEqual([{ kind: "added", text: "a" }]);
  expect(diffOf("a\n", "a")).toEqual([{ kind: "same", text: "a" }]);
});

test("texts that have nothing in common are compared within a moment", () => {
  const text = (word: string) => Array.from({ length: 10_000 }, (_, n) => `${word} ${n}`).join("\n");
  const began = process.cpuUsage(); // whatever else this machine does
  expect(diffOf(text("old"), text("new"))).toHaveLength(20_000);
  expect(process.cpuUsage(began).user / 1000).toBeLessThan(5000);
});
