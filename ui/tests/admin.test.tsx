import { cleanup, fireEvent, screen, waitFor, within } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { firstDay } from "../src/admin/ranges";
import { formatMs } from "../src/parts/measured";
import { session } from "../src/session/session";
import { chooseLanguage, say } from "../src/texts";
import { openDesk, prepareBrowser } from "./page";
import { type Asked, CONFIG, idOf, serve, tokensOf } from "./server";

const ME = idOf("me");
const ANN = idOf("ann");
const PERSON = {
  user_id: ANN,
  names: ["employee1"],
  email: null,
  name: null,
  is_admin: false,
  is_blocked: false,
  runs: 7,
  errors: 2,
  dollars: 12.5,
  last_run_at: "2026-01-02T03:04:00Z",
  created_at: "2026-01-01T00:00:00Z",
};
const SPENT = {
  key: ANN,
  user_name: "Ann of Oslo",
  runs: 1,
  calls: 3,
  tokens_in: 9,
  tokens_out: 1,
  dollars: 12.5,
  unpriced: 0,
};
const RUN = {
  request_id: "r1",
  user_id: ANN,
  user_name: "Ann of Oslo",
  query: "Where is Comet?",
  answer: null,
  assistant: "mentor",
  conversation_id: "c1",
  kind: "ask",
  status: "FAILED",
  archive_status: "SKIPPED",
  error_code: "timeout",
  error_message: "too slow",
  created_at: "2026-01-02T03:04:00Z",
  action: null,
  ms: 29_183,
  tokens: 1500,
  dollars: 0.0042,
  models: ["openai:gpt"],
};

const NO_BUDGET = { daily_tokens: null, daily_dollars: null, is_own: false, changed_by: null, updated_at: null };

function body({ path, method }: Asked): unknown {
  const route = path.split("?")[0]!;
  const page = (...results: unknown[]) => ({ results, next: null });
  if (path === "/ui/config.json")
    return { auth: "none", local_user_id: ME, is_signup_open: false, auth_url: null, anon_key: null, version: "0" };
  if (route === "/v1/caller") return { scopes: ["admin"], is_bound: false };
  if (route === "/v1/admin/users") return { ...page(PERSON), total: { users: 10_000, errors: 14, dollars: 99 } };
  if (route === "/v1/admin/runs") return page(RUN);
  if (route.endsWith("/budget")) return NO_BUDGET;
  if (route === "/v1/admin/spending")
    return {
      ...page(SPENT),
      dollars: 99,
      keys: 5,
    };
  if (route === "/v1/assistants") return { results: [{ name: "mentor", title: "The Mentor" }] };
  if (route === "/v1/admin/keys") return method === "POST" ? { id: "k", key: "maas_k_secret" } : page();
  if (route.endsWith("/spending"))
    return {
      tokens_today: 1,
      dollars_today: 0.5,
      tokens: 2,
      dollars: 12.5,
      daily_tokens: 1000,
      daily_dollars: null,
      is_spent: true,
    };
  if (route.endsWith("/memory"))
    return { messages: 40, summaries: 2, since: "2026-01-01", last_saved_at: RUN.created_at };
  if (route.endsWith("/profile")) return { name: "Ann", position: "Pilot", department: null };
  if (route === `/v1/users/${ANN}`) return { user_id: ANN, erased: { raw_logs: 3, facts: 0 } };
  if (route.endsWith("/trace")) {
    const lists = ["stages", "calls", "costs", "tools", "steps", "prompts", "memories", "history"];
    const took = { asked_at: RUN.created_at, answer_ms: null };
    return { ...Object.fromEntries(lists.map((name) => [name, []])), run: { try: 1 }, took };
  }
  if (route === "/v1/runs/r1")
    return { ...RUN, timings: {}, sources: [], used: [], degraded: [], attachment_ids: [], final_answer: null };
  return page();
}

let asked: Asked[];
beforeEach(async () => {
  chooseLanguage("en");
  prepareBrowser();
  asked = serve((one) =>
    one.path.endsWith("/events")
      ? { chunks: ['id: 1\nevent: error\ndata: {"code": "timeout", "message": "too slow"}\n\n'] }
      : { body: body(one) },
  );
  await session.start();
});
afterEach(() => {
  cleanup();
  chooseLanguage(null);
});

const paths = () => asked.map(({ path }) => path);

