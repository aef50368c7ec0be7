// A question that is asked again: in other words, or for another answer; what it was before stays readable.

import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { useState } from "react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { keys } from "../src/api/keys";
import type { Message, Run } from "../src/api/types";
import { EarlierAnswer, Question } from "../src/chat/question";
import { session } from "../src/session/session";
import { chooseLanguage } from "../src/texts";
import { type Asked, CONFIG, serve } from "./server";

const AT = "2026-11-01T10:00:00Z";
const MESSAGE: Message = {
  id: "m",
  run_id: "c",
  role: "user",
  content: "Where is it cold?",
  agent: null,
  attachment_ids: ["photo"],
  action_id: null,
  created_at: AT,
};
const run = (id: string, query: string, changes: Partial<Run> = {}) =>
  ({
    request_id: id,
    status: "COMPLETED",
    archive_status: "ARCHIVED",
    query,
    final_answer: `answer to ${query}`,
    attachment_ids: [],
    attachments: [],
    sources: [],
    degraded: [],
    memory_reasons: [],
    buttons: [],
    replaced: [],
    timings: { created_at: AT, completed_at: AT },
    ...changes,
  }) as object as Run;

let asked: Asked[];
beforeEach(async () => {
  asked = serve(({ path }) => {
    if (path === "/ui/config.json") return { body: { ...CONFIG, auth: "none", local_user_id: "ann" } };
    if (path === "/v1/runs/a") return { body: run("a", "Where is it warm?") };
    if (path === "/v1/runs/b")
      return {
        body: run("b", "Where is it icy?", {
          status: "FAILED",
          final_answer: null,
          error_code: "odd",
          error_message: "no key",
        }),
      };
    return { status: 404 };
  });
  chooseLanguage("en");
  await session.start();
});
afterEach(cleanup);

const onAgain = vi.fn();
function Turn() {
  const [shown, setShown] = useState<string | null>(null);
  return (
    <>
      <Question message={MESSAGE} shown={shown} onShown={setShown} onAgain={onAgain} isLast />
      {shown && <EarlierAnswer runId={shown} assistant="Mentor" onShow={() => undefined} />}
    </>
  );
}

function show(replaced: string[]) {
  onAgain.mockClear();
  const queries = new QueryClient();
  queries.setQueryData(keys.run("c"), run("c", MESSAGE.content, { replaced }));
  render(
    <QueryClientProvider client={queries}>
      <Turn />
    </QueryClientProvider>,
  );
}
const press = (name: string) => fireEvent.click(screen.getByRole("button", { name }));

test("the arrows walk the versions, each with its question and answer, and one that failed says why", async () => {
  show(["a", "b"]);
  expect(screen.getByRole("status").textContent).toBe("3 of 3");
  expect(asked.filter(({ path }) => path.startsWith("/v1/runs"))).toEqual([]);
  expect(screen.getByRole<HTMLButtonElement>("button", { name: "Later version" }).disabled).toBe(true);
  press("Earlier version");
  await screen.findByText("Where is it icy?");
  expect((await screen.findByRole("alert")).textContent).toMatch(/key/);
  expect(screen.queryByRole("button", { name: "Edit" })).toBeNull();
  press("Earlier version");
  await screen.findByText("answer to Where is it warm?");
  expect(screen.getByRole("status").textContent).toBe("1 of 3");
  screen.getByText("An earlier version, which is not remembered");
  press("Later version");
  press("Later version");
  await screen.findByText("Where is it cold?");
  expect(screen.queryByText(/^answer to/)).toBeNull();
});

test("a question with one version has no arrows", () => {
  show([]);
  expect(screen.queryByRole("button", { name: "Earlier version" })).toBeNull();
});

test("an edited question goes out with its images, and Escape gives the focus back", async () => {
  Object.assign(HTMLElement.prototype, { scrollIntoView: () => Promise.resolve() }); // as newer browsers return one
  show([]);
  press("Edit");
  const field = () => screen.getByRole<HTMLTextAreaElement>("textbox", { name: "Edited question" });
  expect(document.activeElement).toBe(field());
  fireEvent.keyDown(field(), { key: "Escape" });
  await waitFor(() => expect(document.activeElement).toBe(screen.getByRole("button", { name: "Edit" })));
  press("Edit");
  fireEvent.change(field(), { target: { value: " " } });
  fireEvent.keyDown(field(), { key: "Enter" });
  expect(onAgain).not.toHaveBeenCalled();
  fireEvent.change(field(), { target: { value: "Where does it snow?" } });
  fireEvent.keyDown(field(), { key: "Enter" });
  expect(onAgain.mock.calls).toEqual([[{ text: "Where does it snow?", attachmentIds: ["photo"], replaces: "c" }]]);
  expect(screen.queryByRole("textbox")).toBeNull();
});

test("what is edited while something is answered goes out when that has ended", () => {
  const turn = (again: typeof onAgain | null) => (
    <QueryClientProvider client={new QueryClient()}>
      <Question message={MESSAGE} shown={null} onShown={() => undefined} onAgain={again} isLast />
    </QueryClientProvider>
  );
  onAgain.mockClear();
  const { rerender } = render(turn(onAgain));
  press("Edit");
  const field = screen.getByRole("textbox", { name: "Edited question" });
  rerender(turn(null));
  fireEvent.change(field, { target: { value: "Where does it snow?" } });
  fireEvent.keyDown(field, { key: "Enter" });
  expect(onAgain).not.toHaveBeenCalled();
  rerender(turn(onAgain));
  expect(onAgain.mock.calls).toEqual([[{ text: "Where does it snow?", attachmentIds: ["photo"], replaces: "c" }]]);
});
