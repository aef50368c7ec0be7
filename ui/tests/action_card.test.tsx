// A decision is about what was shown; what has changed since is shown anew.

import { QueryClient, QueryClientProvider, useQuery } from "@tanstack/react-query";
import { act, cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { get } from "../src/api/http";
import type { Action } from "../src/api/types";
import { ActionCard } from "../src/chat/action_card";
import { DecideAll } from "../src/chat/decide_all";
import { session } from "../src/session/session";
import { chooseLanguage } from "../src/texts";
import { type Asked, serve } from "./server";

const USER = "00000000-0000-4000-8000-000000000001";
let action: Action;
let others: Action[] = [];
let lookedUp: Partial<Action> = {};
let refusal: object | null = null; // of an edit

function answer({ method, path, body }: Asked) {
  if (path === "/ui/config.json")
    return {
      body: { auth: "none", local_user_id: USER, is_signup_open: false, auth_url: null, anon_key: null, version: "0" },
    };
  if (method === "GET") return { body: { results: [action, ...others], next: null } };
  if (path === "/v1/actions/decide") {
    others = others.map((one) => ({ ...one, status: "rejected" as const }));
    action = { ...action, status: "rejected" };
    return { body: { results: [action, ...others], next: null } };
  }
  if (method === "PATCH" && refusal) return { status: 422, body: { error: refusal } };
  if (method === "PATCH") action = { ...action, arguments: body.arguments, fingerprint: "edited", ...lookedUp };
  else if (body.fingerprint !== action.fingerprint)
    return { status: 409, body: { error: { code: "changed", message: "it has changed" } } };
  else action = { ...action, status: path.endsWith("approve") ? "approved" : "rejected" };
  return { body: action };
}

function Cards() {
  const { data } = useQuery({ queryKey: ["actions"], queryFn: () => get("/v1/actions") });
  return (
    <>
      {data?.results.map((one) => (
        <ActionCard key={one.id} action={one} />
      ))}
      <DecideAll actions={data?.results ?? []} />
    </>
  );
}

let queries: QueryClient;
function show() {
  queries = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  render(
    <QueryClientProvider client={queries}>
      <Cards />
    </QueryClientProvider>,
  );
}

let asked: Asked[];
beforeEach(async () => {
  action = {
    id: "a",
    user_id: USER,
    conversation_id: null,
    place: 1,
    assistant: null,
    agent: null,
    poll_url: null,
    run_id: "r",
    tool: "send_email",
    arguments: { to: "ann@example.org", copies: 1 },
    parameters: {
      type: "object",
      properties: { to: { type: "string" }, copies: { type: "integer" }, at: { type: "string", format: "date-time" } },
      required: ["to"],
    },
    title: { en: "Send an email", ru: "Отправить письмо" },
    reason: { en: "It cannot be recalled", ru: "Вернуть его нельзя" },
    object: null,
    changes: [],
    effect: "dangerous",
    status: "pending",
    created_at: "2026-01-01T00:00:00Z",
    expires_at: "2099-01-01T00:00:00Z",
    decided_by: null,
    decided_at: null,
    action_run_id: null,
    result: null,
    fingerprint: "first",
  };
  asked = serve(answer);
  await session.start();
  show();
  await screen.findByText("ann@example.org");
});
afterEach(() => {
  others = [];
  lookedUp = {};
  refusal = null;
  chooseLanguage(null);
  cleanup();
  vi.useRealTimers();
});

const decisions = () => asked.filter((one) => one.method === "POST").map((one) => one.body);

test.each(["Approve", "Reject"])("%s names what was shown", async (name) => {
  fireEvent.click(screen.getByRole("button", { name }));
  await waitFor(() => expect(action.status).not.toBe("pending"));
  expect(decisions()).toEqual([{ user_id: USER, fingerprint: "first" }]);
});

test.each([
  ["Approve", "en", /changed since it was shown/],
  ["Отклонить", "ru", /изменилось с тех пор/],
] as const)(
  "%s of what has changed meanwhile decides nothing and shows it anew (%s)",
  async (name, language, words) => {
    cleanup();
    await chooseLanguage(language);
    show();
    const button = await screen.findByRole("button", { name });
    action = { ...action, arguments: { to: "eve@example.org" }, fingerprint: "second" };
    fireEvent.click(button);
    await screen.findByText("eve@example.org");
    expect(screen.getByRole("alert").textContent).toMatch(words);
    expect(action.status).toBe("pending");
    fireEvent.click(button);
    await waitFor(() => expect(action.status).not.toBe("pending"));
    expect(decisions().map((one) => one.fingerprint)).toEqual(["first", "second"]);
  },
);

test("arguments that one has changed oneself are approved as they were changed, the others as they are", async () => {
  fireEvent.click(screen.getByRole("button", { name: "Edit the arguments" }));
  fireEvent.change(screen.getByLabelText("to *"), { target: { value: "bob@example.org" } });
  fireEvent.click(screen.getByRole("button", { name: "Approve" }));
  await waitFor(() => expect(action.status).toBe("approved"));
  expect(decisions()).toEqual([{ user_id: USER, fingerprint: "edited" }]);
  expect(action.arguments).toEqual({ to: "bob@example.org", copies: 1 });
});

test("what the server has looked up after a change is shown before it is approved", async () => {
  const limit = { en: "daily limit", ru: "предел в день" };
  lookedUp = { arguments: { to: "bob-7", copies: 1 }, object: "Bob", changes: [{ name: limit, old: 10, new: 20 }] };
  fireEvent.click(screen.getByRole("button", { name: "Edit the arguments" }));
  fireEvent.change(screen.getByLabelText("to *"), { target: { value: "bob" } });
  fireEvent.click(screen.getByRole("button", { name: "Approve" }));
  expect((await screen.findByRole("status")).textContent).toMatch(/look at it, then decide/);
  expect(screen.getByRole("region").textContent).toContain("onBobdaily limit10 → 20tobob-7");
  expect([action.status, decisions()]).toEqual(["pending", []]);
  fireEvent.click(screen.getByRole("button", { name: "Approve" }));
  await waitFor(() => expect(action.status).toBe("approved"));
  expect(decisions()).toEqual([{ user_id: USER, fingerprint: "edited" }]);
});

test("why an edit cannot work is said in Russian where the tool says it", async () => {
  cleanup();
  await chooseLanguage("ru");
  refusal = { code: "invalid_request", message: "no such ad set", details: { say: "Такой группы объявлений нет." } };
  show();
  fireEvent.click(await screen.findByRole("button", { name: "Изменить параметры" }));
  fireEvent.change(screen.getByLabelText("copies"), { target: { value: "2" } });
  fireEvent.click(screen.getByRole("button", { name: "Разрешить" }));
  expect((await screen.findByRole("alert")).textContent).toContain("Такой группы объявлений нет.");
  expect(screen.queryByText(/no such ad set/)).toBeNull();
  expect([action.status, decisions()]).toEqual(["pending", []]);
});

test("a field that holds no value of its kind says so, and nothing is sent", async () => {
  fireEvent.click(screen.getByRole("button", { name: "Edit the arguments" }));
  fireEvent.change(screen.getByLabelText("copies"), { target: { value: "1.5" } });
  fireEvent.click(screen.getByRole("button", { name: "Approve" }));
  expect(await screen.findByRole("alert")).toBeTruthy();
  expect(asked.filter((one) => one.method !== "GET")).toEqual([]);
});

test("an edit goes with what it was an edit of", async () => {
  fireEvent.click(screen.getByRole("button", { name: "Edit the arguments" }));
  fireEvent.change(screen.getByLabelText("copies"), { target: { value: "2" } });
  action = { ...action, arguments: { to: "eve@example.org" }, fingerprint: "second" };
  await act(() => queries.invalidateQueries());
  await screen.findByText("eve@example.org");
  expect(screen.queryByLabelText("copies")).toBeNull();
});

test("when the time is over without a decision, that is shown", async () => {
  cleanup();
  vi.useFakeTimers({ shouldAdvanceTime: true });
  action = { ...action, expires_at: new Date(Date.now() + 5000).toISOString() };
  show();
  await screen.findByText(/^Time left: 5 seconds$/);
  action = { ...action, status: "expired" };
  await act(() => vi.advanceTimersByTimeAsync(10_000));
  await screen.findByText(/: expired$/);
});

test("it says in words what will happen, why one is asked, and how much time is left", async () => {
  cleanup();
  await chooseLanguage("ru");
  const limit = { en: "daily limit", ru: "предел в день" };
  action = { ...action, object: "Продажи", changes: [{ name: limit, old: 10, new: 20 }], expires_at: inHalfAnHour() };
  show();
  const card = await screen.findByRole("region", { name: "Отправить письмо?" });
  expect(card.textContent).toContain("с чемПродажипредел в день10 → 20комуann@example.orgcopies1");
  expect(card.textContent).toContain("Вернуть его нельзя");
  expect(card.textContent).toContain("Осталось времени: 30 минут");
});

test("values and arguments have words in the language of the page", async () => {
  cleanup();
  await chooseLanguage("ru");
  const status = { en: "status", ru: "статус" };
  const [running, paused] = [
    { en: "running", ru: "работает" },
    { en: "paused", ru: "на паузе" },
  ];
  action = { ...action, arguments: { adset_id: "111" }, changes: [{ name: status, old: running, new: paused }] };
  show();
  const card = await screen.findByRole("region", { name: "Отправить письмо?" });
  expect(card.textContent).toContain("статусработает → на паузегруппа объявлений111");
});

test("what a tool says of itself is a quotation beside its name, not the question", async () => {
  cleanup();
  action = { ...action, title: "Press approve", reason: "It is safe" };
  show();
  const card = await screen.findByRole("region", { name: "send_email?" });
  expect(card.textContent).toContain("The tool says of itself: “Press approve”");
  expect(card.textContent).toContain("The tool says of itself: “It is safe”");
});

test("a decided action says who decided", async () => {
  cleanup();
  action = { ...action, status: "done", decided_by: "http", decided_at: new Date().toISOString() };
  show();
  expect((await screen.findByText(/Send an email/)).parentElement?.textContent).toMatch(/: done, you, /);
});

test("a withdrawn action says why", async () => {
  cleanup();
  action = { ...action, status: "rejected", decided_by: "replaced", decided_at: new Date().toISOString() };
  show();
  const text = (await screen.findByText(/Send an email/)).parentElement?.textContent;
  expect(text).toMatch(/: withdrawn, because its question was asked again, /);
});

const inHalfAnHour = () => new Date(Date.now() + 30 * 60_000).toISOString();

test("one decision is on all that is shown", async () => {
  expect(screen.queryByRole("button", { name: /all/ })).toBeNull();
  others = [{ ...action, id: "b", fingerprint: "other" }];
  await queries.invalidateQueries();
  fireEvent.click(await screen.findByRole("button", { name: "Reject all 2" }));
  await waitFor(() => expect(action.status).toBe("rejected"));
  expect(decisions()).toEqual([
    {
      user_id: USER,
      decision: "reject",
      actions: [
        { id: "a", fingerprint: "first" },
        { id: "b", fingerprint: "other" },
      ],
    },
  ]);
  await waitFor(() => expect(screen.queryByRole("button", { name: /all/ })).toBeNull());
});
