// The memory page: how much there is in all, and memories under their period.

import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";
import { Router } from "wouter";
import { memoryLocation } from "wouter/memory-location";
import { MemoryPage } from "../src/pages/memory";
import { daysOf, shadeOf } from "../src/parts/days";
import { session } from "../src/session/session";
import { chooseLanguage } from "../src/texts";
import { CONFIG, serve } from "./server";

const USER = "00000000-0000-4000-8000-000000000001";
const YEAR = new Date().getFullYear();
const DAYS = [
  { day: `${YEAR - 1}-12-31`, messages: 7 },
  { day: `${YEAR}-01-01`, messages: 1 },
  { day: `${YEAR}-01-02`, messages: 40 },
];
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
    if (path.startsWith(`/v1/users/${USER}/memory/days?`)) {
      const year = Number(path.split("year=")[1]);
      return { body: { year, results: DAYS.filter((one) => one.day.startsWith(`${year}-`)) } };
    }
    const results = [
      memory("tea", "2026-Week-48", "user"),
      memory("jazz", "2026-Week-48", "assistant"),
      { ...memory("snow", "2026-Month-01"), tags: ["Unanswered", "winter"], level: 3 },
      { ...memory("rain", "2026-Week-48"), level: 2 },
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

test("a tag of our own is said in words, one of the person's as it is", async () => {
  await open({ messages: 3, summaries: 1, since: null, last_saved_at: null });
  screen.getByText("not answered");
  screen.getByText("winter");
});

test("memories stand under their period, in words", async () => {
  await open({ messages: 0, summaries: 0, since: null, last_saved_at: null });
  const headings = screen.getAllByRole("heading", { level: 2 }).map((one) => one.textContent?.replaceAll(/\s/g, " "));
  expect(headings).toEqual(["November 23 – 29, 2026", "January 2026"]);
  expect(screen.queryByText(/last saved/)).toBeNull();
});

test("a summary of a week or a month says of which days it is, not when the last of it was said", async () => {
  await open({ messages: 0, summaries: 0, since: null, last_saved_at: null });
  const lineOf = (words: string) =>
    screen.getByText(words).closest(".card")!.querySelector("p")!.textContent!.replaceAll(/\s/g, " ");
  expect(lineOf("About snow.")).toBe("Month in whole weeks, December 29, 2025 – February 1, 2026");
  expect(lineOf("About rain.")).toBe("Week, November 23 – 29, 2026");
  expect(lineOf("About tea.")).toBe("you, Nov 25");
  await act(() => chooseLanguage("ru"));
  expect(lineOf("About snow.")).toBe("Месяц целыми неделями, 29 декабря 2025 г. – 1 февраля 2026 г.");
});

test("who has said it stands there by a name, not by a role", async () => {
  await open({ messages: 0, summaries: 0, since: null, last_saved_at: null });
  const said = screen.getAllByRole("listitem").map((one) => one.querySelector("p")?.textContent?.split(",")[0]);
  expect(said.slice(0, 2)).toEqual(["you", "Assistant"]);
});

test("each day of a year is a cell, darker the more was said on it, and years are walked back to the first", async () => {
  await open({
    messages: 48,
    summaries: 1,
    since: `${YEAR - 1}-12-31T12:00:00Z`,
    last_saved_at: `${YEAR}-01-02T12:00:00Z`,
  });
  const strip = await screen.findByRole("img", {
    name: `${YEAR}: Messages on 2 days; most on January 2: 40`,
  });
  const months = [...strip.parentElement!.querySelectorAll("span[style]")];
  expect(months.map((month) => month.textContent).slice(0, 3)).toEqual(["Jan", "Feb", "Mar"]);
  expect(months).toHaveLength(12);
  const shade = (cell: Element) => (cell as SVGElement).style.fill;
  const [first, second, third] = strip.querySelectorAll("rect");
  expect(first!.textContent).toBe("January 1: 1 message");
  expect(new Set([first!, second!, third!].map(shade)).size).toBe(3);
  expect((screen.getByRole("button", { name: "The year after" }) as HTMLButtonElement).disabled).toBe(true);
  fireEvent.click(screen.getByRole("button", { name: "The year before" }));
  await screen.findByRole("img", { name: `${YEAR - 1}: Messages on 1 day; most on December 31: 7` });
  expect((screen.getByRole("button", { name: "The year before" }) as HTMLButtonElement).disabled).toBe(true);
});

test.each([
  [2024, 366, 0, 52],
  [2012, 366, 6, 53], // a leap year that begins on a Sunday: 54 weeks
  [2023, 365, 6, 52],
  [1, 365, 0, 52],
])("the days of %i stand under each other by weeks", (year, count, weekday, week) => {
  const days = daysOf(year);
  expect(days).toHaveLength(count);
  expect(days[0]).toEqual({ day: `${String(year).padStart(4, "0")}-01-01`, week: 0, weekday });
  expect(days.at(-1)!.week).toBe(week);
});

test("the busiest day has the darkest shade, and any day with words has one", () => {
  expect([shadeOf(1, 1), shadeOf(1, 1000), shadeOf(999, 1000), shadeOf(30, 1000)]).toEqual([4, 1, 4, 2]);
});
