// Where events are sent: a secret is shown once, and what came of each delivery can be sent again.

import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, cleanup, fireEvent, render, screen, within } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { Webhooks } from "../src/pages/webhooks";
import { session } from "../src/session/session";
import { chooseLanguage } from "../src/texts";
import { type Asked, CONFIG, serve } from "./server";

const USER = "00000000-0000-4000-8000-000000000001";
const HOOK = {
  id: "hook",
  user_id: USER,
  url: "https://example.com/maas",
  events: ["run.completed", "memory.added"],
  texts: false,
  state: "gone",
  waiting: 2,
  failing_since: null,
  paused_until: null,
  created_at: "2026-03-02T09:00:00Z",
};
const DELIVERY = {
  id: "delivery",
  type: "run.completed",
  data: {},
  state: "failed",
  attempts: 10,
  status: null,
  error: "timeout",
  created_at: "2026-03-02T09:00:00Z",
  changed_at: "2026-03-05T09:00:00Z",
  next_at: null,
};

let asked: Asked[];
function show(userId: string | null) {
  render(
    <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
      <Webhooks userId={userId} />
    </QueryClientProvider>,
  );
}
beforeEach(async () => {
  HTMLDialogElement.prototype.showModal = function (this: HTMLDialogElement) {
    this.open = true;
  };
  vi.stubGlobal("IntersectionObserver", undefined);
  asked = serve(({ method, path }) => {
    if (path === "/ui/config.json") return { body: { ...CONFIG, auth: "none", local_user_id: USER } };
    if (method === "POST") return { body: { ...HOOK, secret: "whsec_shown-once", deliveries: 1 } };
    if (path.includes("/deliveries")) return { body: { results: [DELIVERY], next: null } };
    return { body: { results: [HOOK] } };
  });
  chooseLanguage("en");
  await session.start();
});
afterEach(() => {
  cleanup();
  vi.useRealTimers();
});

const sent = () => asked.filter(({ method }) => method !== "GET").map(({ method, path, body }) => [method, path, body]);

test("a webhook is added for the events that are chosen, and its secret is shown once", async () => {
  show(USER);
  await screen.findByText(HOOK.url);
  expect(screen.queryByRole("checkbox", { name: "user erased" })).toBeNull();
  fireEvent.change(screen.getByLabelText("Address"), { target: { value: " https://example.com/new " } });
  for (const event of ["failed", "approval needed", "memory forgotten", "fact changed", "step of a task"])
    fireEvent.click(screen.getByRole("checkbox", { name: event }));
  fireEvent.click(screen.getByRole("button", { name: "Add a webhook" }));
  expect(await screen.findByText("whsec_shown-once")).toBeTruthy();
  const body = { url: "https://example.com/new", events: HOOK.events, texts: false, user_id: USER };
  expect(sent()).toEqual([["POST", "/v1/webhooks", body]]);
});

test("an operator's webhook gets events of all users, and hears of those who are erased", async () => {
  show(null);
  await screen.findByText(HOOK.url);
  fireEvent.change(screen.getByLabelText("Address"), { target: { value: "https://example.com/new" } });
  fireEvent.click(screen.getByRole("button", { name: "Add a webhook" }));
  await screen.findByText("whsec_shown-once");
  const [method, path, body] = sent()[0]!;
  expect([method, path, body.events.length, body.user_id]).toEqual(["POST", "/v1/admin/webhooks", 8, undefined]);
});

test("why it is disabled and what waits are said; it is enabled again", async () => {
  show(USER);
  expect(await screen.findByText("disabled: the address answered that it no longer exists")).toBeTruthy();
  expect(screen.getByText("2 events wait")).toBeTruthy();
  fireEvent.click(screen.getByRole("button", { name: "Enable" }));
  await vi.waitFor(() => expect(sent()).toEqual([["PATCH", "/v1/webhooks/hook", { enabled: true }]]));
});

test("a delivery that is on its way is looked at until it has arrived", async () => {
  vi.useFakeTimers({ shouldAdvanceTime: true });
  let state = "waiting";
  const deliveries = serve(({ path }) =>
    path.includes("/deliveries")
      ? { body: { results: [{ ...DELIVERY, state }], next: null } }
      : { body: { results: [HOOK] } },
  );
  show(USER);
  fireEvent.click(await screen.findByRole("button", { name: "Deliveries" }));
  await screen.findByRole("cell", { name: /waiting/ });
  state = "delivered";
  await act(() => vi.advanceTimersByTimeAsync(3000));
  await screen.findByRole("cell", { name: "delivered" });
  const read = () => deliveries.filter(({ path }) => path.includes("/deliveries")).length;
  const before = read();
  await act(() => vi.advanceTimersByTimeAsync(10_000));
  expect(read()).toBe(before);
});

test("a delivery that failed shows why, and is sent again", async () => {
  show(USER);
  fireEvent.click(await screen.findByRole("button", { name: "Deliveries" }));
  const row = within((await screen.findByText("no answer within 20 seconds")).closest("tr")!);
  expect(row.getByText("failed")).toBeTruthy();
  fireEvent.click(row.getByRole("button", { name: "Send again" }));
  fireEvent.click(screen.getByRole("button", { name: "Send all that failed again" }));
  await vi.waitFor(() =>
    expect(sent().map(([, path, body]) => [path, body])).toEqual([
      ["/v1/webhooks/hook/replay", { delivery_id: "delivery" }],
      ["/v1/webhooks/hook/replay", { delivery_id: null }],
    ]),
  );
});
