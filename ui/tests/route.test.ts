// The types of requests are those of the server's OpenAPI document; `npm run check` is what fails here.

import { expect, expectTypeOf, test } from "vitest";

import { get, patch, post, remove, toQuery } from "../src/api/http";
import type { Answer, Body, Item, Query } from "../src/api/route";
import type { Memory, Profile, Run, RunSummary } from "../src/api/types";

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
    () => post(`/v1/runs/${1}`),
    // @ts-expect-error: there is no such parameter
    () => get("/v1/runs", { users: "" }),
    // @ts-expect-error: there is no such field
    () => patch(`/v1/conversations/${"c"}`, { name: "" }),
    // @ts-expect-error: a field is missing
    () => post("/v1/memories/search", { query: "" }),
    // @ts-expect-error: nothing is answered
    async () => (await remove(`/v1/admin/keys/${"k"}`)).id,
  ];
  expect(wrong).toHaveLength(6);
});

test("parameters that are empty are left out", () => {
  expect(toQuery({ a: 1, b: "", c: null, d: undefined, e: false, f: "x y" })).toBe("?a=1&e=false&f=x+y");
  expect([toQuery(), toQuery({ a: null })]).toEqual(["", ""]);
});
