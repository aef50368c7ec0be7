// Somebody's conversation on the pages of administrators: read from top to bottom, earlier messages above.

import { cleanup, fireEvent, screen } from "@testing-library/react";
import { afterEach, expect, test } from "vitest";

import { session } from "../src/session/session";
import { chooseLanguage } from "../src/texts";
import { openDesk, prepareBrowser } from "./page";
import { CONFIG, serve } from "./server";

const ME = "00000000-0000-4000-8000-000000000001";
const message = (number: number) => ({
  id: `m${number}`,
  run_id: null,
  role: number % 2 ? "user" : "assistant",
  content: `Message ${number}.`,
  agent: null,
  attachment_ids: [],
  action_id: null,
  created_at: `2026-11-01T10:00:0${number}Z`,
});

afterEach(cleanup);

test("a conversation is read from its question to its answer, and earlier messages come above", async () => {
  prepareBrowser();
  serve(({ path }) => {
    if (path === "/ui/config.json") return { body: { ...CONFIG, auth: "none", local_user_id: ME } };
    if (path === "/v1/caller") return { body: { scopes: ["admin"], is_bound: false } };
    if (path.startsWith("/v1/conversations/c1/messages"))
      return path.includes("before=")
        ? { body: { results: [2, 1].map(message), next: null } }
        : { body: { results: [4, 3].map(message), next: "earlier" } };
    if (path === "/v1/conversations/c1") return { body: { id: "c1", user_id: ME, title: "Tea", assistant: "mentor" } };
    return { body: { results: [], next: null } };
  });
  chooseLanguage("en");
  await session.start();
  openDesk("/admin/conversations/c1");
  await screen.findByText("Message 4.");
  const shown = () => screen.getAllByText(/^Message \d\.$/).map((one) => one.textContent);
  expect(shown()).toEqual(["Message 3.", "Message 4."]);
  fireEvent.click(screen.getByRole("button", { name: "Earlier messages" }));
  await screen.findByText("Message 1.");
  expect(shown()).toEqual(["Message 1.", "Message 2.", "Message 3.", "Message 4."]);
  expect(screen.queryByRole("button", { name: "Earlier messages" })).toBeNull();
});