test("users are sorted by the server, with totals, and lead to their pages", async () => {
  const history = openDesk("/admin/users");
  const link = await screen.findByRole("link", { name: "employee1" });
  expect(link.getAttribute("href")).toBe(`/admin/users/${ANN}`);
  expect(document.title).toBe("Users · MaaS");
  expect(screen.getByText("10,000 users, 14 failed requests, $99 spent")).toBeTruthy();
  fireEvent.click(screen.getByRole("button", { name: "Spent" }));
  expect(history.at(-1)).toBe("/admin/users?sort=spend");
  await waitFor(() => expect(paths()).toContain("/v1/admin/users?sort=spend&limit=50"));
  expect(screen.getByRole("columnheader", { name: "Spent ↓" }).getAttribute("aria-sort")).toBe("descending");
});

test("requests have what they took and cost, and are filtered by error code in the address", async () => {
  openDesk("/admin/runs?error=timeout");
  const row = (await screen.findByText("Where is Comet?")).closest("tr")!;
  for (const text of ["29.2 s", "1,500", "$0.0042", "openai:gpt"]) expect(row.textContent).toContain(text);
  expect(within(row).getByRole("link", { name: "Ann of Oslo" }).getAttribute("href")).toBe(`/admin/users/${ANN}`);
  expect(await within(row).findByText("The Mentor")).toBeTruthy();
  expect(within(row).getByRole("link", { name: "timeout" }).getAttribute("href")).toBe("/admin/runs?error=timeout");
  expect(paths()).toContain("/v1/admin/runs?error_code=timeout&limit=50");
});

test("states of requests are words; the names that SQL knows are at hand", async () => {
  openDesk("/admin/runs");
  const row = (await screen.findByText("Where is Comet?")).closest("tr")!;
  expect(within(row).getByTitle("FAILED").textContent).toBe("failed");
  const states = within(screen.getByLabelText("Status")).getAllByRole<HTMLOptionElement>("option").slice(1);
  expect(states.map(({ value, title }) => [value, title])).toContainEqual(["READY", "READY"]);
  expect(new Set(states.map(({ textContent }) => textContent)).size).toBe(states.length);
  for (const select of screen.getAllByRole("combobox"))
    for (const { textContent } of within(select).getAllByRole("option")) expect(textContent).not.toMatch(/[A-Z]{2}|_/);
  fireEvent.change(screen.getByLabelText("Status"), { target: { value: "COMPLETED" } });
  await waitFor(() => expect(paths()).toContain("/v1/admin/runs?status=COMPLETED&limit=50"));
});

test("a forgotten request is said to be one", async () => {
  serve((one) => ({
    body:
      one.path.split("?")[0] === "/v1/admin/runs"
        ? {
            results: [{ ...RUN, status: "COMPLETED", error_code: null, query: "[forgotten]", answer: "[forgotten]" }],
            next: null,
          }
        : body(one),
  }));
  openDesk("/admin/runs");
  const row = (await screen.findByText("Ann of Oslo")).closest("tr")!;
  expect(row.textContent).toContain(say("chat.forgotten"));
  expect(row.textContent).not.toContain("[forgotten]");
});

test("requests are filtered by their place in the queue, in the address", async () => {
  const history = openDesk("/admin/runs?queue=paused");
  await screen.findByText("Where is Comet?");
  expect(paths()).toContain("/v1/admin/runs?queue=paused&limit=50");
  fireEvent.change(screen.getByRole("combobox", { name: "In the queue" }), { target: { value: "in_flight" } });
  expect(history.at(-1)).toBe("/admin/runs?queue=in_flight");
  await waitFor(() => expect(paths()).toContain("/v1/admin/runs?queue=in_flight&limit=50"));
});

test("a part of an id lists nobody's requests, instead of everybody's", async () => {
  openDesk("/admin/runs?user=0000");
  await screen.findByText(/choose/);
  expect(paths().filter((path) => path.startsWith("/v1/admin/runs"))).toEqual([]);
  fireEvent.click(await screen.findByRole("button", { name: "employee1" }));
  await waitFor(() => expect(paths()).toContain(`/v1/admin/runs?user_id=${ANN}&limit=50`));
});

