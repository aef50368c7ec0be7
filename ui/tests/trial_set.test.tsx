// A prompt on trial with a set of recorded requests: what it costs first, then all answers side by side.

import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { afterEach, beforeEach, expect, test } from "vitest";

import { TrialSets } from "../src/admin/trial_set";
import { chooseLanguage } from "../src/texts";
import { prepareBrowser } from "./page";
import { ASSISTANTS, type Asked, serve } from "./server";

const AT = "2026-01-01T00:00:00Z";
const ROLE: string = "Mentor";
const run = (id: string) => ({
  request_id: id,
  user_id: "u",
  user_name: "Ann",
  query: `Question ${id}?`,
  assistant: "mentor",
  answer: `Old ${id}.`,
  created_at: AT,
  tokens: 1500,
  dollars: 0.25,
});

let asked: Asked[];
let kept: Record<string, string[]>;
let running: Set<string>;
beforeEach(() => {
  chooseLanguage("en");
  prepareBrowser();
  kept = { usual: ["r1", "r2", "r3"] };
  running = new Set();
  asked = serve(({ path, method, body }) => {
    const name = decodeURIComponent(path.split("/")[4] ?? "");
    if (path === "/v1/assistants") return ASSISTANTS;
    if (path === "/v1/admin/trial_sets")
      return { body: { results: Object.entries(kept).map(([set, runs]) => ({ name: set, runs: runs.length })) } };
    if (path.startsWith("/v1/admin/trial_sets/")) {
      if (method === "DELETE") delete kept[name];
      if (method === "PUT") kept[name] = body.run_ids;
      return method === "DELETE" ? { status: 204 } : { body: { name, runs: kept[name]!.map(run) } };
    }
    if (path.startsWith("/v1/admin/runs")) return { body: { results: ["r1", "r4"].map(run), next: null } };
    if (path.endsWith("/try") && body.run_id === "r2")
      return { status: 409, body: { error: { code: "not_replayable", message: "another prompt" } } };
    if (path.endsWith("/try")) return { status: 202, body: { request_id: `t-${body.run_id}` } };
    if (path.endsWith("/cancel")) {
      running.clear();
      return { status: 202, body: {} };
    }
    const id = path.split("/").at(-1)!;
    return {
      body: running.has(id)
        ? { request_id: id, status: "RESPONDING" }
        : { request_id: id, status: "COMPLETED", final_answer: `New ${id}.` },
    };
  });
  render(
    <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
      <TrialSets role={ROLE} text="Be kind." />
    </QueryClientProvider>,
  );
});
afterEach(cleanup);

const choose = async (name: string) => {
  await screen.findByRole("option", { name: `${name} (${kept[name]!.length})` });
  fireEvent.change(screen.getByLabelText("Set"), { target: { value: name } });
};
const sent = (end: string) => asked.filter(({ method, path }) => method === "POST" && path.endsWith(end));
const start = async () => {
  fireEvent.click(await screen.findByRole("button", { name: "Try on all 3 requests" }));
  const dialog = within(await screen.findByRole("dialog"));
  expect(dialog.getByText("By what the first answers took, about 4,500 tokens and $0.75.")).toBeTruthy();
  expect(sent("/try")).toEqual([]);
  fireEvent.click(dialog.getByRole("button", { name: "Try on all 3 requests" }));
};

test("all are tried once the cost was said, and stand beside the old answers", async () => {
  await choose("usual");
  await start();
  await screen.findByText("3 of 3 answered");
  expect(sent("/try").map(({ body }) => body)).toEqual(
    ["r1", "r2", "r3"].map((id) => ({ run_id: id, text: "Be kind." })),
  );
  const cards = screen.getAllByRole("listitem").map((one) => one.textContent!);
  expect(cards[0]).toMatch(/Question r1\?.*Old r1\..*Differences.*New t-r1\./);
  expect(cards[1]).toContain("another prompt"); // one that cannot be tried does not stop the others
  expect(cards[2]).toMatch(/Old r3\..*New t-r3\./);
});

test("what runs is counted, and stopped", async () => {
  running = new Set(["t-r1", "t-r3"]);
  await choose("usual");
  await start();
  await screen.findByText("1 of 3 answered");
  await waitFor(() => expect(sent("/try")).toHaveLength(3));
  fireEvent.click(screen.getByRole("button", { name: "Stop" }));
  await waitFor(() => expect(sent("/cancel").map(({ path }) => path)).toHaveLength(2));
  await screen.findByText("3 of 3 answered", undefined, { timeout: 5000 });
  expect(screen.queryByRole("button", { name: "Stop" })).toBeNull();
});

test("a set is made of ticked requests, changed and deleted", async () => {
  fireEvent.click(screen.getByRole("button", { name: "New set" }));
  fireEvent.click(await screen.findByRole("checkbox", { name: /Question r4/ }));
  screen.getByText("Chosen: 1 of at most 20");
  fireEvent.change(screen.getByLabelText("Name of the set"), { target: { value: " hard/ones " } });
  fireEvent.click(screen.getByRole("button", { name: "Keep the set" }));
  await screen.findByText("Old r4.");
  expect(kept["hard-ones"]).toEqual(["r4"]);
  fireEvent.click(screen.getByRole("button", { name: "Change the set" }));
  fireEvent.click(await screen.findByRole("checkbox", { name: /Question r1/ }));
  fireEvent.click(screen.getByRole("button", { name: "Keep the set" }));
  await screen.findByText("Old r1.");
  expect(kept["hard-ones"]).toEqual(["r4", "r1"]);
  fireEvent.click(screen.getByRole("button", { name: "Delete the set" }));
  fireEvent.click(within(await screen.findByRole("dialog")).getByRole("button", { name: "Delete the set" }));
  await waitFor(() => expect(kept["hard-ones"]).toBeUndefined());
});
