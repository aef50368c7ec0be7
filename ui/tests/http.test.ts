// Requests: what is asked and answered by their path, their errors, and the keys under which answers are kept. Of the types
// `npm run check` is what fails.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, expectTypeOf, test, vi } from "vitest";

import { ApiError, readError } from "../src/api/error";
import { get, patch, post, remove, toQuery } from "../src/api/http";
import type { Answer, Body, Item, Query } from "../src/api/route";
import type { Memory, Profile, Run, RunSummary } from "../src/api/types";
import { visible } from "../src/parts/visible";
import { serve } from "./server";

const id: string = "r";

test("a path says what is answered, the longer one not for the shorter", () => {
  expectTypeOf<Answer<"get", `/v1/runs/${string}`>>().toEqualTypeOf<Run>();
  expectTypeOf<Answer<"get", `/v1/runs/${string}/trace`>>().toHaveProperty("stages");
  expectTypeOf<Answer<"put", `/v1/users/${string}/profile`>>().toEqualTypeOf<Profile>();
  expectTypeOf<Answer<"delete", `/v1/admin/keys/${string}`>>().toEqualTypeOf<undefined>();
  expectTypeOf<Item<"/v1/runs">>().toEqualTypeOf<RunSummary>();
  expectTypeOf<Item<"/v1/memories">>().toEqualTypeOf<Memory>();
});

test("a body and a query have the fields that the server knows", () => {
  expectTypeOf<Body<"post", `/v1/runs/${string}/press`>>().toEqualTypeOf<{ user_id: string; button: string }>();
  expectTypeOf<Query<"get", "/v1/memories">>()
    .toHaveProperty("level")
    .toEqualTypeOf<number | string | null | undefined>();
});

test("what the server does not know is an error of types", () => {
  const wrong = [
    // @ts-expect-error: there is no such path
    () => get("/v1/run"),
    // @ts-expect-error: it is not posted to
    () => post(`/v1/runs/${id}`),
    // @ts-expect-error: there is no such parameter
    () => get("/v1/runs", { users: "" }),
    // @ts-expect-error: there is no such field
    () => patch(`/v1/conversations/${id}`, { name: "" }),
    // @ts-expect-error: a field is missing
    () => post("/v1/memories/search", { query: "" }),
    // @ts-expect-error: nothing is answered
    async () => (await remove(`/v1/admin/keys/${id}`)).id,
  ];
  expect(wrong).toHaveLength(6);
});

test("parameters that are empty are left out", () => {
  expect(toQuery({ a: 1, b: "", c: null, d: undefined, e: false, f: "x y" })).toBe("?a=1&e=false&f=x+y");
  expect([toQuery(), toQuery({ a: null })]).toEqual(["", ""]);
});

test.each([
  [{ error: { code: "queue_full", message: "wait" } }, "queue_full", "wait"],
  [{ error_code: "otp_expired", msg: "too late" }, "otp_expired", "too late"], // of the sign-in routes
  [null, "http_429", "Too Many Requests"],
])("an error is read: %j", async (body, code, message) => {
  const headers = { "retry-after": "7", "x-request-id": "r" };
  const text = body === null ? "<html>" : JSON.stringify(body);
  const error = await readError(new Response(text, { status: 429, statusText: "Too Many Requests", headers }));
  expect(error).toMatchObject({ status: 429, code, message, requestId: "r", retryAfterS: 7 });
});

test("a server that does not answer is an error of its own; who asks no more gets none of ours", async () => {
  vi.stubGlobal("fetch", (_: string, { signal }: RequestInit) =>
    Promise.reject(signal?.reason ?? new TypeError("down")),
  );
  await expect(get("/v1/assistants")).rejects.toMatchObject({ status: 0, code: "unreachable" });
  const gone = get("/v1/assistants", {}, AbortSignal.abort());
  await expect(gone).rejects.not.toBeInstanceOf(ApiError);
});

test("a body is JSON, and no answer is undefined", async () => {
  const asked = serve(() => ({ status: 204 }));
  expect(await remove(`/v1/admin/keys/${id}`)).toBeUndefined();
  await post(`/v1/runs/${id}/press`, { user_id: "u", button: "yes" });
  expect(asked.map(({ method, body }) => [method, body])).toEqual([
    ["DELETE", null],
    ["POST", { user_id: "u", button: "yes" }],
  ]);
});

test("keys are written in one file", () => {
  const sources = readdirSync("src", { recursive: true, encoding: "utf8" }).filter((path) => /\.tsx?$/.test(path));
  const byHand = sources.filter((path) => /Query(?:Key: |Data\()\["/i.test(readFileSync(join("src", path), "utf8")));
  expect(sources.length).toBeGreaterThan(50);
  expect(byHand).toEqual([]);
});

test("a page that is developed asks the server at the port where it listens", () => {
  const settings = readFileSync(join("..", "maas", "settings", "http.py"), "utf8");
  const port = /port: int = Field\((\d+),/.exec(settings)![1];
  expect(readFileSync("vite.config.ts", "utf8")).toContain(`process.env.MAAS_PORT ?? ${port}}`);
});

test("nothing in the text of others turns it around or steers a terminal", () => {
  expect(visible("a\r\nb\rc\td")).toBe("a\nb\nc\td");
  expect(visible("\u001b[2J\u202egnp.exe\u2069\u007f")).toBe("⟨1b⟩[2J⟨202e⟩gnp.exe⟨2069⟩⟨7f⟩");
});
