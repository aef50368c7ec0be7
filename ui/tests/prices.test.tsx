// Prices of models: changed in place, added and deleted.

import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, within } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

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

const nameOf = ({ provider, model }: typeof PRICE) => `${provider}:${model}`;

const inView = vi.fn(function (this: HTMLElement) {
  return this.dataset.row;
});
let asked: Asked[];
beforeEach(() => {
  HTMLElement.prototype.scrollIntoView = inView;
  chooseLanguage("en");
  prepareBrowser();
  let found = [PRICE];
  asked = serve(({ method, body }) => {
    if (method === "PUT") found = [...found.filter((one) => nameOf(one) !== nameOf(body)), { ...PRICE, ...body }];
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

test("after a price is saved the form is empty for the next one, and its row is in view", async () => {
  const field = (name: string) => screen.getByLabelText<HTMLInputElement>(name);
  fireEvent.click(screen.getByText("Prices of models"));
  await screen.findByText("openai:gpt-5");
  for (const [name, value] of [
    ["Provider", "local"],
    ["Model, or a pattern with %", "llama"],
    ["In, $ a million", "1"],
    ["Out, $ a million", "2"],
  ] as const)
    fireEvent.change(field(name), { target: { value } });
  fireEvent.click(screen.getByRole("button", { name: "Save" }));
  await screen.findByText("Saved: local:llama");
  expect(screen.getAllByRole<HTMLInputElement>("textbox").map(({ value }) => value)).toEqual(["", ""]);
  expect(field("In, $ a million").value).toBe("");
  expect(document.activeElement).toBe(field("Provider"));
  expect(screen.getAllByRole("row")[1]!.dataset.row).toBe("local:llama"); // beneath the form
  await expect.poll(() => inView.mock.results.map(({ value }) => value)).toContain("local:llama");
});
