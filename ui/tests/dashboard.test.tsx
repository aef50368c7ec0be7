// The figures of the desk: each leads to what it counts, those of a day, too.

import { cleanup, fireEvent, screen, within } from "@testing-library/react";
import { afterEach, beforeEach, expect, test } from "vitest";

import { chooseLanguage } from "../src/texts";
import { open, prepareBrowser } from "./page";
import { CONFIG, serve } from "./server";

const USER = "00000000-0000-4000-8000-000000000001";
const DAYS = [
  { day: "2026-11-04", requests: 3, average_ms: 1500, failed: 0, dollars: 0.25 },
  { day: "2026-11-05", requests: 5, average_ms: null, failed: 2, dollars: null },
];
const METRICS = {
  total: { requests: 8, average_ms: 1500, p95_ms: 2000, failed: 2, dollars: 0.25 },
  days: DAYS,
  queue: { inbox: 0, paused: 3 },
  embedding: null,
  engines: [],
  stuck: [],
};

beforeEach(() => {
  prepareBrowser();
  chooseLanguage("en");
  serve(({ path }) => {
    if (path === "/ui/config.json") return { body: { ...CONFIG, auth: "none", local_user_id: USER } };
    if (path.endsWith("/events")) return { chunks: [], isOpen: true };
    if (path === "/v1/caller") return { body: { user_id: USER, scopes: ["admin"] } };
    if (path.startsWith("/v1/admin/metrics")) return { body: METRICS };
    return { body: { results: [], next: null } };
  });
});
afterEach(cleanup);

test("a figure of a day leads to the requests of that day, a failed one to those that failed", async () => {
  await open("/ui/admin");
  const summaries = await screen.findAllByText("By day");
  for (const summary of summaries) fireEvent.click(summary);
  const of = (name: RegExp, row: RegExp) =>
    within(within(screen.getByRole("table", { name })).getByRole("row", { name: row })).queryByRole("link");
  const link = of(/^Failed/, /November 5/);
  expect(link?.textContent).toBe("2");
  expect(link?.getAttribute("href")).toBe("/ui/admin/runs?kind=ask&from=2026-11-05&to=2026-11-05&status=FAILED");
  expect(of(/^Requests/, /November 4/)?.getAttribute("href")).toBe(
    "/ui/admin/runs?kind=ask&from=2026-11-04&to=2026-11-04",
  );
  expect(of(/response time/, /November 5/)).toBeNull();
});

test("the figures of a day have the unit of the number above them", async () => {
  await open("/ui/admin");
  for (const summary of await screen.findAllByText("By day")) fireEvent.click(summary);
  const cells = (name: RegExp) => within(screen.getByRole("table", { name })).getAllByRole("cell");
  expect(cells(/response time/).map((cell) => cell.textContent)).toEqual(["1.5 s", "–"]);
  expect(cells(/^Cost/).map((cell) => cell.textContent)).toEqual(["$0.25", "–"]);
  expect(cells(/^Failed/).map((cell) => cell.textContent)).toEqual(["0", "2"]);
});

test("a number of the queue leads to the requests that stand there", async () => {
  await open("/ui/admin");
  const link = await screen.findByRole("link", { name: "paused by an operator: 3" });
  expect(link.getAttribute("href")).toBe("/ui/admin/runs?queue=paused");
});
