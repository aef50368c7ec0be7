// Quotas and rates: changed, refused with the server's words, and ended after a question.

import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { afterEach, beforeEach, expect, test } from "vitest";

import { LimitsPage } from "../src/admin/limits";
import { chooseLanguage } from "../src/texts";
import { prepareBrowser } from "./page";
import { type Asked, type Reply, serve } from "./server";

const MIB = 1024 * 1024;
const limit = (name: string, configured: number, set: object = {}) => ({
  name,
  description: name,
  value: configured,
  configured,
  minimum: 1,
  maximum: 10_000_000,
  changed_by: null,
  updated_at: null,
  ...set,
});
const BY = { changed_by: "jwt:root", updated_at: "2026-01-01T00:00:00Z" };
let asked: Asked[];
let refusal: Reply | null;
let images: object;

beforeEach(async () => {
  prepareBrowser();
  chooseLanguage("en");
  images = {};
  refusal = null;
  asked = serve(({ method, body }) => {
    if (method === "PUT" && refusal) return refusal;
    if (method === "PUT") images = { ...BY, value: (body as { value: number }).value };
    if (method === "DELETE") images = {};
    return { body: { results: [limit("user_images", 5000, images), limit("user_image_bytes", 256 * MIB)] } };
  });
  render(
    <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
      <LimitsPage />
    </QueryClientProvider>,
  );
  await screen.findByText("Images");
});
afterEach(cleanup);

const row = () => within(screen.getByText("Images", { selector: "button" }).closest("tr")!);
const sent = () => asked.filter(({ method }) => method !== "GET").map(({ method, path, body }) => [method, path, body]);
const save = (value: string) => {
  fireEvent.click(row().getByRole("button", { name: "Images" }));
  const dialog = within(screen.getByRole("dialog", { name: "Images" }));
  fireEvent.change(dialog.getByLabelText(/In force, for each user/), { target: { value } });
  fireEvent.click(dialog.getByRole("button", { name: "Save" }));
  return dialog;
};

test("a quota takes the place of the settings, says who has set it, and is ended", async () => {
  screen.getAllByText("256 MB");
  save("70");
  await waitFor(() => expect(row().getByText(/jwt:root/)).toBeTruthy());
  expect(screen.queryByRole("dialog")).toBeNull();
  expect(row().getByText("70")).toBeTruthy();
  fireEvent.click(row().getByRole("button", { name: "As in the settings" }));
  const dialog = within(screen.getByRole("dialog"));
  dialog.getByText("Within seconds, 5,000 is in force again.");
  fireEvent.click(dialog.getByRole("button", { name: "As in the settings" }));
  await waitFor(() => expect(row().queryByText(/jwt:root/)).toBeNull());
  expect(sent()).toEqual([
    ["PUT", "/v1/admin/limits/user_images", { value: 70 }],
    ["DELETE", "/v1/admin/limits/user_images", null],
  ]);
});

test("what the server refuses stays open with its words", async () => {
  const message = "value: user_images must be between 1 and 10000000";
  refusal = { status: 422, body: { error: { code: "invalid_request", message } } };
  const dialog = save("9");
  expect(await dialog.findByText(message)).toBeTruthy();
  expect(row().getAllByText("5,000")).toHaveLength(2);
});
