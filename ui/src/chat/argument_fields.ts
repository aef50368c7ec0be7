// Arguments as the fields of a form, by the JSON Schema of their tool: a text for each, and back.

import type { Action } from "../api/types";

type FieldKind = "text" | "number" | "choice" | "flag" | "date" | "time" | "lines" | "json";

interface Schema {
  type?: unknown;
  format?: unknown;
  enum?: unknown;
  anyOf?: unknown;
  items?: unknown;
  description?: unknown;
}

export interface ArgumentField {
  name: string;
  kind: FieldKind;
  isRequired: boolean;
  isInteger: boolean;
  options: (string | number)[]; // of a choice
  help: string;
  text: string; // as it stands in the form at first
}

/** The fields of an action, in the order of the schema; what it does not know comes last. */
export function fieldsOf({ arguments: values, parameters }: Pick<Action, "arguments" | "parameters">): ArgumentField[] {
  const properties = asObject(parameters?.properties);
  const required = Array.isArray(parameters?.required) ? parameters.required : [];
  return [...new Set([...Object.keys(properties), ...Object.keys(values)])].map((name) => {
    const schema = withoutNull(asObject(properties[name]));
    const kind = fitting(kindOf(schema), values[name]);
    return {
      name,
      kind,
      isRequired: required.includes(name),
      isInteger: schema.type === "integer",
      options: kind === "choice" ? (schema.enum as (string | number)[]) : [],
      help: typeof schema.description === "string" ? schema.description : "",
      text: toText(kind, values[name]),
    };
  });
}

/** The arguments that a form says, and the names of fields that hold no value of their kind. A field that was not changed keeps its value. */
export function readFields(
  fields: ArgumentField[],
  texts: Record<string, string>,
  values: Record<string, unknown>,
): { values: Record<string, unknown>; wrong: string[] } {
  const read: Record<string, unknown> = {};
  const wrong: string[] = [];
  for (const field of fields) {
    const text = texts[field.name] ?? field.text;
    const value = text === field.text ? values[field.name] : fromText(field, text);
    if (value === WRONG) wrong.push(field.name);
    else if (value !== undefined) read[field.name] = value;
  }
  return { values: read, wrong };
}

const WRONG = Symbol("no value of its kind");

function kindOf(schema: Schema): FieldKind {
  if (Array.isArray(schema.enum) && schema.enum.every((one) => typeof one === "string" || typeof one === "number"))
    return "choice";
  switch (schema.type) {
    case "string":
      return schema.format === "date-time" ? "time" : schema.format === "date" ? "date" : "text";
    case "number":
    case "integer":
      return "number";
    case "boolean":
      return "flag";
    case "array":
      return asObject(schema.items).type === "string" ? "lines" : "json";
    default:
      return "json";
  }
}

/** The kind, if the value can stand in a field of it; else JSON. */
function fitting(kind: FieldKind, value: unknown): FieldKind {
  if (value === undefined || value === null) return kind;
  const isFitting = {
    text: typeof value === "string",
    number: typeof value === "number",
    choice: typeof value === "string" || typeof value === "number",
    flag: typeof value === "boolean",
    date: typeof value === "string" && /^\d{4}-\d\d-\d\d$/.test(value),
    time: typeof value === "string" && !Number.isNaN(Date.parse(value)),
    lines: Array.isArray(value) && value.every((one) => typeof one === "string" && !one.includes("\n")),
    json: true,
  }[kind];
  if (isFitting) return kind;
  return typeof value === "string" && (kind === "date" || kind === "time") ? "text" : "json";
}

function toText(kind: FieldKind, value: unknown): string {
  if (value === undefined || value === null) return "";
  if (kind === "lines") return (value as string[]).join("\n");
  if (kind === "json") return JSON.stringify(value, null, 2);
  if (kind === "time") return toLocalTime(new Date(value as string));
  return String(value);
}

function fromText(field: ArgumentField, text: string): unknown {
  const isEmpty = field.kind === "text" ? !text && !field.isRequired : !text.trim();
  if (isEmpty) return field.isRequired ? WRONG : undefined;
  switch (field.kind) {
    case "number": {
      const value = Number(text);
      return Number.isFinite(value) && (!field.isInteger || Number.isInteger(value)) ? value : WRONG;
    }
    case "choice":
      return field.options.find((one) => String(one) === text) ?? WRONG;
    case "flag":
      return text === "true";
    case "time":
      return Number.isNaN(Date.parse(text)) ? WRONG : withOffset(new Date(text));
    case "lines":
      return text.split("\n").flatMap((line) => line.trim() || []);
    case "json":
      try {
        return JSON.parse(text);
      } catch {
        return WRONG;
      }
    default:
      return text;
  }
}

/** `{anyOf: [X, null]}`, as an optional argument is described, is X. */
function withoutNull(schema: Schema): Schema {
  if (Array.isArray(schema.type)) {
    const types = schema.type.filter((one) => one !== "null");
    return types.length === 1 ? { ...schema, type: types[0] } : schema;
  }
  if (!Array.isArray(schema.anyOf)) return schema;
  const others = schema.anyOf.filter((one) => asObject(one).type !== "null");
  return others.length === 1 ? { ...schema, ...asObject(others[0]) } : schema;
}

function asObject(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}

/** `2026-05-06T09:05` in the zone of the browser, as an input of times takes it. */
function toLocalTime(at: Date): string {
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

function withOffset(at: Date): string {
  const minutes = -at.getTimezoneOffset();
  const part = (value: number) => String(Math.trunc(Math.abs(value))).padStart(2, "0");
  return `${toLocalTime(at)}:00${minutes < 0 ? "-" : "+"}${part(minutes / 60)}:${part(minutes % 60)}`;
}
