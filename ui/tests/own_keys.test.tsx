// A person's own keys: made with the scopes that were chosen, shown once, revoked after a question.

import { cleanup, fireEvent, screen, waitFor, within } from "@testing-library/react";
import { afterEach, beforeEach, expect, test } from "vitest";

import { session } from "../src/session/session";
import { chooseLanguage } from "../src/texts";
import { open, openDesk, prepareBrowser } from "./page";
import { type Asked, CONFIG, idOf, serve, tokensOf } from "./server";

const ANN = idOf("ann");
const AT = "2026-01-02T03:04:00Z";
const KEY = {
  id: "0123456789ab",
  name: "notes",
  scopes: ["read"],
  state: "active",
  created_at: AT,
  expires_at: null,
  last_used_at: null,
};

const asAdmin = { ...tokensOf("ann"), user: { ...tokensOf("ann").user, app_metadata: { is_admin: true } } };

let asked: Asked[];
let found: object[];
beforeEach(async () => {
  chooseLanguage("en");
  prepareBrowser();
  found = [];
  asked = serve(({ method, path }) => {
    if (path === "/ui/config.json") return { body: CONFIG };
    if (path.startsWith("/auth/v1/token")) return { body: asAdmin };
    if (method === "DELETE") return { status: 204 };
    if (path.endsWith("/keys") && method === "POST") {
      found = [KEY];
      return { status: 201, body: { id: KEY.id, key: "maas_0123456789ab_secret" } };
    }
    if (path.endsWith("/keys")) return { body: { results: found } };
    if (path.endsWith("/events")) return { chunks: [], isOpen: true };
    if (path.startsWith("/v1/admin/users?"))
      return {
        body: { results: [{ user_id: ANN, names: [], name: "Ann", email: null, runs: 0, errors: 0, dollars: 0 }] },
      };
    if (path.endsWith("/budget"))
      return { body: { daily_tokens: null, daily_dollars: null, is_own: false, changed_by: null } };
    if (path.endsWith("/preferences")) return { body: { preferences: {} } };
    if (path.endsWith("/profile")) return { body: { name: "Ann", language: "en" } };
    if (path.endsWith("/spending"))
      return {
        body: { tokens: 0, dollars: 0, tokens_today: 0, dollars_today: 0, daily_tokens: null, daily_dollars: null },
      };
    return { body: { results: [], next: null } };
  });
  await session.start();
  await session.signIn("ann", "x");
});
afterEach(async () => {
  cleanup();
  await session.signOut();
});

const sent = () =>
  asked.filter(({ method, path }) => method !== "GET" && path.includes("/keys")).map((one) => [one.path, one.body]);

test("a key is made with what was chosen, shown once, and revoked after a question", async () => {
  await open("/ui/profile");
  await screen.findByText("There are no keys yet.");
  fireEvent.click(screen.getByText("Create a key", { selector: "summary" }));
  const form = within(screen.getByText("Create a key", { selector: "summary" }).closest("details")!);
  fireEvent.change(form.getByLabelText("Name"), { target: { value: "notes" } });
  fireEvent.click(form.getByLabelText("ask: send requests, change memory"));
  fireEvent.change(form.getByLabelText("Expires after days"), { target: { value: "30" } });
  fireEvent.click(form.getByRole("button", { name: "Create a key" }));
  const dialog = await screen.findByRole("dialog");
  expect(dialog.textContent).toContain("maas_0123456789ab_secret");
  expect(sent()).toEqual([[`/v1/users/${ANN}/keys`, { name: "notes", scopes: ["read"], days: 30 }]]);
  fireEvent.click(within(dialog).getByRole("button", { name: "Close" }));
  const row = (await screen.findByText("notes")).closest("li")!;
  expect(row.textContent).toContain("never used");
  expect(document.body.textContent).not.toContain("_secret");
  fireEvent.click(within(row).getByRole("button", { name: "Revoke" }));
  expect(sent()).toHaveLength(1);
  fireEvent.click(within(screen.getByRole("dialog")).getByRole("button", { name: "Revoke" }));
  await waitFor(() => expect(sent()[1]).toEqual([`/v1/users/${ANN}/keys/${KEY.id}`, null]));
});

test("who signs in with a key makes no others", async () => {
  await session.signOut();
  serve(({ path }) => {
    if (path === "/ui/config.json") return { body: { ...CONFIG, auth: "keys" } };
    if (path === "/v1/caller") return { body: { user_id: ANN, scopes: ["ask", "read"], prefix: null, name: "key:x" } };
    if (path.endsWith("/events")) return { chunks: [], isOpen: true };
    if (path.endsWith("/preferences")) return { body: { preferences: {} } };
    if (path.endsWith("/profile")) return { body: { name: "Ann", language: "en" } };
    if (path.endsWith("/spending"))
      return {
        body: { tokens: 0, dollars: 0, tokens_today: 0, dollars_today: 0, daily_tokens: null, daily_dollars: null },
      };
    return { body: { results: [], next: null } };
  });
  await session.start();
  await session.signInWithKey("maas_0123456789ab_secret", "");
  await open("/ui/profile");
  await screen.findByText("Daily budget: none");
  expect(screen.queryByRole("heading", { name: "API keys" })).toBeNull();
});

test("an operator sees the keys of a user beside what else there is of them", async () => {
  found = [{ ...KEY, state: "revoked" }];
  openDesk(`/admin/users/${ANN}`);
  const row = (await screen.findByText("notes")).closest("li")!;
  expect(row.textContent).toContain("revoked");
  expect(within(row).queryByRole("button")).toBeNull();
  expect(asked.some(({ path }) => path.startsWith("/v1/admin/keys"))).toBe(false);
});
