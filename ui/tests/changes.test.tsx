// What changed in memory within a week: by the facts' own times, what was beside what is.

import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { afterEach, expect, test } from "vitest";

import type { Fact } from "../src/api/types";
import { changesOf, WeekOfFacts } from "../src/pages/changes";
import { session } from "../src/session/session";
import { chooseLanguage } from "../src/texts";
import { type Asked, CONFIG, serve } from "./server";

const USER = "00000000-0000-4000-8000-000000000001";
const NOW = new Date(2026, 10, 28, 12);
const daysAgo = (days: number, now = NOW) => new Date(now.getTime() - days * 86_400_000).toISOString();

/** A fact that has been in memory for so many days. */
function factOf(id: string, age: number, rest: Partial<Fact> = {}, now = NOW): Fact {
  const fact = { id, fact: `It is ${id}.`, about: "user", kind: "state", state: "true", since: null, said_by: "user" };
  const times = { said_at: daysAgo(age, now), last_said_at: daysAgo(age, now), created_at: daysAgo(age, now) };
  const links = { replaces: null, replaced_by: null, true_from: null, true_until: null, raw_log_ids: [] };
  return { ...fact, ...times, ...links, is_pinned: false, origin: "rule", origins: [], ...rest } as Fact;
}

/** The changes as pairs of ids. */
function pairs(...facts: Fact[]) {
  const changes = Object.entries(changesOf(facts, NOW)).filter(([, all]) => all.length);
  return Object.fromEntries(changes.map(([kind, all]) => [kind, all.map((one) => [one.before?.id, one.after?.id])]));
}

afterEach(async () => {
  cleanup();
  await chooseLanguage(null);
});

test("what came within seven days is new, the newest first", () => {
  expect(pairs(factOf("jazz", 7.5), factOf("tea", 5), factOf("snow", 1))).toEqual({
    added: [
      [undefined, "snow"],
      [undefined, "tea"],
    ],
  });
});

test("what took the place of another stands beside it, however old that is", () => {
  const oslo = factOf("oslo", 400, { state: "replaced", since: "2026-03-01", replaced_by: "rome" });
  expect(pairs(factOf("rome", 2, { replaces: "oslo" }), oslo)).toEqual({ replaced: [["oslo", "rome"]] });
  expect(pairs(factOf("rome", 20, { replaces: "oslo" }), oslo)).toEqual({});
});

test("each step of what changed twice is a change", () => {
  const oslo = factOf("oslo", 40, { state: "replaced", replaced_by: "rome" });
  const rome = factOf("rome", 3, { state: "replaced", replaces: "oslo", replaced_by: "bern" });
  expect(pairs(factOf("bern", 1, { replaces: "rome" }), rome, oslo)).toEqual({
    replaced: [
      ["rome", "bern"],
      ["oslo", "rome"],
    ],
  });
});

test("what ended, and what was corrected or called wrong, within the week", () => {
  expect(
    pairs(
      factOf("job", 90, { state: "ended", since: "2026-11-26" }),
      factOf("school", 90, { state: "ended", since: "2026-06-01" }),
      factOf("dog", 30, { state: "corrected", since: "2026-11-27", replaced_by: "cat" }),
      factOf("cat", 1, { origin: "person", replaces: "dog" }),
      factOf("boat", 30, { state: "wrong", since: "2026-11-25" }),
    ),
  ).toEqual({
    ended: [["job", undefined]],
    corrected: [
      ["dog", "cat"],
      ["boat", undefined],
    ],
  });
});

test("what nothing is to be used of is not shown", () => {
  const hidden = factOf("secret", 3, { state: "unused", replaced_by: "rome" });
  expect(pairs(hidden, factOf("rome", 1, { replaces: "secret" }))).toEqual({ added: [[undefined, "rome"]] });
});

let asked: Asked[];

async function open(pages: Fact[][]) {
  asked = serve(({ path }) => {
    if (path === "/ui/config.json") return { body: { ...CONFIG, auth: "none", local_user_id: USER } };
    const page = Number(new URL(path, "http://maas.intern").searchParams.get("before") ?? 0);
    return { body: { results: pages[page], next: page + 1 < pages.length ? String(page + 1) : null } };
  });
  await session.start();
  render(
    <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
      <WeekOfFacts />
    </QueryClientProvider>,
  );
}
const facts = (count: number, age = 1) =>
  Array.from({ length: count }, (_, n) => factOf(`${n}`, age + n / 1000, {}, new Date()));
const reads = () => asked.filter(({ path }) => path.includes("/facts?")).length;

test("the old is struck through and stands before the new", async () => {
  await chooseLanguage("en");
  const oslo = factOf("oslo", 40, { state: "replaced", replaced_by: "rome" }, new Date());
  await open([[factOf("rome", 0, { replaces: "oslo" }, new Date())], [oslo]]);
  const line = within(await screen.findByRole("list", { name: "Replaced" })).getByRole("listitem");
  expect(line.textContent).toContain("It is oslo. → It is rome.");
  expect([line.querySelector("del"), line.querySelector("ins")].map((one) => one?.textContent)).toEqual([
    "It is oslo.",
    "It is rome.",
  ]);
  expect(screen.queryByText(/newest/)).toBeNull();
});

test("a week without changes is said in one line, in both languages", async () => {
  await chooseLanguage("en");
  await open([facts(2, 30)]);
  await screen.findByText("Nothing changed in the last seven days.");
  expect(screen.queryByRole("list")).toBeNull();
  cleanup();
  await chooseLanguage("ru");
  await open([facts(2, 30)]);
  await screen.findByText("За последние семь дней ничего не изменилось.");
});

test("of many changes the first are shown, the others when they are asked for", async () => {
  await chooseLanguage("en");
  await open([facts(8)]);
  expect(within(await screen.findByRole("list", { name: "New" })).getAllByRole("listitem")).toHaveLength(5);
  fireEvent.click(screen.getByText("Show 3 more"));
  expect(screen.getAllByRole("listitem")).toHaveLength(8);
});

test("of very many facts the newest are read, and that is said", async () => {
  await chooseLanguage("en");
  await open(Array.from({ length: 9 }, (_, page) => [factOf(`page ${page}`, page, {}, new Date())]));
  await screen.findByText("Looked for among the newest 5 facts.");
  expect(reads()).toBe(5);
});

test("where nothing is known, nothing is said", async () => {
  await open([[]]);
  await waitFor(() => expect(screen.queryByRole("status")).toBeNull());
  expect(reads()).toBe(1);
  expect(screen.queryByRole("region")).toBeNull();
});