test("a request of somebody else says whose words it holds, and is tried again when asked twice", async () => {
  openDesk("/admin/runs/r1");
  await screen.findByText("Where is Comet?");
  expect(screen.queryByText("you")).toBeNull();
  expect(await screen.findByText("employee1")).toBeTruthy();
  expect(screen.getByRole("link", { name: "Its user" }).getAttribute("href")).toBe(`/admin/users/${ANN}`);
  expect(screen.getByRole("link", { name: "Its conversation" }).getAttribute("href")).toBe("/admin/conversations/c1");
  expect(screen.queryByRole("button", { name: "Cancel" })).toBeNull();
  fireEvent.click(screen.getByRole("button", { name: "Retry" }));
  expect(asked.some(({ method }) => method === "POST")).toBe(false);
  fireEvent.click(within(screen.getByRole("dialog")).getByRole("button", { name: "Retry" }));
  await waitFor(() => expect(paths()).toContain("/v1/runs/r1/retry"));
});

test("a request that is tried again is followed to its new end", async () => {
  const first = { ...RUN, timings: {}, sources: [], used: [], degraded: [], attachment_ids: [], retries: 0 };
  let run: object = { ...first, final_answer: null };
  let finish: (reply: { chunks: string[] }) => void = () => undefined;
  const again = new Promise<{ chunks: string[] }>((resolve) => {
    finish = resolve;
  });
  serve((one) => {
    if (one.path === "/v1/runs/r1/retry")
      run = { ...first, final_answer: null, status: "ANALYZING", error_code: null, error_message: null, retries: 1 };
    if (one.path === "/v1/runs/r1") return { body: run };
    if (!one.path.endsWith("/events")) return { body: body(one) };
    const failed = 'id: 1\nevent: error\ndata: {"code": "timeout", "message": "too slow"}\n\n';
    return "retries" in run && run.retries ? again : { chunks: [failed] };
  });
  openDesk("/admin/runs/r1");
  expect((await screen.findByRole("alert")).textContent).toContain("did not come in time");
  fireEvent.click(screen.getByRole("button", { name: "Retry" }));
  fireEvent.click(within(screen.getByRole("dialog")).getByRole("button", { name: "Retry" }));
  expect(await screen.findByRole("button", { name: "Cancel" })).toBeTruthy();
  await waitFor(() => expect(screen.queryByRole("alert")).toBeNull());
  run = { ...first, status: "COMPLETED", error_code: null, error_message: null, final_answer: "In Oslo.", retries: 1 };
  finish({ chunks: ['id: 2\nevent: done\ndata: {"final_answer": "In Oslo."}\n\n'] });
  expect(await screen.findByText("In Oslo.")).toBeTruthy();
  await waitFor(() => expect(screen.queryByRole("button", { name: "Cancel" })).toBeNull());
});

test("what the layers of a request did is read anew when it is tried again", async () => {
  let retries = 0;
  const layer = 'event: layer\ndata: {"layer": 1, "name": "intake", "status": "ok"}\n\n';
  const failed = 'event: error\ndata: {"code": "timeout", "message": "too slow"}\n\n';
  serve((one) => {
    if (one.path === "/v1/runs/r1/retry") retries = 1;
    if (one.path === "/v1/runs/r1")
      return {
        body: {
          ...RUN,
          final_answer: null,
          timings: {},
          sources: [],
          used: [],
          degraded: [],
          attachment_ids: [],
          retries,
        },
      };
    if (!one.path.endsWith("/events")) return { body: body(one) };
    return { chunks: [...(retries ? [layer, layer] : [layer]), failed] };
  });
  openDesk("/admin/runs/r1");
  await screen.findByRole("heading", { name: "Logs (1)" });
  fireEvent.click(screen.getByRole("button", { name: "Retry" }));
  fireEvent.click(within(screen.getByRole("dialog")).getByRole("button", { name: "Retry" }));
  await screen.findByRole("heading", { name: "Logs (2)" });
});

test("the page of a user has spending and budget, and erases with a receipt once the name is typed", async () => {
  openDesk(`/admin/users/${ANN}`);
  expect((await screen.findByText("Daily budget: 1,000 tokens")).className).toContain("text-bad");
  expect(screen.getByText("Ann, Pilot")).toBeTruthy();
  expect(screen.getByRole("link", { name: "7" }).getAttribute("href")).toBe(`/admin/runs?user=${ANN}`);
  expect(await screen.findByText("40 messages")).toBeTruthy();
  fireEvent.click(screen.getByRole("button", { name: "Erase everything" }));
  const dialog = screen.getByRole("dialog", { name: "Erase everything of employee1?" });
  fireEvent.change(within(dialog).getByRole("textbox"), { target: { value: "employee1" } });
  fireEvent.click(within(dialog).getByRole("button", { name: "Erase everything" }));
  expect((await screen.findByText("raw_logs")).closest("tr")!.textContent).toBe("raw_logs3");
  expect(asked.filter(({ method }) => method === "DELETE").map(({ path }) => path)).toEqual([`/v1/users/${ANN}`]);
});

