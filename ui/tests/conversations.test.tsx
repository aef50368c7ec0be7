// Conversations on the left: pinned first, archived apart, a menu for each; and one that is temporary.

import { cleanup, fireEvent, screen, waitFor, within } from "@testing-library/react";
import { afterEach, beforeEach, expect, test } from "vitest";

import { chooseLanguage } from "../src/texts";
import { open, prepareBrowser } from "./page";
import { type Asked, CONFIG, type Reply, serve } from "./server";

const USER = "00000000-0000-4000-8000-000000000001";
const AT = "2026-11-05T10:00:00Z";
const conversation = (id: string, changes: object = {}) => ({
  id,
  title: id,
  is_pinned: false,
  is_archived: false,
  is_remembered: true,
  updated_at: AT,
  assistant: "mentor",
  mode: "auto",
  ...changes,
});
const FOUND = {
  messages: 12,
  images: 1,
  schedules: 0,
  logs: 12,
  records: 6,
  facts: 2,
  answers: 1,
  reopened: 0,
  repeating: [{ request_id: "r", id: "a", created_at: AT, answer: "Your boat is called Zephyr." }],
  doubtful: [],
  doubtful_runs: 0,
};
const EMPTY = { body: { results: [], next: null } };

let asked: Asked[];
let deletion: () => Reply;
beforeEach(() => {
  deletion = () => ({ body: FOUND });
  prepareBrowser();
  chooseLanguage("en");
  asked = serve(({ method, path }) => {
    if (path === "/ui/config.json") return { body: { ...CONFIG, auth: "none", local_user_id: USER } };
    if (path.endsWith("/events")) return { chunks: [], isOpen: true };
    if (method === "DELETE") return deletion();
    if (path.includes("archived=true"))
      return { body: { results: [conversation("old", { is_archived: true })], next: null } };
    if (path.startsWith("/v1/conversations?"))
      return { body: { results: [conversation("boats", { is_pinned: true }), conversation("trips")], next: null } };
    if (path === "/v1/conversations/secret") return { body: conversation("secret", { is_remembered: false }) };
    return path === "/v1/runs" && method === "POST" ? { body: { request_id: "r" } } : EMPTY;
  });
});
afterEach(cleanup);

const nav = () => within(screen.getByRole("navigation"));
const choose = async (title: string, command: string) => {
  fireEvent.click(await nav().findByRole("button", { name: `More for the conversation ${title}` }));
  fireEvent.click(screen.getByRole("menuitem", { name: command }));
};
const sent = () => asked.filter(({ method }) => method !== "GET").map(({ method, path, body }) => [method, path, body]);

test("pinned ones stand first, and the archived ones apart", async () => {
  await open("/ui/history");
  expect((await nav().findAllByRole("heading")).map((one) => one.textContent)).toEqual(["Pinned", "Older"]);
  fireEvent.click(nav().getByRole("button", { name: "Archived conversations" }));
  await nav().findByRole("link", { name: "old" });
  expect(nav().queryByRole("link", { name: "trips" })).toBeNull();
  await choose("old", "Bring back");
  await waitFor(() => expect(sent()).toEqual([["PATCH", "/v1/conversations/old", { is_archived: false }]]));
});

test("the menu is walked by the arrows, and Escape gives the focus back", async () => {
  await open("/ui/history");
  const button = await nav().findByRole("button", { name: "More for the conversation trips" });
  fireEvent.click(button);
  const at = () => document.activeElement?.textContent;
  const press = (key: string) => fireEvent.keyDown(document.activeElement!, { key });
  expect(at()).toBe("Rename");
  press("ArrowDown");
  expect(at()).toBe("Pin");
  press("ArrowUp");
  press("ArrowUp");
  expect(at()).toBe("Delete");
  press("ArrowDown");
  expect(at()).toBe("Rename");
  press("Escape");
  expect(document.activeElement).toBe(button);
  expect(screen.queryByRole("menu")).toBeNull();
});

test("one is renamed and pinned where it stands", async () => {
  await open("/ui/history");
  await choose("trips", "Pin");
  await choose("trips", "Rename");
  const field = screen.getByRole("textbox", { name: "Rename the conversation" });
  fireEvent.change(field, { target: { value: "Voyages" } });
  fireEvent.submit(field);
  await waitFor(() =>
    expect(sent()).toEqual([
      ["PATCH", "/v1/conversations/trips", { is_pinned: true }],
      ["PATCH", "/v1/conversations/trips", { title: "Voyages" }],
    ]),
  );
});

test("what goes with one is said by number, then it goes, and its page with it", async () => {
  await open("/ui/c/boats");
  await choose("boats", "Delete");
  const dialog = within(await screen.findByRole("dialog"));
  await dialog.findByText(/12 messages.*1 image.*6 summaries, 2 facts, and 1 answer elsewhere that repeats it\./);
  dialog.getByText(/Your boat is called Zephyr/);
  expect(sent()).toEqual([["DELETE", "/v1/conversations/boats?preview=true", null]]);
  fireEvent.click(dialog.getByRole("button", { name: "Delete" }));
  await dialog.findByText(/^Deleted: 12 messages/);
  expect(sent()[1]).toEqual(["DELETE", "/v1/conversations/boats?preview=false", null]);
  fireEvent.click(dialog.getByText("Close"));
  await waitFor(() => expect(window.location.pathname).toBe("/ui/"));
});

test("deleting waits until the last answer is in memory", async () => {
  const busy = { status: 409, body: { error: { code: "in_use", message: "not finished" } } };
  deletion = () => (asked.filter(({ method }) => method === "DELETE").length > 1 ? { body: FOUND } : busy);
  await open("/ui/history");
  await choose("trips", "Delete");
  await screen.findByText("Waiting until the last answer is saved to memory.");
  await screen.findByText(/12 messages.*1 image/, {}, { timeout: 3000 });
});

test("a temporary conversation says so from before its first question on", async () => {
  await open("/ui/");
  fireEvent.click(await screen.findByRole("checkbox", { name: "Temporary conversation" }));
  screen.getByText(/^What is said here is not remembered/);
  fireEvent.change(screen.getByRole("textbox", { name: "Message" }), { target: { value: "Hush" } });
  fireEvent.click(screen.getByRole("button", { name: "Send" }));
  await waitFor(() => expect(sent()[0]?.[2]).toMatchObject({ query: "Hush", is_remembered: false }));
  screen.getByText(/^What is said here is not remembered/);
  cleanup();
  await open("/ui/c/secret");
  await screen.findByText(/^What is said here is not remembered/);
  screen.getByText("Temporary conversation");
  expect(screen.queryByRole("checkbox")).toBeNull();
});
