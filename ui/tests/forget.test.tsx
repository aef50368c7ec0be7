// What is forgotten is said before it is forgotten, and each doubtful answer is decided on.

import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, beforeEach, expect, test } from "vitest";

import { inNumbers } from "../src/parts/forgetting";
import { MemoryActions } from "../src/parts/memory_actions";
import { session } from "../src/session/session";
import { chooseLanguage } from "../src/texts";
import { type Asked, CONFIG, serve } from "./server";

const USER = "00000000-0000-4000-8000-000000000001";
const AT = "2026-11-05T10:00:00Z";
const FOUND = {
  id: "m",
  logs: 3,
  records: 1,
  facts: 1,
  reopened: 0,
  answers: 1,
  repeating: [{ request_id: "r", id: "a", created_at: AT, answer: "Your boat is called Zephyr." }],
  doubtful: ["One", "Two"].map((answer) => ({
    request_id: "r",
    id: answer,
    created_at: AT,
    status: "COMPLETED",
    answer: answer === "Two" ? `Two recipe. ${"🍞".repeat(189)}` : `One recipe. ${"🍞".repeat(180)}`, // by code points
  })),
  doubtful_runs: 2,
};

let asked: Asked[];
beforeEach(async () => {
  HTMLDialogElement.prototype.showModal = function (this: HTMLDialogElement) {
    this.open = true;
  };
  asked = serve(({ path }) => {
    if (path === "/ui/config.json") return { body: { ...CONFIG, auth: "none", local_user_id: USER } };
    if (path.includes("/memories/m")) return { body: FOUND };
    return {
      body: { ...FOUND, logs: 1, records: 0, facts: 0, answers: 0, repeating: [], doubtful: [], doubtful_runs: 0 },
    };
  });
  chooseLanguage("en");
  await session.start();
  render(
    <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
      <MemoryActions id="m" text="My boat is called Zephyr." />
    </QueryClientProvider>,
  );
  fireEvent.click(screen.getByText("Forget this"));
});
afterEach(cleanup);

const deleted = () => asked.filter(({ method, path }) => method === "DELETE" && !path.includes("preview=true"));

test("what goes with it is shown by name and number, and nothing is deleted before", async () => {
  await screen.findByText("Deleted with it: 3 messages, 1 summary, 1 fact, and 1 answer that repeats it.");
  screen.getByText(/Your boat is called Zephyr\./);
  expect(screen.getAllByRole("checkbox").map((box) => (box as HTMLInputElement).checked)).toEqual([false, false]);
  expect(deleted()).toEqual([]);
});

test("of an answer that the server has cut it is seen that it goes on", async () => {
  const labels = (await screen.findAllByRole("checkbox")).map((box) => box.closest("label")!.textContent!);
  expect(labels.map((label) => label.endsWith("🍞…"))).toEqual([false, true]);
});

test("only the chosen of the doubtful answers are deleted", async () => {
  fireEvent.click(await screen.findByLabelText(/Two recipe/));
  fireEvent.click(screen.getByRole("button", { name: "Forget" }));
  await screen.findByText("Forgotten: 4 messages, 1 summary, and 1 fact. 2 of the messages were answers.");
  expect(deleted().map(({ path }) => path.split("?")[0])).toEqual(["/v1/memories/m", "/v1/memories/Two"]);
});

test("a correction says before it is made what keeps the old words", async () => {
  fireEvent.click(screen.getByText("Wrong?"));
  await screen.findByText("Left as they are: 1 summary and 1 answer that repeats it.");
  const dialog = screen.getByRole("dialog", { name: "What is correct?" });
  expect(dialog.textContent).toContain("Your boat is called Zephyr.");
  expect(deleted()).toEqual([]);
  expect(asked.some(({ method }) => method === "POST")).toBe(false);
});

test("what there is none of is not counted, and numbers have their forms", async () => {
  expect(inNumbers({ messages: 2, records: 0, facts: 1, answers: 0 })).toBe("2 messages and 1 fact");
  expect(inNumbers({ messages: 0 })).toBe("nothing else");
  await chooseLanguage("ru");
  expect(inNumbers({ messages: 21, records: 3, facts: 5 })).toBe("21 сообщение, 3 сводки и 5 фактов");
  await chooseLanguage("en");
});
