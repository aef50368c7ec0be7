// The text area: what was sent is no draft any more, what was not taken comes back.

import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { Composer } from "../src/chat/composer";
import { session } from "../src/session/session";
import { chooseLanguage } from "../src/texts";
import { type Asked, CONFIG, type Reply, serve } from "./server";

const USER = "00000000-0000-4000-8000-000000000001";

let asked: Asked[];
let reply: Reply | Promise<Reply>;
beforeEach(async () => {
  reply = { status: 201, body: {} };
  localStorage.clear();
  chooseLanguage("en");
  asked = serve(({ path, body }) => {
    if (path === "/v1/knowledge" && body.name === "bad.pdf")
      return { status: 400, body: { error: { code: "odd", message: "file: it is no PDF" } } };
    return path === "/v1/knowledge" ? reply : { body: { ...CONFIG, auth: "none", local_user_id: USER } };
  });
  await session.start();
});
afterEach(cleanup);

const composer = (onSend: (text: string, photos: File[]) => Promise<boolean>) => (
  <QueryClientProvider client={new QueryClient()}>
    <Composer draft="new" isAnswering={false} onSend={onSend} onStop={vi.fn()} />
  </QueryClientProvider>
);

function write(text: string, onSend: (text: string) => Promise<boolean>) {
  render(composer(onSend));
  const area = screen.getByRole<HTMLTextAreaElement>("textbox");
  fireEvent.change(area, { target: { value: text } });
  fireEvent.click(screen.getByRole("button", { name: "Send" }));
  return area;
}

test("a message that leads to another page is no draft when one comes back", () => {
  let page: ReturnType<typeof render> | null = null;
  const leave = vi.fn(() => {
    page?.unmount();
    return Promise.resolve(true);
  });
  page = render(composer(leave));
  fireEvent.change(screen.getByRole("textbox"), { target: { value: "I like tea." } });
  expect(JSON.stringify({ ...localStorage })).toContain("I like tea.");
  fireEvent.click(screen.getByRole("button", { name: "Send" }));
  expect(leave).toHaveBeenCalledWith("I like tea.", []);
  expect(JSON.stringify({ ...localStorage })).not.toContain("I like tea.");
});

test("a message whose photos could not be sent comes back", async () => {
  const area = write("Look!", () => Promise.resolve(false));
  await waitFor(() => expect(area.value).toBe("Look!"));
});

test("a message that was taken stays away", async () => {
  const area = write("Hello", () => Promise.resolve(true));
  await Promise.resolve();
  expect(area.value).toBe("");
});

const file = (name: string, type = "", size = 5) => {
  const made = new File(["x".repeat(Math.min(size, 5))], name, { type });
  Object.defineProperty(made, "size", { value: size });
  return made;
};
const drop = (files: File[]) => fireEvent.drop(screen.getByRole("textbox"), { dataTransfer: { files } });

test("the limits are said before a file is chosen", () => {
  render(composer(() => Promise.resolve(true)));
  const button = screen.getByRole("button", { name: "Add pictures or documents" });
  const limits = document.getElementById(button.getAttribute("aria-describedby")!)!;
  expect(limits.textContent).toContain("at most 10, each up to 10 MB");
  expect(limits.textContent).toContain("txt, md, html, docx or pdf, up to 50 MB each");
  expect(limits.className).toBe("sr-only");
  fireEvent.dragOver(screen.getByRole("textbox"));
  expect(limits.className).not.toContain("sr-only");
});

test("pictures go with the message, and what is not taken says why", async () => {
  const onSend = vi.fn().mockResolvedValue(true);
  render(composer(onSend));
  const photo = file("boat.png", "image/png");
  drop([photo, file("big.png", "image/png", 11e6), file("song.mp3", "audio/mpeg"), file("empty.txt", "text/plain", 0)]);
  expect([...screen.getByRole("alert").querySelectorAll("li")].map((one) => one.textContent)).toEqual([
    "big.png: it is larger than 10 MB.",
    "song.mp3: only JPEG, PNG and WebP pictures and txt, md, html, docx and pdf documents are taken.",
    "empty.txt: the file is empty.",
  ]);
  fireEvent.paste(screen.getByRole("textbox"), { clipboardData: { files: Array(10).fill(photo) } });
  screen.getByText("A message takes at most 10 pictures.");
  fireEvent.change(screen.getByRole("textbox"), { target: { value: "Look" } });
  fireEvent.click(screen.getByRole("button", { name: "Send" }));
  expect(onSend.mock.calls[0]![1]).toEqual(Array(10).fill(photo));
});

test("documents are kept one after another, with their progress, and one that is refused says why", async () => {
  let answer!: (reply: Reply) => void;
  reply = new Promise((resolve) => {
    answer = resolve;
  });
  render(composer(() => Promise.resolve(true)));
  drop([file("Notes.MD"), file("bad.pdf", "application/pdf")]);
  const progress = await screen.findByRole<HTMLProgressElement>("progressbar", { name: "Sending Notes.MD" });
  await waitFor(() => expect(progress.value).toBe(0.5));
  answer({ status: 201, body: {} });
  await screen.findByText("file: it is no PDF");
  screen.getByText("kept among your documents");
  expect(asked.filter(({ path }) => path === "/v1/knowledge").map(({ body }) => body)).toEqual([
    { user_id: USER, name: "Notes.MD", file: "Notes.MD" },
    { user_id: USER, name: "bad.pdf", file: "bad.pdf" },
  ]);
  fireEvent.click(screen.getByRole("button", { name: "Close" }));
  expect(screen.queryByText("kept among your documents")).toBeNull();
});
