// Arguments as fields of a form, by the JSON Schema of their tool, and back.

import { expect, test } from "vitest";

import { type ArgumentField, fieldsOf, readFields } from "../src/chat/argument_fields";

const NULLABLE = { anyOf: [{ type: "string" }, { type: "null" }] };

function field(schema: object, value?: unknown): ArgumentField {
  const [one] = fieldsOf({
    arguments: value === undefined ? {} : { x: value },
    parameters: { properties: { x: schema } },
  });
  return one!;
}

function read(schema: object, value: unknown, text: string) {
  const one = field(schema, value);
  const { values, wrong } = readFields([one], { x: text }, { x: value });
  return wrong.length ? "wrong" : values.x;
}

test("fields stand in the order of the schema, and those that it does not know come last", () => {
  const parameters = { properties: { to: { type: "string" }, cc: { type: "string" } }, required: ["to"] };
  const fields = fieldsOf({ arguments: { x: 1, cc: "b", to: "a" }, parameters });
  expect(fields.map((one) => [one.name, one.kind, one.isRequired])).toEqual([
    ["to", "text", true],
    ["cc", "text", false],
    ["x", "json", false],
  ]);
});

test.each([
  [{ type: "string" }, "a", "text"],
  [NULLABLE, null, "text"],
  [{ type: ["string", "null"] }, "a", "text"],
  [{ type: "string", enum: ["a", "b"] }, "a", "choice"],
  [{ type: "integer" }, 1, "number"],
  [{ type: "boolean" }, false, "flag"],
  [{ type: "string", format: "date" }, "2026-05-06", "date"],
  [{ type: "string", format: "date" }, "tomorrow", "text"],
  [{ type: "string", format: "date-time" }, "2026-05-06T09:00:00Z", "time"],
  [{ type: "array", items: { type: "string" } }, ["a"], "lines"],
  [{ type: "array", items: { type: "string" } }, ["a\nb"], "json"],
  [{ type: "array", items: { type: "object" } }, [], "json"],
  [{ type: "integer" }, "1", "json"],
  [{ $ref: "#/$defs/Step" }, {}, "json"],
])("%j with %j is a field of kind %s", (schema, value, kind) => {
  expect(field(schema, value).kind).toBe(kind);
});

test.each([
  [{ type: "integer" }, 1, "2", 2],
  [{ type: "integer" }, 1, "2.5", "wrong"],
  [{ type: "number" }, 1, "2.5", 2.5],
  [{ type: "number" }, 1, "", undefined],
  [{ type: "boolean" }, false, "true", true],
  [{ enum: [1, 2] }, 1, "2", 2],
  [NULLABLE, "a", "", undefined],
  [{ type: "array", items: { type: "string" } }, ["a"], "b\n\n c ", ["b", "c"]],
  [{ type: "object" }, {}, '{"a": 1}', { a: 1 }],
  [{ type: "object" }, {}, "{", "wrong"],
])("%j: %j changed to %j is %j", (schema, value, text, changed) => {
  expect(read(schema, value, text)).toEqual(changed);
});

test("a time is shown in the zone of the browser and says its offset; unchanged it stays as it was", () => {
  const schema = { type: "string", format: "date-time" };
  const at = "2026-05-06T09:00:30.5+03:00";
  const { text } = field(schema, at);
  expect(new Date(text).getTime()).toBe(Date.parse("2026-05-06T06:00:00Z"));
  expect(read(schema, at, text)).toBe(at);
  const changed = read(schema, at, "2026-05-07T10:15") as string;
  expect(changed).toMatch(/^2026-05-07T10:15:00[+-]\d\d:\d\d$/);
  expect(Date.parse(changed)).toBe(new Date(2026, 4, 7, 10, 15).getTime());
});

test("what is required is not left out", () => {
  const fields = fieldsOf({
    arguments: { n: 1, s: "a" },
    parameters: { properties: { n: { type: "integer" }, s: { type: "string" } }, required: ["n", "s"] },
  });
  expect(readFields(fields, { n: "", s: "" }, { n: 1, s: "a" })).toEqual({ values: { s: "" }, wrong: ["n"] });
});
