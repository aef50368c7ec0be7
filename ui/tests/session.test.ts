// What a browser keeps of a person ends with the session, however it ends.

import { afterEach, beforeEach, expect, test } from "vitest";

import { get } from "../src/api/http";
import { keep, kept } from "../src/session/kept";
import { session } from "../src/session/session";
import { type Asked, CONFIG, idOf, serve, tokensOf } from "./server";

const ANN = idOf("ann");
const BOB = idOf("bob");
let isRefused = false;

function answer({ path, body }: Asked) {
  if (path === "/ui/config.json") return { body: CONFIG };
  if (path.startsWith("/auth/v1/token?grant_type=password")) return { body: tokensOf(body.email) };
  if (path.startsWith("/auth/v1/token")) return { status: 400, body: { error_code: "session_ended", msg: "ended" } };
  return isRefused ? { status: 401, body: { error: { code: "unauthorized", message: "no" } } } : { body: {} };
}

beforeEach(async () => {
  isRefused = false;
  localStorage.clear();
  localStorage.setItem("maas.scheme", "dark");
  serve(answer);
  await session.start();
  await session.signIn("ann", "x");
  keep(ANN, "draft.new", "fire Bob on Friday");
  keep(ANN, "outbox", "[]");
});
afterEach(() => session.signOut());

function expectNothingOfAnn() {
  expect(JSON.stringify({ ...localStorage })).not.toContain(ANN);
  expect(kept(ANN, "draft.new")).toBeNull();
  expect(localStorage.getItem("maas.scheme")).toBe("dark"); // of the device
}

test("a reload of the page finds what was kept", async () => {
  serve((one) => (one.path.includes("refresh_token") ? { body: tokensOf("ann") } : answer(one)));
  await session.start();
  expect(session.userId).toBe(ANN);
  expect(kept(ANN, "draft.new")).toBe("fire Bob on Friday");
});

test("the form is not shown to somebody whose session is being looked for", async () => {
  serve((one) => (one.path.includes("refresh_token") ? { body: tokensOf("ann") } : answer(one)));
  const seen: string[] = [];
  const stop = session.subscribe(() => seen.push(session.get().kind));
  await session.start();
  stop();
  expect(seen).toEqual(["loading", "open"]);
});

test.each([429, 503])("a server that answers %i keeps what was kept, and is asked again", async (status) => {
  serve((one) => (one.path.includes("refresh_token") ? { status, body: {} } : answer(one)));
  await session.start();
  expect(session.get().kind).toBe("unreachable");
  expect(kept(ANN, "draft.new")).toBe("fire Bob on Friday");
  serve((one) => (one.path.includes("refresh_token") ? { body: tokensOf("ann") } : answer(one)));
  await session.start();
  expect(session.userId).toBe(ANN);
});

test("signing out removes it, and what comes late is not kept any more", async () => {
  await session.signOut();
  keep(ANN, "draft.new", "fire Bob on Friday");
  expectNothingOfAnn();
});

test("a session that is found ended removes it", async () => {
  isRefused = true;
  await expect(get("/v1/conversations")).rejects.toThrow();
  expect(session.get()).toMatchObject({ kind: "anonymous", why: "expired" });
  expectNothingOfAnn();
});

test.each([null, BOB])("another tab in which the session has become that of %s ends it here", (next) => {
  if (next) localStorage.setItem("maas.had-session", next);
  else localStorage.removeItem("maas.had-session");
  window.dispatchEvent(new StorageEvent("storage", { key: "maas.had-session", newValue: next }));
  expect(session.get().kind).toBe("anonymous");
  expect(localStorage.getItem("maas.had-session")).toBe(next); // the other tab goes on
  expectNothingOfAnn();
});

test("a page that the browser had put aside does not come back signed in", () => {
  localStorage.removeItem("maas.had-session");
  window.dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true }));
  expect(session.get().kind).toBe("anonymous");
});

test("somebody else who signs in finds nothing of it", async () => {
  await session.signIn("bob", "x");
  expect(kept(ANN, "draft.new")).toBeNull();
  expectNothingOfAnn();
  keep(BOB, "draft.new", "hello");
  expect(kept(BOB, "draft.new")).toBe("hello");
});

test("a late refusal of one person's request does not end the session of another, nor is it sent again as theirs", async () => {
  let refuse: () => void = () => undefined;
  const waiting = new Promise<void>((resolve) => (refuse = resolve));
  const asked = serve(async (one) => {
    if (one.path !== "/v1/assistants") return answer(one);
    await waiting;
    return { status: 401, body: { error: { code: "unauthorized", message: "no" } } };
  });
  const late = get("/v1/assistants");
  const failed = expect(late).rejects.toThrow();
  await session.signOut();
  await session.signIn("bob", "x");
  refuse();
  await failed;
  expect(session.userId).toBe(BOB);
  expect(asked.filter((one) => one.path === "/v1/assistants").map((one) => one.credential)).toEqual([
    "Bearer token of ann",
  ]);
});

test("a renewal that arrives after signing out opens nothing", async () => {
  let arrive: () => void = () => undefined;
  const waiting = new Promise<void>((resolve) => (arrive = resolve));
  serve(async (one) => {
    if (!one.path.includes("refresh_token")) return answer(one);
    await waiting;
    return { body: tokensOf("ann") };
  });
  const renewal = session.renew();
  await session.signOut();
  arrive();
  expect(await renewal).toBe(false);
  expect(session.get().kind).toBe("anonymous");
});
