// An operator makes an account for somebody: the link that sets its password is shown once.

import { cleanup, fireEvent, screen, waitFor, within } from "@testing-library/react";
import { afterEach, beforeEach, expect, test } from "vitest";

import { session } from "../src/session/session";
import { chooseLanguage } from "../src/texts";
import { openDesk, prepareBrowser } from "./page";
import { type Asked, CONFIG, serve, tokensOf } from "./server";

const EVE = "00000000-0000-4000-8000-00000000000e";
const ROOT = { ...tokensOf("root"), user: { ...tokensOf("root").user, app_metadata: { is_admin: true } } };

let asked: Asked[];
let config: object;
let isKnown: boolean;
beforeEach(() => {
  prepareBrowser();
  chooseLanguage("en");
  config = { ...CONFIG, is_signup_open: false };
  isKnown = false;
  asked = serve(({ path }) => {
    if (path === "/ui/config.json") return { body: config };
    if (path.startsWith("/auth/v1/token")) return { body: ROOT };
    if (path !== "/v1/admin/accounts") return { body: { results: [], next: null } };
    return isKnown
      ? { status: 409, body: { error: { code: "conflict", message: "eve@example.org has an account already" } } }
      : { status: 201, body: { user_id: EVE, url_path: "/ui/reset#token=once" } };
  });
});
afterEach(async () => {
  cleanup();
  await session.signOut();
});

const lists = () => asked.filter(({ path }) => path.startsWith("/v1/admin/users?")).length;

async function invite() {
  await session.start();
  await session.signIn("root@example.org", "a cello");
  openDesk("/admin/users");
  fireEvent.click(await screen.findByText("Invite a person"));
  fireEvent.change(screen.getByLabelText("Email"), { target: { value: " eve@example.org " } });
  fireEvent.click(screen.getByRole("button", { name: "Create the account" }));
}

test("the link is shown once, and the users are read again", async () => {
  await invite();
  screen.getByText(/Sign-up is closed/);
  const dialog = await screen.findByRole("dialog");
  within(dialog).getByText(`${window.location.origin}/ui/reset#token=once`);
  expect(within(dialog).getByRole("link", { name: "User" }).getAttribute("href")).toBe(`/admin/users/${EVE}`);
  expect(asked.find(({ method, path }) => method === "POST" && path === "/v1/admin/accounts")!.body).toEqual({
    email: "eve@example.org",
    name: null,
  });
  await waitFor(() => expect(lists()).toBe(2));
  fireEvent.click(within(dialog).getByRole("button", { name: "Close" }));
  await waitFor(() => expect(screen.queryByText(/token=once/)).toBeNull());
});

test("why there is no account is said, and what was typed stays", async () => {
  isKnown = true;
  await invite();
  expect((await screen.findByRole("alert")).textContent).toContain("has an account already");
  expect(screen.getByLabelText<HTMLInputElement>("Email").value).toContain("eve@example.org");
});

test("where people sign in elsewhere, nobody is invited", async () => {
  config = { ...CONFIG, auth: "none", local_user_id: EVE };
  await session.start();
  openDesk("/admin/users");
  await screen.findByRole("heading", { name: "Users" });
  expect(screen.queryByText("Invite a person")).toBeNull();
});
