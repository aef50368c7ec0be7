// A link to a conversation: made, shown once, revoked; and the page of whoever has it.

import { cleanup, fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { afterEach, beforeEach, expect, test } from "vitest";

import { App } from "../src/app";
import { chooseLanguage } from "../src/texts";
import { open, prepareBrowser } from "./page";
import { type Asked, CONFIG, type Reply, serve } from "./server";

const USER = "00000000-0000-4000-8000-000000000001";
const AT = "2026-11-05T10:00:00Z";
const TOKEN = "q7Zk2m0Hn3yXc9VbT1sR4w";
const LINK = { id: "l", conversation_id: "c", title: "Boats", has_evidence: true, created_at: AT, expires_at: AT };
const CONVERSATION = { id: "c", title: "Boats", is_remembered: true, updated_at: AT };
const message = (role: string, content: string, evidence: object[] = []) => ({
  role,
  content,
  evidence,
  agent: null,
  images: 0,
  created_at: AT,
});

let asked: Asked[];
let links: object[];
let days: number;
let shared: (asked: Asked) => Reply;
beforeEach(() => {
  prepareBrowser();
  chooseLanguage("en");
  links = [];
  days = 30;
  asked = serve((one) => {
    const { method, path } = one;
    if (path === "/ui/config.json") return { body: { ...CONFIG, auth: "none", local_user_id: USER, link_days: days } };
    if (path.endsWith("/events")) return { chunks: [], isOpen: true };
    if (path === "/v1/shared") return shared(one);
    if (method === "DELETE") return { status: 204 };
    if (path.startsWith("/v1/links")) return { body: { results: links } };
    if (path.endsWith("/links")) return { status: 201, body: { ...LINK, token: TOKEN } };
    if (path.startsWith("/v1/conversations?")) return { body: { results: [CONVERSATION], next: null } };
    return { body: { results: [], next: null } };
  });
});
afterEach(cleanup);

const openMenu = async () =>
  fireEvent.click(await screen.findByRole("button", { name: "More for the conversation Boats" }));
const sent = () => asked.filter(({ method }) => method !== "GET").map(({ method, path, body }) => [method, path, body]);

test("a link is made as it was chosen, shown once, and revoked", async () => {
  await open("/ui/history");
  await openMenu();
  fireEvent.click(screen.getByRole("menuitem", { name: "Share" }));
  const dialog = within(await screen.findByRole("dialog", { name: "Share this conversation" }));
  fireEvent.click(dialog.getByRole("checkbox", { name: /memories that its answers cite/ }));
  const lasts = dialog.getByRole("combobox", { name: "The link lasts" }) as HTMLSelectElement;
  expect([lasts.value, ...[...lasts.options].map((one) => one.text)]).toEqual(["7", "1 day", "7 days", "30 days"]);
  fireEvent.change(lasts, { target: { value: "30" } });
  links = [LINK];
  fireEvent.click(dialog.getByRole("button", { name: "Create the link" }));
  const field = (await dialog.findByRole("textbox", { name: "Link" })) as HTMLInputElement;
  expect(field.value).toBe(`${window.location.origin}/ui/shared#${TOKEN}`);
  fireEvent.click(await dialog.findByRole("button", { name: "Revoke" }));
  const question = screen.getByRole("dialog", { name: "Revoke this link?" });
  fireEvent.click(within(question).getByRole("button", { name: "Revoke" }));
  await waitFor(() =>
    expect(sent()).toEqual([
      ["POST", "/v1/conversations/c/links", { days: 30, evidence: false }],
      ["DELETE", "/v1/links/l", null],
    ]),
  );
  await dialog.findByRole("button", { name: "Create the link" }); // what leads nowhere is not shown to be copied
  expect(dialog.queryByRole("textbox", { name: "Link" })).toBeNull();
});

test("where links are off nothing speaks of them", async () => {
  days = 0;
  await open("/ui/history");
  await openMenu();
  screen.getByRole("menuitem", { name: "Delete" });
  expect(screen.queryByRole("menuitem", { name: "Share" })).toBeNull();
});

function visit(token: string) {
  window.history.replaceState(null, "", `/ui/shared#${token}`);
  render(<App />);
}

test("whoever has the link reads without signing in, page by page, and nothing else is asked for", async () => {
  const cited = { number: 3, speaker: "user", said_at: AT, text: "Her boat is <b>Zephyr</b>." };
  const pages = [
    { messages: [message("user", "What is it called?")], next: 100 },
    { messages: [message("assistant", "Zephyr [3].", [cited])], next: null },
  ];
  shared = ({ body }) => ({
    body: {
      title: "Boats",
      assistant: "mentor",
      assistant_title: "Mentor",
      shared_at: AT,
      expires_at: AT,
      ...pages[body.after / 100],
    },
  });
  visit(TOKEN);
  await screen.findByRole("heading", { name: "Boats" });
  screen.getByText("What is it called?");
  fireEvent.click(screen.getByRole("button", { name: "Show more" }));
  await screen.findByText(/1 memory that it cites/);
  screen.getByText("Her boat is <b>Zephyr</b>.");
  expect(asked.map(({ path, body, credential }) => [path, body, credential])).toEqual([
    ["/v1/shared", { token: TOKEN, after: 0 }, null],
    ["/v1/shared", { token: TOKEN, after: 100 }, null],
  ]);
});

test("who has said something is named without what turns the text around, and what cannot be read is said", async () => {
  const cited = { number: 3, speaker: "An\u202en", said_at: AT, text: "Her boat." };
  shared = ({ body }) =>
    body.after
      ? { status: 503, body: { error: { code: "unavailable", message: "not now" } } }
      : {
          body: {
            title: "Boats",
            assistant: "mentor",
            assistant_title: "Mentor",
            shared_at: AT,
            expires_at: AT,
            messages: [message("assistant", "Zephyr [3].", [cited])],
            next: 100,
          },
        };
  visit(TOKEN);
  expect((await screen.findByText("Her boat.")).closest("li")!.textContent).not.toContain("\u202e");
  fireEvent.click(screen.getByRole("button", { name: "Show more" }));
  await screen.findByRole("alert");
});

test("a link that was revoked says so", async () => {
  shared = () => ({ status: 404, body: { error: { code: "not_found", message: "leads nowhere" } } });
  visit(TOKEN);
  await screen.findByText("This link leads nowhere: it was revoked, or it has expired.");
  screen.getByText("Ask whoever sent it for another one.");
});

test.each(["", "gone", `${TOKEN}x`])("of a link that cannot be one, the server is not asked: #%s", async (token) => {
  visit(token);
  await screen.findByText("This link leads nowhere: it was revoked, or it has expired.");
  screen.getByText("MaaS"); // whose page this is
  expect(asked.filter(({ path }) => path === "/v1/shared")).toEqual([]);
});
