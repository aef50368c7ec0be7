// The title of a conversation is changed where it stands.

import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { afterEach, beforeEach, expect, test } from "vitest";

import { Title } from "../src/chat/title";
import { chooseLanguage } from "../src/texts";
import { type Asked, type Reply, serve } from "./server";

let asked: Asked[];
let reply: Reply;
beforeEach(() => {
  chooseLanguage("en");
  reply = { body: {} };
  asked = serve(() => reply);
  render(
    <QueryClientProvider client={new QueryClient()}>
      <Title id="c" title="Alma moves" />
    </QueryClientProvider>,
  );
  fireEvent.click(screen.getByRole("button", { name: "Alma moves" }));
});
afterEach(cleanup);

const field = () => screen.getByRole("textbox", { name: "Rename the conversation" });
const save = (title: string) => {
  fireEvent.change(field(), { target: { value: title } });
  fireEvent.submit(field());
};

test("a new title is saved without the spaces around it", async () => {
  save("  Alma in Lisbon ");
  await waitFor(() => expect(screen.queryByRole("textbox")).toBeNull());
  expect(asked.map(({ method, path, body }) => [method, path, body])).toEqual([
    ["PATCH", "/v1/conversations/c", { title: "Alma in Lisbon" }],
  ]);
});

test.each(["", "  ", "Alma moves"])("%j is no new title", (title) => {
  save(title);
  expect(screen.queryByRole("textbox")).toBeNull();
  expect(asked).toEqual([]);
});

test("Escape leaves the title as it was", () => {
  fireEvent.change(field(), { target: { value: "Another" } });
  fireEvent.keyDown(field(), { key: "Escape" });
  screen.getByRole("button", { name: "Alma moves" });
  expect(asked).toEqual([]);
});

test("what was written stays when the server refuses it", async () => {
  reply = { status: 404, body: { error: { code: "not_found", message: "there is no such conversation" } } };
  save("Alma in Lisbon");
  await screen.findByText(/there is no such conversation/);
  expect((field() as HTMLInputElement).value).toBe("Alma in Lisbon");
});
