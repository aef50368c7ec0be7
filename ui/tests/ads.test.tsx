// Connecting a business: a token is checked, accounts are chosen, and what is being read and what is missing is said.

import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, within } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import type { AdsState } from "../src/api/types";
import { AdsConnections } from "../src/parts/ads";
import { session } from "../src/session/session";
import { chooseLanguage } from "../src/texts";
import { open, openDesk, prepareBrowser } from "./page";
import { ASSISTANTS, type Asked, CONFIG, type Reply, serve } from "./server";

const USER = "00000000-0000-4000-8000-000000000001";
const OTHER = "00000000-0000-4000-8000-000000000002";
const TOKEN = "EAAB0123456789";
const CONNECTION = {
  service: "Facebook" as const,
  id: "act_1",
  title: "Kitchens",
  currency: "USD",
  timezone: "Asia/Almaty",
  token_ends_at: null,
  synced_at: "2026-11-20T09:00:00Z",
  is_syncing: false,
  is_waiting: false,
  next_sync_at: null,
  progress: { ads: 40 },
  error: null,
  problems: [],
};
const EMPTY: AdsState = { businesses: [], crm_url: null, whatsapp: "administrators" };
const KITCHENS: AdsState = {
  businesses: [{ id: "b", name: "Kitchens", connections: [CONNECTION], missing: ["amoCRM", "directions"] }],
  crm_url: "https://kitchens.amocrm.ru",
  whatsapp: "open",
};
const FACEBOOK = {
  accounts: [
    { id: "act_1", name: "Kitchens", currency: "USD", timezone: "Asia/Almaty", can_run_ads: true },
    { id: "act_2", name: "Wardrobes", currency: "KZT", timezone: "Asia/Almaty", can_run_ads: false },
  ],
  missing_permissions: ["leads_retrieval"],
  permissions_unknown: null,
  token_ends_at: "2026-12-01T00:00:00Z",
};

let asked: Asked[];
let state: AdsState;
let check: Reply;
beforeEach(async () => {
  prepareBrowser();
  state = EMPTY;
  check = { body: { facebook: FACEBOOK, crm: { stages: 5, currency: "KZT", token_ends_at: null } } };
  asked = serve(({ method, path }) => {
    if (path === "/ui/config.json") return { body: { ...CONFIG, auth: "none", local_user_id: USER } };
    if (path === "/v1/assistants")
      return { body: { results: [...ASSISTANTS.body.results, { name: "ads", title: "Advertising" }] } };
    if (path.endsWith("/ads/check")) return check;
    if (method === "POST" && path.includes("/ads/")) state = KITCHENS;
    if (path.includes("/ads")) return { body: state };
    return { body: { results: [], next: null } };
  });
  chooseLanguage("en");
  await session.start();
});
afterEach(cleanup);

const sent = () => asked.filter(({ method }) => method === "POST").map(({ path, body }) => [path, body]);
function show() {
  render(
    <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
      <AdsConnections userId={USER} />
    </QueryClientProvider>,
  );
}
const type = (label: string, value: string, at = 0) =>
  fireEvent.change(screen.getAllByLabelText(label)[at]!, { target: { value } });
const press = (name: string) => fireEvent.click(screen.getByRole("button", { name }));

test("a token is checked, what it lacks is said, and the accounts that are chosen are connected", async () => {
  show();
  await screen.findByText("No business is connected yet.");
  expect(screen.getByText("An administrator connects the telephone.")).toBeTruthy();
  type("Name of the businessA new name makes a new business.", " Kitchens ");
  type("Access token of a system user", ` ${TOKEN} `);
  press("Check the token");
  expect(await screen.findByText(/no permission leads_retrieval: leads by forms are not read/)).toBeTruthy();
  expect(screen.getByText(/The token ends on December 1, 2026/)).toBeTruthy();
  expect(screen.getByText(/act_2, KZT, Asia\/Almaty, cannot run ads now/)).toBeTruthy();
  press("Connect what is chosen");
  expect(await screen.findByText("Choose an ad account.")).toBeTruthy();
  fireEvent.click(screen.getByRole("checkbox", { name: /Kitchens/ }));
  press("Connect what is chosen");
  expect(await screen.findByText("1 ad account is connected.")).toBeTruthy();
  expect(sent()).toEqual([
    [`/v1/users/${USER}/ads/check`, { facebook: { token: TOKEN } }],
    [`/v1/users/${USER}/ads/connections`, { business: "Kitchens", facebook: { token: TOKEN, accounts: ["act_1"] } }],
  ]);
  expect(document.body.innerHTML).not.toContain(TOKEN);
  expect(screen.getByLabelText<HTMLInputElement>("Access token of a system user").value).toBe("");
});

