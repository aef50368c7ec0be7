// Budgets that operators set: whose they are, saved, and ended after a question.

import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { afterEach, beforeEach, expect, test } from "vitest";

import { Budget } from "../src/admin/budget";
import { chooseLanguage } from "../src/texts";
import { prepareBrowser } from "./page";
import { type Asked, serve } from "./server";

const USER = "00000000-0000-4000-8000-00000000000a";
const SETTINGS = { daily_tokens: 5000, daily_dollars: null, is_own: false, changed_by: null, updated_at: null };

let asked: Asked[];
let found: object;
beforeEach(() => {
  chooseLanguage("en");
  prepareBrowser();
  found = SETTINGS;
  asked = serve(({ method, body }) => {
    if (method === "DELETE") {
      found = SETTINGS;
      return { status: 204 };
    }
    if (method === "PUT") found = { ...body, is_own: true, changed_by: "jwt:root", updated_at: "2026-01-01T00:00:00Z" };
    return { body: found };
  });
});
afterEach(cleanup);

const show = (userId: string | null) =>
  render(
    <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
      <Budget userId={userId} />
    </QueryClientProvider>,
  );
const sent = () => asked.filter(({ method }) => method !== "GET").map(({ method, path, body }) => [method, path, body]);

test("a budget of a user takes the place of the settings, and is ended", async () => {
  show(USER);
  fireEvent.click(await screen.findByText("Daily budget of this user: 5,000 tokens"));
  expect(screen.getByText(/^From the settings of the server\./)).toBeTruthy();
  expect(screen.queryByRole("button", { name: "End this budget" })).toBeNull();
  fireEvent.change(screen.getByLabelText("Tokens a day"), { target: { value: "" } });
  fireEvent.change(screen.getByLabelText("Dollars a day"), { target: { value: "2.5" } });
  fireEvent.click(screen.getByRole("button", { name: "Save" }));
  await screen.findByText("Daily budget of this user: $2.5");
  expect(screen.getByText(/^Set by jwt:root/)).toBeTruthy();
  fireEvent.click(screen.getByRole("button", { name: "End this budget" }));
  fireEvent.click(within(screen.getByRole("dialog")).getByRole("button", { name: "End this budget" }));
  await screen.findByText("Daily budget of this user: 5,000 tokens");
  const path = `/v1/admin/users/${USER}/budget`;
  expect(sent()).toEqual([
    ["PUT", path, { daily_tokens: null, daily_dollars: 2.5 }],
    ["DELETE", path, null],
  ]);
});

test("without a user it is that of all", async () => {
  show(null);
  await screen.findByText("Daily budget of every user: 5,000 tokens");
  fireEvent.change(screen.getByLabelText("Tokens a day"), { target: { value: "9000" } });
  fireEvent.click(screen.getByRole("button", { name: "Save" }));
  await waitFor(() =>
    expect(sent()).toEqual([["PUT", "/v1/admin/budget", { daily_tokens: 9000, daily_dollars: null }]]),
  );
});
