// The documents of a person on the Memory page: their own and everybody's; adding and removing.

import { act, cleanup, fireEvent, screen, waitFor, within } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { chooseLanguage } from "../src/texts";
import { open, prepareBrowser } from "./page";
import { type Asked, CONFIG, serve } from "./server";

const USER = "00000000-0000-4000-8000-000000000001";
const AT = "2026-11-05T10:00:00Z";
const document_ = (name: string, changes: object = {}) => ({
  id: name,
  name,
  is_everybodys: false,
  pages: null,
  status: "processed",
  error: null,
  created_at: AT,
  updated_at: AT,
  ...changes,
});

let asked: Asked[];
beforeEach(() => {
  prepareBrowser();
  chooseLanguage("en");
  asked = serve(({ path }) => {
    if (path === "/ui/config.json") return { body: { ...CONFIG, auth: "none", local_user_id: USER } };
    if (path.endsWith("/events")) return { chunks: [], isOpen: true };
    if (path.startsWith("/v1/knowledge?"))
      return {
        body: {
          results: [
            document_("mine.pdf", { pages: 3 }),
            document_("rules.md", { is_everybodys: true }),
            document_("broken.pdf", { status: "failed", error: "it has a password" }),
          ],
          next: null,
        },
      };
    return { body: { results: [], next: null } };
  });
});
afterEach(() => {
  cleanup();
  vi.useRealTimers();
});

test("own documents can be removed, everybody's are only named, and a failed one says why", async () => {
  await open("/ui/memory/documents");
  const card = (name: string) => within(screen.getByText(name).closest("li")!);
  await screen.findByText("mine.pdf");
  card("mine.pdf").getByText("3 pages");
  card("broken.pdf").getByText("it has a password");
  expect(card("rules.md").queryByRole("button")).toBeNull();
  card("rules.md").getByText("for everybody");
  fireEvent.click(card("mine.pdf").getByRole("button", { name: "Remove" }));
  const dialog = within(screen.getByRole("dialog", { name: "Remove mine.pdf?" }));
  fireEvent.click(dialog.getByRole("button", { name: "Remove" }));
  await waitFor(() =>
    expect(asked.find(({ method }) => method === "DELETE")?.path).toBe(`/v1/knowledge/mine.pdf?user_id=${USER}`),
  );
});

test("a document that is being read is looked at until it can be searched", async () => {
  vi.useFakeTimers({ shouldAdvanceTime: true });
  let status = "pending";
  serve(({ path }) => {
    if (path === "/ui/config.json") return { body: { ...CONFIG, auth: "none", local_user_id: USER } };
    if (path.endsWith("/events")) return { chunks: [], isOpen: true };
    return {
      body: { results: path.startsWith("/v1/knowledge?") ? [document_("new.pdf", { status })] : [], next: null },
    };
  });
  await open("/ui/memory/documents");
  await screen.findByText("waiting to be read");
  status = "processed";
  await act(() => vi.advanceTimersByTimeAsync(2000));
  await screen.findByText("can be searched");
});

test("a document is added where its limits are said, and a picture is refused", async () => {
  await open("/ui/memory/documents");
  screen.getByText(/up to 50 MB each/);
  const files = [new File(["x"], "new.txt"), new File(["x"], "boat.png", { type: "image/png" })];
  fireEvent.change(screen.getByLabelText("Add documents"), { target: { files } });
  await screen.findByText("kept among your documents");
  expect(screen.getByRole("alert").textContent).toMatch(/^boat\.png: only/);
  expect(asked.find(({ method }) => method === "POST")?.body).toEqual({
    user_id: USER,
    name: "new.txt",
    file: "new.txt",
  });
});
