// What is known of a person: by whom it is about, with what may be decided about each.

import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

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
  true_from: "2026-03-01",
  true_until: null,
  is_pinned: false,
};
const FACTS = [
  FACT,
  { ...FACT, id: "tea", fact: "I drink tea.", about: "user", is_pinned: true, true_from: null },
  { ...FACT, id: "job", fact: "I bake bread.", about: "user", state: "ended", since: "2026-05-01" },
];

let asked: Asked[];
beforeEach(async () => {
  HTMLDialogElement.prototype.showModal = function (this: HTMLDialogElement) {
    this.open = true;
  };
  vi.stubGlobal("IntersectionObserver", undefined);
  asked = serve(({ path }) => {
    if (path === "/ui/config.json") return { body: { ...CONFIG, auth: "none", local_user_id: USER } };
    if (path.includes("/facts?")) return { body: { results: FACTS, next: null } };
    return { body: { facts: 2 } };
  });
  chooseLanguage("en");
  await session.start();
  render(
    <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
      <Facts />
    </QueryClientProvider>,
  );
  await screen.findByText("I drink tea.");
});
afterEach(cleanup);

const card = (text: string) => within(screen.getByText(text).closest("li")!);
const choices = (text: string) =>
  card(text)
    .getAllByRole("button")
    .map((one) => one.textContent);
const posted = () => asked.filter(({ method }) => method === "POST").map(({ path, body }) => [path, body]);

test("facts stand under whom they are about, the person first, with since and until when", () => {
  expect(screen.getAllByRole("heading").map((one) => one.textContent)).toEqual(["You", "Alma"]);
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
  await waitFor(() => expect(asked.filter(({ path }) => path.includes("/facts?"))).toHaveLength(2));
  expect(posted()).toEqual([["/v1/facts/home/decide", { user_id: USER, verdict: "unused" }]]);
});

test("what is no longer true is shown when it is asked for", async () => {
  fireEvent.click(screen.getByLabelText("Also what is no longer true"));
  await waitFor(() => expect(asked.some(({ path }) => path.includes("state=all"))).toBe(true));
});

test("two names become one person", async () => {
  fireEvent.click(screen.getByText("Same as…"));
  fireEvent.change(screen.getByRole("textbox", { hidden: true }), { target: { value: "sister" } });
  fireEvent.click(screen.getByText("They are the same"));
  await waitFor(() => expect(screen.queryByText("They are the same")).toBeNull());
  expect(posted()).toEqual([[`/v1/users/${USER}/facts/names`, { name: "Alma", same_as: "sister" }]]);
});
