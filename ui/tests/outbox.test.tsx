// Messages on their way are those of one person.

import { afterEach, beforeEach, expect, test } from "vitest";

import { Outbox, type Outgoing } from "../src/chat/outbox";
import { keepFor } from "../src/session/kept";
import { session } from "../src/session/session";
import { CONFIG, idOf, serve, tokensOf } from "./server";

const ANN = idOf("ann");
let isBusy = true;

function message(key: string): Outgoing {
  return {
    key,
    userId: ANN,
    conversationId: "c",
    assistant: "mentor",
    text: key,
    at: "2026-01-01T00:00:00Z",
    attachmentIds: [],
    isTemporary: false,
    isDebugged: false,
  };
}

function start() {
  return serve(({ path, body }) => {
    if (path === "/ui/config.json") return { body: CONFIG };
    if (path.startsWith("/auth")) return { body: tokensOf(body.email ?? "ann") };
    return isBusy
      ? { status: 429, body: { error: { code: "queue_full", message: "wait" } } }
      : { status: 202, body: { request_id: "r" } };
  });
}

beforeEach(async () => {
  isBusy = true;
  localStorage.clear();
  start();
  await session.start();
  await session.signIn("ann", "x");
});
afterEach(() => session.signOut());

test("an unsent message is kept for its person, and sent once", async () => {
  const before = new Outbox(ANN);
  before.enqueue(message("one"), () => undefined);
  before.close();
  expect(new Outbox(idOf("bob")).get()).toEqual([]);
  isBusy = false;
  const asked = start();
  const outbox = new Outbox(ANN);
  expect(outbox.get().map((one) => one.text)).toEqual(["one"]);
  await outbox.flush(() => undefined);
  expect(asked.map((one) => one.body?.query)).toEqual(["one"]);
  expect(JSON.stringify({ ...localStorage })).not.toContain("outbox");
});

test("a message that is refused stays, and says why in the language of the page", async () => {
  serve(() => ({ status: 403, body: { error: { code: "quota_exceeded", message: "no room left" } } }));
  const outbox = new Outbox(ANN);
  outbox.enqueue(message("one"), () => undefined);
  await expect.poll(() => outbox.get()[0]!.error).toBe("The storage limit is reached. Delete something first.");
});

test("what waits when its person signs out is neither sent later nor kept", async () => {
  const outbox = new Outbox(ANN);
  const sending = outbox.flush(() => undefined);
  outbox.enqueue(message("secret"), () => undefined);
  await sending;
  outbox.close();
  await session.signOut();
  isBusy = false;
  const asked = start();
  await session.signIn("bob", "x");
  outbox.enqueue(message("another"), () => undefined);
  await outbox.flush(() => undefined);
  expect(asked.filter((one) => one.path === "/v1/runs")).toEqual([]);
  expect(JSON.stringify({ ...localStorage })).not.toContain("secret");
});

test("an outbox that cannot be read is empty", () => {
  localStorage.setItem(`maas.of.${ANN}.outbox`, "{broken");
  keepFor(ANN);
  expect(new Outbox(ANN).get()).toEqual([]);
});
