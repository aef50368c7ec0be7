// The memory page: how much there is in all, and memories under their period.

import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";
import { Router } from "wouter";
import { memoryLocation } from "wouter/memory-location";

import { MemoryPage } from "../src/pages/memory";
import { session } from "../src/session/session";
import { chooseLanguage } from "../src/texts";
import { CONFIG, serve } from "./server";

const USER = "00000000-0000-4000-8000-000000000001";
const memory = (id: string, period: string, speaker: string | null = null) => ({
  id,
  period,
  memory: `About ${id}.`,
  kind: speaker ? "turn" : "summary",
  speaker,
  tags: [],
  occurred_at: "2026-11-25T10:00:00Z",
  corrected_by: null,
});

afterEach(cleanup);

async function open(totals: object) {
  vi.stubGlobal("IntersectionObserver", undefined);
  serve(({ path }) => {
    if (path === "/ui/config.json") return { body: { ...CONFIG, auth: "none", local_user_id: USER } };
    if (path === `/v1/users/${USER}/memory`) return { body: totals };
    const results = [
      memory("tea", "2026-Week-48", "user"),
      memory("jazz", "2026-Week-48", "assistant"),
      memory("snow", "2026-Month-01"),
    ];
    return { body: { results, next: null } };
  });
  chooseLanguage("en");
  await session.start();
  render(
    <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
      <Router hook={memoryLocation({ path: "/memory" }).hook}>
        <MemoryPage />
      </Router>
    </QueryClientProvider>,
  );
  await screen.findByText("About tea.");
}

test("all that is remembered is counted, not what is on the page", async () => {
  const at = "2026-03-02T10:00:00Z";
  await open({ messages: 1300, summaries: 1, since: at, last_saved_at: at });
  await screen.findByText("1,300 messages");
  screen.getByText("1 summary");
  screen.getByText("since March 2, 2026");
});

test("memories stand under their period, in words", async () => {
  await open({ messages: 0, summaries: 0, since: null, last_saved_at: null });
  const headings = screen.getAllByRole("heading", { level: 2 }).map((one) => one.textContent?.replaceAll(/\s/g, " "));
  expect(headings).toEqual(["November 23 – 29, 2026", "January 2026"]);
  expect(screen.queryByText(/last saved/)).toBeNull();
});

test("who has said it stands there by a name, not by a role", async () => {
  await open({ messages: 0, summaries: 0, since: null, last_saved_at: null });
  const said = screen.getAllByRole("listitem").map((one) => one.querySelector("p")?.textContent?.split(",")[0]);
  expect(said.slice(0, 2)).toEqual(["you", "Assistant"]);
});
