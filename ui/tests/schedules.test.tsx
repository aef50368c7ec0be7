// Requests by the clock: in words, added at times that people choose, paused and deleted.

import { cleanup, fireEvent, screen, waitFor, within } from "@testing-library/react";
import { afterEach, beforeEach, expect, test } from "vitest";

import { cronInWords, cronOf } from "../src/parts/cron";
import { chooseLanguage } from "../src/texts";
import { open, prepareBrowser } from "./page";
import { ASSISTANTS, type Asked, CONFIG, serve } from "./server";

const USER = "00000000-0000-4000-8000-000000000001";
const AT = "2026-11-05T10:00:00Z";
const SCHEDULE = {
  id: "s",
  user_id: USER,
  query: "What is due?",
  cron: "30 8 * * 1-5",
  timezone: "Europe/Lisbon",
  assistant: "mentor",
  conversation_id: null,
  catch_up: "last",
  next_at: AT,
  last_at: null,
  paused_at: null,
  error: "the queue was full",
  created_at: AT,
};

let asked: Asked[];
let schedules: object[];
beforeEach(() => {
  prepareBrowser();
  chooseLanguage("en");
  schedules = [SCHEDULE];
  asked = serve(({ method, path }) => {
    if (path === "/ui/config.json") return { body: { ...CONFIG, auth: "none", local_user_id: USER } };
    if (path.endsWith("/events")) return { chunks: [], isOpen: true };
    if (path === "/v1/assistants") return ASSISTANTS;
    if (method === "DELETE") return { status: 204 };
    if (path.startsWith("/v1/schedules?")) return { body: { results: schedules } };
    return { body: { results: [], next: null } };
  });
});
afterEach(cleanup);

const sent = () => asked.filter(({ method }) => method !== "GET").map(({ method, path, body }) => [method, path, body]);

test.each([
  ["day", "07:05", 0, "5 7 * * *", "every day at 07:05"],
  ["workdays", "08:30", 0, "30 8 * * 1-5", "on weekdays at 08:30"],
  ["week", "18:00", 0, "0 18 * * 0", "Sunday at 18:00"],
  ["month", "00:00", 28, "0 0 28 * *", "on day 28 of each month at 00:00"],
] as const)("%s at %s is a cron expression and words", (rhythm, time, day, cron, words) => {
  expect(cronOf(rhythm, time, day)).toBe(cron);
  expect(cronInWords(cron)).toBe(words);
});

test.each(["*/5 * * * *", "0 9 1 * 1", "0 9 * 1 *", "0 9 * * MON"])("%s stays as it is", (cron) => {
  expect(cronInWords(cron)).toBe(cron);
});

test("a schedule says when in words, why nothing came of it, and is paused and deleted", async () => {
  await open("/ui/schedules");
  const card = within((await screen.findByText("What is due?")).closest("li")!);
  card.getByText("on weekdays at 08:30 (Europe/Lisbon)");
  card.getByText("Mentor");
  card.getByText("the queue was full");
  fireEvent.click(card.getByRole("button", { name: "Pause" }));
  await waitFor(() => expect(sent()).toEqual([["PATCH", "/v1/schedules/s", { paused: true }]]));
  fireEvent.click(card.getByRole("button", { name: "Delete" }));
  const dialog = within(screen.getByRole("dialog", { name: "Delete this schedule?" }));
  fireEvent.click(dialog.getByRole("button", { name: "Delete" }));
  await waitFor(() => expect(sent()[1]).toEqual(["DELETE", "/v1/schedules/s", null]));
});

test("one is added by a day and a time in the zone of the browser, or by an expression", async () => {
  schedules = [];
  await open("/ui/schedules");
  await screen.findByText("Nothing is asked by the clock yet.");
  const form = () => screen.getByRole("textbox", { name: "What to ask" }).closest("form")!;
  const type = (label: RegExp, value: string) =>
    fireEvent.change(within(form()).getByLabelText(label), { target: { value } });
  type(/^What to ask/, " What is due? ");
  type(/^When/, "week");
  type(/^Day/, "3");
  type(/^Time/, "18:15");
  fireEvent.submit(form());
  const timezone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const wanted = { user_id: USER, query: "What is due?", assistant: "mentor", timezone, catch_up: "last" };
  await waitFor(() => expect(sent()).toEqual([["POST", "/v1/schedules", { ...wanted, cron: "15 18 * * 3" }]]));
  await waitFor(() => expect(screen.getByRole<HTMLTextAreaElement>("textbox", { name: "What to ask" }).value).toBe(""));
  type(/^What to ask/, "And now?");
  type(/^When/, "cron");
  type(/^Cron expression/, "*/5 * * * *");
  fireEvent.submit(form());
  await waitFor(() => expect(sent()[1]?.[2]).toMatchObject({ query: "And now?", cron: "*/5 * * * *" }));
});
