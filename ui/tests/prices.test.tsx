// Prices of models: changed in place, added and deleted.

import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, within } from "@testing-library/react";
import { afterEach, beforeEach, expect, test } from "vitest";

import { Prices } from "../src/admin/prices";
import { chooseLanguage } from "../src/texts";
import { prepareBrowser } from "./page";
import { type Asked, serve } from "./server";

const PRICE = {
  provider: "openai",
  model: "gpt-5",
  input: 1.25,
  cached: 0.125,
  output: 10,
  image: null,
  updated_at: "2026-01-01T00:00:00Z",
};

let asked: Asked[];
beforeEach(() => {
  chooseLanguage("en");
  prepareBrowser();
  let found: object[] = [PRICE];
  asked = serve(({ method, body }) => {
    if (method === "PUT") found = [{ ...PRICE, ...body }];
    if (method === "POST") found = [];
    return { body: { results: found } };
  });
  render(
    <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
      <Prices />
    </QueryClientProvider>,
  );
});
afterEach(cleanup);

const sent = () => asked.filter(({ method }) => method !== "GET").map(({ method, path, body }) => [method, path, body]);

test("a price is read when it is wanted, changed and deleted", async () => {
  expect(asked).toEqual([]);
  fireEvent.click(screen.getByText("Prices of models"));
  const row = (await screen.findByText("openai:gpt-5")).closest("tr")!;
  expect(row.textContent).toContain("1.250.12510–");
  fireEvent.click(within(row).getByRole("button", { name: "Change" }));
  expect(screen.getByLabelText<HTMLInputElement>("Model, or a pattern with %").value).toBe("gpt-5");
  fireEvent.change(screen.getByLabelText("Out, $ a million"), { target: { value: "12.5" } });
  fireEvent.click(screen.getByRole("button", { name: "Save" }));
  const changed = (await screen.findByText("12.5")).closest("tr")!;
  expect(screen.getByLabelText<HTMLInputElement>("Model, or a pattern with %").value).toBe("");
  fireEvent.click(within(changed).getByRole("button", { name: "Delete" }));
  const dialog = within(await screen.findByRole("dialog", { name: "Delete the price of openai:gpt-5?" }));
  fireEvent.click(dialog.getByRole("button", { name: "Delete" }));
  await screen.findByText("Prices of models");
  const { updated_at: _, ...amounts } = PRICE;
  await expect.poll(sent).toEqual([
    ["PUT", "/v1/admin/prices", { ...amounts, output: 12.5 }],
    ["POST", "/v1/admin/prices/drop", { provider: "openai", model: "gpt-5" }],
  ]);
});
