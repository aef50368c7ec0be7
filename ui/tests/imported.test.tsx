// Conversations that files brought: a list by titles, and one that is read in both directions.

import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Router } from "wouter";
import { memoryLocation } from "wouter/memory-location";

import { Words } from "../src/chat/evidence";
import { Imported, ImportedPage } from "../src/pages/imported";
import { session } from "../src/session/session";
import { chooseLanguage } from "../src/texts";
import { type Asked, CONFIG, serve } from "./server";

const USER = "00000000-0000-4000-8000-000000000001";
const AT = "2023-11-15T22:13:20Z";
const message = (id: string, role: string, content: string) => ({ id, role, content, speaker: null, occurred_at: AT });
const PAGES: Record<string, object> = {
  around: {
    title: "Moving",
    before: "b",
    after: "c",
    results: [message("b", "user", "Where to? [1]"), message("c", "assistant", "To **Lisbon**.")],
  },
  before: { title: "Moving", before: null, after: "a", results: [message("a", "user", "I move.")] },
  after: { title: "Moving", before: "d", after: null, results: [message("d", "user", "Thanks.")] },
};
let asked: Asked[];

beforeEach(() => {
  vi.stubGlobal(
    "IntersectionObserver",
    class {
      observe = () => undefined;
      disconnect = () => undefined;
    },
  );
  HTMLElement.prototype.scrollIntoView = vi.fn();
  asked = serve(({ path }) => {
    if (path === "/ui/config.json") return { body: { ...CONFIG, auth: "none", local_user_id: USER } };
    const { pathname, searchParams } = new URL(path, "http://maas.intern");
    if (pathname.endsWith("/imported/messages")) {
      if (searchParams.get("conversation") === "empty")
        return { body: { title: null, before: null, after: null, results: [] } };
      if (searchParams.get("conversation") !== "a/b?c")
        return { status: 404, body: { error: { code: "not_found", message: "no" } } };
      return { body: PAGES[["around", "before", "after"].find((one) => searchParams.has(one)) ?? "around"] };
    }
    if (pathname.endsWith("/sources"))
      return {
        body: {
          gone: 0,
          results: ["import", "tool"].map((kind) => ({
            ...message(`log-${kind}`, "user", `By ${kind}.`),
            run_id: "r",
            conversation: "a/b?c",
            external_id: "1",
            origins: [{ kind, name: "messages" }],
          })),
        },
      };
    if (pathname.startsWith("/v1/runs/"))
      return { body: { request_id: "r", kind: "archive", conversation_id: null, assistant: "mentor" } };
    return {
      body: {
        next: null,
        results: [
          { conversation: "a/b?c", title: "Moving", beginning: "I move.", messages: 120, since: AT, last_at: AT },
          { conversation: "2023-11-15", title: null, beginning: "Hello", messages: 1, since: AT, last_at: AT },
          { conversation: "0f3c", title: null, beginning: "What is soup?", messages: 2, since: AT, last_at: AT },
        ],
      },
    };
  });
  chooseLanguage("en");
});
afterEach(cleanup);

async function open(path: string, page: React.ReactNode) {
  await session.start();
  const { hook, searchHook } = memoryLocation({ path });
  render(
    <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
      <Router hook={hook} searchHook={searchHook}>
        {page}
      </Router>
    </QueryClientProvider>,
  );
}

const shown = () => [...document.querySelectorAll<HTMLElement>("[data-message]")].map((one) => one.dataset.message);

test("conversations have the titles of their source, else their day, else how they begin", async () => {
  await open("/memory/imported", <Imported />);
  await screen.findByText("Moving");
  const links = screen.getAllByRole("link");
  expect(links.map((one) => one.firstChild!.textContent)).toEqual(["Moving", "November 15, 2023", "What is soup?"]);
  expect(links[0]!.getAttribute("href")).toBe("/imported?conversation=a%2Fb%3Fc");
  screen.getByText("120 messages");
});

test("a link lands on its message, and what was said before and after is read from there", async () => {
  await open("/imported?conversation=a%2Fb%3Fc&around=c", <ImportedPage />);
  await screen.findByRole("heading", { name: "Moving" });
  expect(shown()).toEqual(["b", "c"]);
  expect(document.querySelector(".bg-mark")!.textContent).toContain("To Lisbon.");
  expect(HTMLElement.prototype.scrollIntoView).toHaveBeenCalledTimes(1);
  fireEvent.click(screen.getByRole("button", { name: "Earlier messages" }));
  await waitFor(() => expect(shown()).toEqual(["a", "b", "c"]));
  fireEvent.click(screen.getByRole("button", { name: "Later messages" }));
  await waitFor(() => expect(shown()).toEqual(["a", "b", "c", "d"]));
  expect(screen.queryByRole("button", { name: /messages/ })).toBeNull();
  expect(HTMLElement.prototype.scrollIntoView).toHaveBeenCalledTimes(1);
  const read = asked.map(({ path }) => path).filter((path) => path.includes("/imported/"));
  expect(read.map((path) => new URLSearchParams(path.split("?")[1]).get("conversation"))).toEqual(
    Array(3).fill("a/b?c"),
  );
});

test.each(["conversation=other", "conversation=empty"])("what is not there is said to be gone: %s", async (query) => {
  await open(`/imported?${query}`, <ImportedPage />);
  await screen.findByText("This conversation is not in memory.");
});

test("words of a file lead to their place in its conversation, and those of a tool nowhere", async () => {
  await open("/memory", <Words memoryId="m" />);
  const link = await screen.findByRole("link", { name: "Show in its conversation" });
  expect(link.getAttribute("href")).toBe("/imported?conversation=a%2Fb%3Fc&around=log-import");
});