test("the page of a user who is no longer there says so, and leads to the others", async () => {
  serve((one) => ({ body: one.path.startsWith("/v1/admin/users?") ? { results: [], next: null } : body(one) }));
  openDesk(`/admin/users/${ANN}`);
  const text = await screen.findByText(/There is no such user/);
  expect(within(text).getByRole("link", { name: "Users" }).getAttribute("href")).toBe("/admin/users");
});

test("a user without a name has the beginning of the id as heading, and the whole id to copy", async () => {
  const write = vi.fn(async () => undefined);
  Object.defineProperty(navigator, "clipboard", { value: { writeText: write }, configurable: true });
  const nameless = { ...PERSON, names: [] };
  asked = serve((one) => ({
    body: one.path.startsWith("/v1/admin/users?") ? { results: [nameless], next: null } : body(one),
  }));
  openDesk(`/admin/users/${ANN}`);
  expect(await screen.findByRole("heading", { level: 1, name: `No name · ${ANN.slice(0, 8)}…` })).toBeTruthy();
  fireEvent.click(screen.getByRole("button", { name: "Copy the id" }));
  await waitFor(() => expect(write).toHaveBeenCalledWith(ANN));
  fireEvent.click(screen.getByRole("button", { name: "Erase everything" }));
  const dialog = screen.getByRole("dialog");
  const erase = () => within(dialog).getByRole<HTMLButtonElement>("button", { name: "Erase everything" });
  fireEvent.change(within(dialog).getByRole("textbox"), { target: { value: "No name" } });
  expect(erase().disabled).toBe(true);
  fireEvent.change(within(dialog).getByRole("textbox"), { target: { value: ANN } });
  expect(erase().disabled).toBe(false);
  cleanup();
  await chooseLanguage("ru");
  openDesk(`/admin/users/${ANN}`);
  expect(await screen.findByRole("heading", { level: 1, name: `Без имени · ${ANN.slice(0, 8)}…` })).toBeTruthy();
  Reflect.deleteProperty(navigator, "clipboard");
});

test("sessions of a user are shown and ended, and the user is blocked when asked twice", async () => {
  const asAdmin = { ...tokensOf("me"), user: { ...tokensOf("me").user, app_metadata: { is_admin: true } } };
  const session1 = { id: "s1", method: "password", created_at: "2026-01-02T03:04:00Z" };
  asked = serve((one) => {
    if (one.path === "/ui/config.json") return { body: CONFIG };
    if (one.path.startsWith("/auth")) return { body: asAdmin };
    if (one.path.endsWith("/sessions")) return { body: { results: [session1], ended: 1 } };
    return { body: body(one) };
  });
  await session.start();
  await session.signIn("me", "x");
  openDesk(`/admin/users/${ANN}`);
  expect(await screen.findByText("password")).toBeTruthy();
  const confirm = async (name: string) => {
    fireEvent.click(screen.getByRole("button", { name }));
    const dialog = await screen.findByRole("dialog");
    fireEvent.click(within(dialog).getByRole("button", { name }));
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
  };
  await confirm("Sign out everywhere");
  await confirm("Block");
  expect(
    asked.filter(({ method, path }) => method !== "GET" && path.startsWith("/v1")).map((one) => [one.path, one.body]),
  ).toEqual([
    [`/v1/admin/users/${ANN}/sessions`, null],
    [`/v1/admin/users/${ANN}/roles`, { is_blocked: true }],
  ]);
  cleanup();
  await session.signOut();
});

test("spending is by user, with the sum of all", async () => {
  openDesk("/admin/spending?by=user&days=30");
  expect(await screen.findByText("$99")).toBeTruthy();
  expect(screen.getByText("in total; the 1 dearest of 5 are listed")).toBeTruthy();
  expect(screen.getByRole("link", { name: "Ann of Oslo" }).getAttribute("href")).toBe(`/admin/users/${ANN}`);
  const counted = screen.getByRole("link", { name: "1" }).getAttribute("href");
  expect(counted).toBe(`/admin/runs?user=${ANN}&from=${firstDay(30)}`);
  expect(paths().some((path) => path.startsWith("/v1/admin/spending?by=user&from="))).toBe(true);
});

