// The frame of the page: its title, its notices, what the keys do, and the palette's commands.

import { cleanup, fireEvent, screen, waitFor } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { chooseScheme } from "../src/session/appearance";
import { chooseLanguage } from "../src/texts";
import { open, prepareBrowser } from "./page";
import { CONFIG, serve } from "./server";

const USER = "00000000-0000-4000-8000-000000000001";
const NOTICE = "No sign-in: this server accepts requests from this machine only.";

beforeEach(() => {
  prepareBrowser();
  serve(({ path }) =>
    path === "/ui/config.json"
      ? { body: { ...CONFIG, auth: "none", local_user_id: USER } }
      : path.endsWith("/events")
        ? { chunks: [], isOpen: true }
        : { body: { results: [], next: null } },
  );
  chooseLanguage("en");
});
afterEach(() => {
  cleanup();
  chooseScheme("auto");
  chooseLanguage(null);
});

async function command(typed: string) {
  fireEvent.keyDown(window, { key: "k", ctrlKey: true });
  const palette = await screen.findByRole("combobox", { name: /a command/, hidden: true });
  fireEvent.change(palette, { target: { value: typed } });
  fireEvent.keyDown(palette, { key: "Enter" });
}

test.each([
  ["/ui/", "MaaS"],
  ["/ui/history", "History · MaaS"],
  ["/ui/memory", "Memory · MaaS"],
  ["/ui/memory/facts", "Memory · MaaS"],
  ["/ui/actions", "Waiting for your decision · MaaS"],
])("the tab of %s is called %s", async (path, title) => {
  await open(path);
  await waitFor(() => expect(document.title).toBe(title));
});

test("the first page says what this is, and leads to the import", async () => {
  await open("/ui/");
  await screen.findByText(/^Assistants that remember/);
  expect(document.querySelectorAll("main [data-logo], nav [data-logo]")).toHaveLength(2);
  expect(screen.getByRole("link", { name: "Memory page" }).getAttribute("href")).toBe("/ui/memory");
});

test("the notice that nobody signs in is not shown again once it was read", async () => {
  await open("/ui/history");
  screen.getByText(NOTICE);
  fireEvent.click(screen.getByText("Do not show again"));
  expect(screen.queryByText(NOTICE)).toBeNull();
  cleanup();
  await open("/ui/history");
  expect(screen.queryByText(NOTICE)).toBeNull();
});

test("the menu closes by its button and by Escape", async () => {
  await open("/ui/history");
  const menu = screen.getByRole("button", { name: /Menu/ });
  fireEvent.click(menu);
  expect(document.activeElement).toBe(screen.getByRole("link", { name: "New conversation" }));
  fireEvent.click(screen.getByText("Close"));
  expect(menu.getAttribute("aria-expanded")).toBe("false");
  expect(document.activeElement).toBe(menu);
  fireEvent.click(menu);
  fireEvent.keyDown(window, { key: "Escape" });
  expect(menu.getAttribute("aria-expanded")).toBe("false");
});

test("conversations are searched once, when the person pauses, and said to be none", async () => {
  const asked = serve(({ path }) =>
    path === "/ui/config.json"
      ? { body: { ...CONFIG, auth: "none", local_user_id: USER } }
      : path.endsWith("/events")
        ? { chunks: [], isOpen: true }
        : path.startsWith("/v1/conversations") && !path.includes("q=")
          ? {
              body: {
                results: [{ id: USER, title: "Spring", is_remembered: true, updated_at: "2026-01-02T03:04:05Z" }],
                next: null,
              },
            }
          : { body: { results: [], next: null } },
  );
  await open("/ui/history");
  await screen.findByRole("link", { name: "Spring" });
  const search = screen.getByRole("searchbox", { name: "Search conversations" });
  for (const typed of ["t", "tu", "tulips & co"]) fireEvent.change(search, { target: { value: typed } });
  await screen.findByText("No conversation matches.");
  expect(asked.map(({ path }) => path).filter((path) => path.startsWith("/v1/conversations"))).toEqual([
    `/v1/conversations?user_id=${USER}&limit=50`,
    `/v1/conversations?user_id=${USER}&q=tulips+%26+co&limit=50`,
  ]);
  fireEvent.change(search, { target: { value: "" } });
  await screen.findByRole("link", { name: "Spring" });
});

test("the palette does what is chosen: the appearance, the language", async () => {
  await open("/ui/history");
  await command("dark");
  expect(document.documentElement.dataset.scheme).toBe("dark");
  await command("русский");
  await screen.findByRole("heading", { name: "История" });
  expect(document.documentElement.lang).toBe("ru");
});

test("a palette that breaks leaves the page as it is", async () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  serve(({ path }) =>
    path === "/ui/config.json"
      ? { body: { ...CONFIG, auth: "none", local_user_id: USER } }
      : path.endsWith("/events")
        ? { chunks: [], isOpen: true }
        : { body: { results: path.includes("limit=100") && path.includes("conversations") ? {} : [], next: null } },
  );
  await open("/ui/history");
  fireEvent.keyDown(window, { key: "k", ctrlKey: true });
  await screen.findByText("Reload the page");
  screen.getByRole("heading", { name: "History" });
});

test("what waits is counted in the bar above the page, by a number that says what it counts", async () => {
  serve(({ path }) =>
    path === "/ui/config.json"
      ? { body: { ...CONFIG, auth: "none", local_user_id: USER } }
      : path.endsWith("/events")
        ? { chunks: [], isOpen: true }
        : { body: { results: path.startsWith("/v1/actions") ? [{ id: "1" }, { id: "2" }] : [], next: null } },
  );
  await open("/ui/history");
  const [menu, bar] = await screen.findAllByRole("link", { name: "2 actions wait" });
  expect([menu!.textContent, bar!.textContent]).toEqual(["2 actions wait", "2"]);
});
