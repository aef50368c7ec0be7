import { cleanup, fireEvent, screen, waitFor, within } from "@testing-library/react";
import { afterEach, beforeEach, expect, test } from "vitest";

import { session } from "../src/session/session";
import { chooseLanguage } from "../src/texts";
import { openDesk, prepareBrowser } from "./page";
import { type Asked, CONFIG, serve } from "./server";

const ME = "00000000-0000-4000-8000-000000000001";
const AT = "2026-01-02T03:04:00Z";
const RUN = {
  request_id: "r1",
  user_id: ME,
  query: "When?",
  assistant: "mentor",
  kind: "ask",
  status: "COMPLETED",
  created_at: AT,
};
const EMPTY = { results: [], next: null };

let pauses: object[];
let asked: Asked[];
function body({ path, method, body: sent }: Asked): unknown {
  const route = path.split("?")[0]!;
  if (path === "/ui/config.json") return { ...CONFIG, auth: "none", local_user_id: ME };
  if (route === "/v1/caller") return { scopes: ["admin"], is_bound: false };
  if (route === "/v1/admin/inventory")
    return {
      assistants: [{ name: "mentor", title: "The Mentor", role: "R", plugin: null, is_active: true }],
      models: [],
      tools: [],
    };
  if (route === "/v1/admin/pauses/end") pauses = [];
  else if (route === "/v1/admin/pauses" && method === "POST") pauses = [{ ...sent, actor: "me", since: AT }];
  if (route === "/v1/admin/pauses") return { results: pauses, runs: 1 };
  if (route === "/v1/admin/runs/cancel" || route === "/v1/admin/runs/retry")
    return { matched: 1200, changed: sent.expected == null ? 0 : Math.min(1000, sent.expected) };
  if (route === "/v1/runs/r1")
    return { ...RUN, final_answer: "Then.", timings: {}, sources: [], used: [], degraded: [], attachment_ids: [] };
  if (route === "/v1/runs/r1/replay" || route === "/v1/runs/r1/again") return { request_id: "r2", poll_url: "" };
  if (route.endsWith("/trace")) {
    const lists = ["stages", "calls", "costs", "tools", "steps", "prompts", "memories", "history"];
    return { ...Object.fromEntries(lists.map((name) => [name, []])), run: { try: 1 }, took: { asked_at: AT } };
  }
  return EMPTY;
}

beforeEach(async () => {
  chooseLanguage("en");
  pauses = [];
  prepareBrowser();
  asked = serve((one) =>
    one.path.endsWith("/events")
      ? { chunks: ['id: 1\nevent: done\ndata: {"final_answer": "Now."}\n\n'] }
      : { body: body(one) },
  );
  await session.start();
});
afterEach(() => {
  cleanup();
  chooseLanguage(null);
});

const press = async (name: string) => fireEvent.click(await screen.findByRole("button", { name }));
const confirm = (name: string) => fireEvent.click(within(screen.getByRole("dialog")).getByRole("button", { name }));
const sent = (path: string) => asked.filter((one) => one.method === "POST" && one.path === path).map((one) => one.body);

test("an assistant is paused with a reason, says so, and goes on", async () => {
  openDesk("/admin/inventory");
  await waitFor(() => expect(screen.getByRole<HTMLButtonElement>("button", { name: "Pause" }).disabled).toBe(false));
  await press("Pause");
  fireEvent.change(screen.getByLabelText("Why, for others who look at it"), { target: { value: " a loop " } });
  expect(sent("/v1/admin/pauses")).toEqual([]);
  confirm("Pause");
  await screen.findByText(/^Paused since/);
  expect(sent("/v1/admin/pauses")).toEqual([{ subject: "assistant", name: "mentor", reason: "a loop" }]);
  await press("Go on");
  confirm("Go on");
  await screen.findByRole("button", { name: "Pause" });
  expect(sent("/v1/admin/pauses/end")).toEqual([{ subject: "assistant", name: "mentor" }]);
});

test("all that match are counted, and changed in portions once their number is typed", async () => {
  openDesk("/admin/runs?assistant=mentor&error=timeout");
  await press("Retry all failed that match");
  const dialog = await screen.findByRole("dialog", { name: "Try 1,200 failed requests again?" });
  const only = { user_id: null, kind: null, assistant: "mentor", from: null, to: null, error_code: "timeout" };
  expect(sent("/v1/admin/runs/retry")).toEqual([{ ...only, expected: null }]);
  const button = within(dialog).getByRole<HTMLButtonElement>("button", { name: "Retry all failed that match" });
  expect(button.disabled).toBe(true);
  fireEvent.change(within(dialog).getByRole("textbox"), { target: { value: "1200" } });
  fireEvent.click(button);
  await screen.findByText("1,200 requests changed.");
  expect(sent("/v1/admin/runs/retry").map((one) => one.expected)).toEqual([null, 1200, 200]);
});

test("what the filters mean and a change cannot choose by is not changed", async () => {
  openDesk("/admin/runs?q=cats");
  await screen.findByRole("heading", { name: "Requests" });
  expect(screen.queryByRole("button", { name: /that match/ })).toBeNull();
});

test("a finished request is tried with another model, beside what was answered then", async () => {
  openDesk("/admin/runs/r1");
  fireEvent.click(await screen.findByText("Try another model or prompt"));
  fireEvent.change(screen.getByLabelText("Model, as provider:name"), { target: { value: "openai:gpt" } });
  await press("Try");
  await screen.findByText("Now.");
  expect(screen.getAllByText("Then.")).toHaveLength(2);
  expect(sent("/v1/runs/r1/replay")).toEqual([{ stage: "final_responder", model: "openai:gpt", prompt: null }]);
  await press("Send again");
  confirm("Send again");
  await waitFor(() => expect(sent("/v1/runs/r1/again")).toHaveLength(1));
});

test("on a phone filters stand behind a button that says how many are set", async () => {
  openDesk("/admin/runs?status=FAILED&q=cats");
  const button = await screen.findByRole("button", { name: "Filters (2)" });
  const filters = screen.getByLabelText("Error code").closest(".filters")!;
  expect(filters.className).toContain("hidden");
  fireEvent.click(button);
  expect(button.getAttribute("aria-expanded")).toBe("true");
  expect(filters.className).not.toContain("hidden");
});
