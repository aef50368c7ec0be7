// What is known of a person: by whom it is about, with what may be decided about each.

import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Router } from "wouter";
import { memoryLocation } from "wouter/memory-location";

import { Facts } from "../src/pages/facts";
import { session } from "../src/session/session";
import { chooseLanguage } from "../src/texts";
import { type Asked, CONFIG, serve } from "./server";

const USER = "00000000-0000-4000-8000-000000000001";
const FACT = {
  id: "home",
  fact: "My sister Alma lives in Lisbon.",
  about: "Alma",
  kind: "state",
  state: "true",
  since: null,
  said_at: "2026-03-02T09:00:00Z",
  created_at: "2026-03-02T09:00:00Z",
  true_from: "2026-03-01",
  true_until: null,
  is_pinned: false,
};
const FACTS = [
  FACT,
  { ...FACT, id: "tea", fact: "I drink tea.", about: "user", kind: "preference", is_pinned: true, true_from: null },
  { ...FACT, id: "job", fact: "I bake bread.", about: "user", state: "ended", since: "2026-05-01" },
];

let asked: Asked[];
let place: ReturnType<typeof memoryLocation>;
let next: string | null;
beforeEach(async () => {
  HTMLDialogElement.prototype.showModal = function (this: HTMLDialogElement) {
    this.open = true;
  };
  vi.stubGlobal("IntersectionObserver", undefined);
  asked = serve(({ path }) => {
    if (path === "/ui/config.json") return { body: { ...CONFIG, auth: "none", local_user_id: USER } };
    if (path.includes("/facts?")) return { body: { results: FACTS, next } };
    return { body: { facts: 2 } };
  });
  chooseLanguage("en");
  next = null;
  await session.start();
  await open("/memory/facts");
});

async function open(path: string) {
  cleanup();
  place = memoryLocation({ path, record: true });
  render(
    <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
      <Router hook={place.hook} searchHook={place.searchHook}>
        <Facts />
      </Router>
    </QueryClientProvider>,
  );
  await screen.findByRole("group", { name: "Kinds of facts" });
  await screen.findByText("Nothing changed in the last seven days.");
}
afterEach(cleanup);

const card = (text: string) => within(screen.getByText(text).closest("li")!);
const choices = (text: string) =>
  card(text)
    .getAllByRole("button")
    .map((one) => one.textContent);
const texts = (elements: HTMLElement[]) => elements.map((one) => one.textContent);
const kinds = () => within(screen.getByRole("group", { name: "Kinds of facts" })).getAllByRole("button");
const shown = () =>
  texts(screen.queryAllByRole("listitem")).map((one) => FACTS.find(({ fact }) => one?.includes(fact))?.id);
const posted = () => asked.filter(({ method }) => method === "POST").map(({ path, body }) => [path, body]);

test("facts stand under whom they are about, the person first, with since and until when", () => {
  expect(texts(screen.getAllByRole("heading")).slice(1)).toEqual(["You", "Alma"]);
  card("My sister Alma lives in Lisbon.").getByText("since March 1, 2026");
  card("I drink tea.").getByText("said on March 2, 2026");
  card("I drink tea.").getByText("always shown");
  card("I bake bread.").getByText("no longer true, May 1, 2026");
});

test("what may be decided depends on what was", () => {
  const source = "What it was made from";
  const others = ["No longer true", "Never was true", "Never use this"];
  expect(choices(FACT.fact)).toEqual([source, "Always show", ...others]);
  expect(choices("I drink tea.")).toEqual([source, "Undo my decision", ...others]);
  expect(choices("I bake bread.")).toEqual([source, "Undo my decision"]);
});

test("a decision is sent, and the facts are read again", async () => {
  fireEvent.click(card(FACT.fact).getByText("Never use this"));
  await waitFor(() => expect(asked.filter(({ path }) => path.endsWith("/facts?limit=100"))).toHaveLength(2));
  expect(posted()).toEqual([["/v1/facts/home/decide", { user_id: USER, verdict: "unused" }]]);
});

test("what is no longer true is shown when it is asked for", async () => {
  fireEvent.click(screen.getByLabelText("Also what is no longer true"));
  await waitFor(() => expect(asked.filter(({ path }) => path.includes("state=all"))).toHaveLength(2)); // and the week's
});

test("facts are chosen by kind, and the choice stands in the address", async () => {
  expect(texts(kinds())).toEqual(["All 3", "preference 1", "state 2"]);
  fireEvent.click(screen.getByRole("button", { name: "state 2" }));
  expect(shown()).toEqual(["job", "home"]);
  expect(place.history.at(-1)).toBe("/memory/facts?kind=state");
  fireEvent.click(screen.getByLabelText("Also what is no longer true"));
  expect(place.history.at(-1)).toBe("/memory/facts?kind=state&state=all");
  fireEvent.click(kinds()[0]!);
  expect(place.history.at(-1)).toBe("/memory/facts?state=all");
});

test("a kind of which nothing is known is said to be empty", async () => {
  await open("/memory/facts?kind=plan");
  expect(texts(kinds())).toEqual(["All 3", "preference 1", "plan 0", "state 2"]);
  screen.getByText("Nothing of this kind is known.");
  await open("/memory/facts?kind=nonsense");
  expect(shown()).toHaveLength(3);
});

test("where there are more facts, what was counted is the least that there are", async () => {
  vi.stubGlobal(
    "IntersectionObserver",
    class {
      observe = () => undefined;
      disconnect = () => undefined;
    },
  );
  next = "later";
  await open("/memory/facts?kind=plan");
  expect(texts(kinds())).toEqual(["All 3+", "preference 1+", "plan 0+", "state 2+"]);
  expect(screen.queryByText("Nothing of this kind is known.")).toBeNull();
});

test("two names become one person", async () => {
  fireEvent.click(screen.getByText("Same as…"));
  fireEvent.change(screen.getByRole("textbox", { hidden: true }), { target: { value: "sister" } });
  fireEvent.click(screen.getByText("They are the same"));
  await waitFor(() => expect(screen.queryByText("They are the same")).toBeNull());
  expect(posted()).toEqual([[`/v1/users/${USER}/facts/names`, { name: "Alma", same_as: "sister" }]]);
});