test("what erased users cost is one line, which leads to nobody", async () => {
  asked = serve((one) => ({
    body: one.path.startsWith("/v1/admin/spending")
      ? { dollars: 99, keys: 1, results: [{ ...SPENT, key: "erased", user_name: null }] }
      : body(one),
  }));
  openDesk("/admin/spending?by=user");
  const line = (await screen.findByText("Users who were erased")).closest("tr")!;
  expect(line.querySelector("a")).toBeNull();
});

test("days of figures are those of the server", async () => {
  openDesk("/admin/spending?days=30");
  await screen.findByText("$99");
  expect(paths()).toContain(`/v1/admin/spending?by=day&from=${firstDay(30)}&limit=100`);
});

test("spending is by stage, each by its name", async () => {
  asked = serve((one) => ({
    body: one.path.startsWith("/v1/admin/spending")
      ? {
          dollars: 99,
          keys: 2,
          results: ["archivist", "of_a_plugin"].map((key) => ({ ...SPENT, key, user_name: null })),
        }
      : body(one),
  }));
  openDesk("/admin/spending?by=stage");
  expect((await screen.findByText("Archivist")).closest("tr")!.textContent).toBe("Archivist$12.5139 → 1–");
  expect(screen.getByText("of_a_plugin")).toBeTruthy();
  expect(paths().some((path) => path.startsWith("/v1/admin/spending?by=stage&"))).toBe(true);
});

test("what waits for users is listed, leads to its request, and is not decided here", async () => {
  const action = {
    id: "a1",
    user_id: ANN,
    user_name: "Ann of Oslo",
    conversation_id: null,
    run_id: "r1",
    assistant: "mentor",
    tool: "send_mail",
    title: { en: "Send a letter", ru: "Отправить письмо" },
    effect: "dangerous",
    created_at: "2026-01-02T03:04:00Z",
    expires_at: "2026-01-02T03:34:00Z",
  };
  const unnamed = { ...action, id: "a2", title: "Trust me", effect: "write", assistant: null };
  let results = [action, unnamed];
  asked = serve((one) => ({
    body: one.path.startsWith("/v1/admin/actions") ? { results, next: null } : body(one),
  }));
  openDesk(`/admin/actions?user=${ANN}`);
  const link = await screen.findByRole("link", { name: "Send a letter" });
  expect(link.getAttribute("href")).toBe("/admin/runs/r1");
  const row = link.closest("tr")!;
  expect(within(row).getByText("This cannot be undone.")).toBeTruthy();
  expect(within(row).getByRole("link", { name: "Ann of Oslo" }).getAttribute("href")).toBe(`/admin/users/${ANN}`);
  expect(await within(row).findByText("The Mentor")).toBeTruthy();
  expect([...row.querySelectorAll("time")].map((one) => one.dateTime)).toEqual([action.created_at, action.expires_at]);
  expect(screen.getByRole("link", { name: "send_mail" })).toBeTruthy();
  expect(screen.getAllByText("This cannot be undone.")).toHaveLength(1);
  expect(within(screen.getByRole("table")).queryAllByRole("button")).toEqual([]);
  expect(paths().some((path) => path.startsWith(`/v1/admin/actions?user_id=${ANN}`))).toBe(true);
  cleanup();
  results = [];
  openDesk("/admin/actions");
  expect(await screen.findByText("Nothing waits for a decision.")).toBeTruthy();
});

test("a key may be bound by prefix, rate and days; what is left empty is not sent as zero", async () => {
  openDesk("/admin/keys");
  fireEvent.change(await screen.findByLabelText("Name"), { target: { value: "shop" } });
  fireEvent.change(screen.getByLabelText("For users whose name begins with"), { target: { value: "shop:" } });
  fireEvent.change(screen.getByLabelText("Requests a minute, at most"), { target: { value: "60" } });
  fireEvent.click(screen.getByRole("button", { name: "Create a key" }));
  await screen.findByText("maas_k_secret");
  expect(asked.find(({ method }) => method === "POST")!.body).toEqual({
    name: "shop",
    scopes: ["ask", "read"],
    user_id: null,
    prefix: "shop:",
    per_minute: 60,
    days: null,
  });
});

test("measured times have units", () => {
  expect([null, 12.4, 29_183, 180_000].map(formatMs)).toEqual(["–", "12 ms", "29.2 s", "3 min"]);
});

test("the first of the last days is of the calendar", () => {
  expect(firstDay(7, new Date(2026, 2, 3, 0, 30))).toBe("2026-02-25");
});