test("a token that the service refuses is told in its words, and can be corrected", async () => {
  check = { status: 400, body: { error: { code: "bad_parameter", message: "nothing was stored: Facebook says no" } } };
  show();
  await screen.findByText("No business is connected yet.");
  type("Access token of a system user", TOKEN);
  press("Check the token");
  expect(await screen.findByText("nothing was stored: Facebook says no")).toBeTruthy();
  expect(screen.getByRole("button", { name: "Check the token" })).toBeTruthy();
});

test("without a name nothing is connected", async () => {
  show();
  await screen.findByText("No business is connected yet.");
  type("Address of amoCRM", "https://kitchens.amocrm.ru");
  type("Long-lived token", TOKEN);
  press("Check and connect amoCRM");
  expect(await screen.findByText("Name the business first.")).toBeTruthy();
  expect(sent()).toEqual([]);
});

test("what is set up, what is missing and how far a reading is; it can be asked for", async () => {
  const reading = { ...CONNECTION, id: "b", service: "amoCRM" as const, is_syncing: true, progress: { leads: 1200 } };
  const broken = {
    ...CONNECTION,
    id: "act_2",
    title: "Wardrobes",
    problems: ["token_ends" as const, "failed" as const],
    token_ends_at: "2026-12-01T00:00:00Z",
    error: "Facebook does not permit this",
  };
  state = { ...KITCHENS, businesses: [{ ...KITCHENS.businesses[0]!, connections: [CONNECTION, broken, reading] }] };
  show();
  const card = within(await screen.findByRole("region", { name: "Kitchens" }));
  expect(card.getByText("is being read: leads 1,200")).toBeTruthy();
  expect(card.getAllByText("read last: ads 40")).toHaveLength(2);
  expect(card.getByText(/The token ends on December 1, 2026: store a new one/)).toBeTruthy();
  expect(card.getByText("Facebook does not permit this")).toBeTruthy();
  expect(card.getByText(/No direction is defined/)).toBeTruthy();
  expect(card.getByRole<HTMLButtonElement>("button", { name: "Read now" }).disabled).toBe(true);
  state = KITCHENS;
  await vi.waitFor(
    () => expect(card.getByRole<HTMLButtonElement>("button", { name: "Read now" }).disabled).toBe(false),
    {
      timeout: 5000,
    },
  );
  press("Read now");
  await vi.waitFor(() => expect(sent()).toEqual([[`/v1/users/${USER}/ads/sync`, { business_id: "b" }]]));
});

test("amoCRM answers before it is connected, and an instance is named where that is allowed", async () => {
  state = KITCHENS;
  show();
  await screen.findByRole("region", { name: "Kitchens" });
  type("Long-lived token", TOKEN);
  press("Check and connect amoCRM");
  expect(await screen.findByText(/amoCRM is connected: 5 stages, prices in KZT/)).toBeTruthy();
  type("Instance", "sales");
  check = { status: 400, body: { error: { code: "bad_parameter", message: "nothing was stored: no such instance" } } };
  press("Check and connect WhatsApp");
  expect(await screen.findByText(/no such instance/)).toBeTruthy();
  check = { body: { facebook: null, crm: null, whatsapp: { state: "close", is_linked: false } } };
  press("Check and connect WhatsApp");
  expect(await screen.findByText(/no telephone is linked to the instance: scan its QR code/)).toBeTruthy();
  const crm = { url: "https://kitchens.amocrm.ru", token: TOKEN };
  expect(sent()).toEqual([
    [`/v1/users/${USER}/ads/check`, { crm }],
    [`/v1/users/${USER}/ads/connections`, { business: "Kitchens", crm }],
    [`/v1/users/${USER}/ads/check`, { whatsapp: { instance: "sales" } }],
    [`/v1/users/${USER}/ads/check`, { whatsapp: { instance: "sales" } }],
    [`/v1/users/${USER}/ads/connections`, { business: "Kitchens", whatsapp: { instance: "sales" } }],
  ]);
});

test("the page is in the menu where the assistants are, and an operator names the user", async () => {
  await open("/ui/ads");
  expect(await screen.findByRole("heading", { name: "Advertising accounts" })).toBeTruthy();
  expect(await screen.findByRole("link", { name: "Advertising accounts" })).toBeTruthy();
  cleanup();
  openDesk("/admin/ads");
  expect(await screen.findByText(/Choose whose accounts they are/)).toBeTruthy();
  cleanup();
  openDesk(`/admin/ads?user=${OTHER}`);
  expect(await screen.findByText("No business is connected yet.")).toBeTruthy();
  expect(asked.some(({ path }) => path === `/v1/users/${OTHER}/ads`)).toBe(true);
});
