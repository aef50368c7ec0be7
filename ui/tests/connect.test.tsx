// An app asks to be connected: who it is, what it wants, where it sends people; and the list of those that are.

import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { Apps } from "../src/parts/apps";
import { chooseLanguage } from "../src/texts";
import { open, prepareBrowser } from "./page";
import { type Asked, CONFIG, type Reply, serve } from "./server";

const USER = "00000000-0000-4000-8000-000000000001";
const AT = "2026-11-05T10:00:00Z";
const BACK = "https://app.example/callback";
const ASKING = {
  name: "Edi\u202etor <b>",
  document_host: "apps.example",
  redirect_kind: "site",
  redirect_to: "app.example",
  scopes: ["read", "ask"],
  problem: null,
  refusal_url: `${BACK}?error=access_denied`,
};
const APP = { ...ASKING, id: "a", name: "Editor", created_at: AT, renewed_at: AT, expires_at: AT };
const PLACE = "/ui/connect?client_id=c&redirect_uri=https%3A%2F%2Fapp.example%2Fcallback&state=s&next=evil";

let asked: Asked[];
let preview: Reply;
beforeEach(() => {
  prepareBrowser();
  vi.spyOn(console, "error").mockReturnValue(); // jsdom goes to no other page
  chooseLanguage("en");
  preview = { body: ASKING };
  asked = serve(({ method, path }) => {
    if (path === "/ui/config.json") return { body: { ...CONFIG, auth: "none", local_user_id: USER } };
    if (path.endsWith("/events")) return { chunks: [], isOpen: true };
    if (path === "/v1/apps/preview") return preview;
    if (method === "DELETE") return { status: 204 };
    if (method === "POST" && path === "/v1/apps") return { status: 201, body: { redirect_url: `${BACK}?code=x` } };
    if (path.startsWith("/v1/apps?")) return { body: { results: [APP] } };
    return { body: { results: [], next: null } };
  });
});
afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

const sent = () => asked.filter(({ method }) => method !== "GET").map(({ method, path, body }) => [method, path, body]);

test("a person sees who asks for what, and nothing happens before their yes", async () => {
  await open(PLACE);
  const main = within(await screen.findByRole("main"));
  const asks = await main.findByText(/asks to use MaaS for you/);
  expect(asks.textContent).not.toContain("\u202e");
  expect(asks.innerHTML).toContain("&lt;b&gt;");
  expect(main.getAllByRole("listitem")).toHaveLength(2);
  expect(main.getByText("You go back to: app.example")).toBeTruthy();
  expect(main.getByText("The name is from: apps.example")).toBeTruthy();
  expect(main.getByRole("link", { name: "Do not allow" }).getAttribute("href")).toBe(ASKING.refusal_url);
  const request = { client_id: "c", redirect_uri: BACK, state: "s" };
  expect(sent()).toEqual([["POST", "/v1/apps/preview", request]]);
  fireEvent.click(main.getByRole("button", { name: "Allow" }));
  const link = await main.findByRole("link", { name: "app.example" });
  expect(link.getAttribute("href")).toBe(`${BACK}?code=x`);
  expect(sent().at(-1)).toEqual(["POST", "/v1/apps", request]);
});

test("an app that asks for too much is not connected, and nobody is sent anywhere by itself", async () => {
  preview = { body: { ...ASKING, redirect_kind: "computer", problem: "invalid_scope" } };
  await open(PLACE);
  expect(await screen.findByText(/asks for what it cannot get \(invalid_scope\)/)).toBeTruthy();
  const link = screen.getByRole("link", { name: "Go back to: a program on this computer" });
  expect(link.getAttribute("href")).toBe(ASKING.refusal_url);
  expect(screen.queryByRole("button", { name: "Allow" })).toBeNull();
});

test("an unknown app gets no button at all", async () => {
  preview = { status: 422, body: { error: { code: "invalid_request", message: "client_id: is not registered here" } } };
  await open(PLACE);
  expect(await screen.findByText(/is not registered here/)).toBeTruthy();
  expect(screen.queryByRole("button", { name: "Allow" })).toBeNull();
});

test("who comes without an app is told what the page is for", async () => {
  await open("/ui/connect");
  expect(await screen.findByText(/^An app opens this page/)).toBeTruthy();
  expect(screen.getByRole("link", { name: "Go to the start page" }).getAttribute("href")).toBe("/ui/");
  expect(sent()).toEqual([]);
});

test("a connected app is listed and disconnected", async () => {
  render(
    <QueryClientProvider client={new QueryClient()}>
      <Apps userId={USER} />
    </QueryClientProvider>,
  );
  const list = within(await screen.findByRole("list", { name: "Connected apps" }));
  expect(list.getByText("reads, asks and changes")).toBeTruthy();
  fireEvent.click(list.getByRole("button", { name: "Disconnect" }));
  const dialog = within(await screen.findByRole("dialog", { name: "Disconnect Editor?" }));
  fireEvent.click(dialog.getByRole("button", { name: "Disconnect" }));
  await waitFor(() => expect(sent()).toEqual([["DELETE", "/v1/apps/a", null]]));
});
