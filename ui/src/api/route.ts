// What the server takes and answers on a path, by its OpenAPI document: a path that it does not have is a type error, and
// so is a field that it does not know.

import type { paths } from "./schema";

type Method = "get" | "post" | "put" | "patch" | "delete";

/** `/v1/runs/{id}` as the type of a template literal: `/v1/runs/${string}`. */
type Filled<Template extends string> = Template extends `${infer Head}{${string}}${infer Tail}`
  ? `${Head}${string}${Filled<Tail>}`
  : Template;

/** The paths that take a method. */
export type Route<M extends Method> = {
  [Template in keyof paths]: M extends keyof paths[Template] ? Filled<Template> : never;
}[keyof paths];

type Operation<M extends Method, Path extends string> = {
  [Template in keyof paths]: Path extends Filled<Template>
    ? Filled<Template> extends Path
      ? M extends keyof paths[Template]
        ? paths[Template][M]
        : never
      : never
    : never;
}[keyof paths];

type Json<Message> = Message extends { content: { "application/json": infer Value } } ? Value : undefined;

/** What is answered; undefined where nothing is. */
export type Answer<M extends Method, Path extends string> =
  Operation<M, Path> extends { responses: infer Responses } ? Json<Responses[keyof Responses]> : never;

export type Body<M extends Method, Path extends string> =
  Operation<M, Path> extends { requestBody: infer Message } ? Json<Message> : undefined;

/** The parameters behind the question mark; those that are empty are left out. */
export type Query<M extends Method, Path extends string> =
  Operation<M, Path> extends { parameters: { query?: infer Parameters } }
    ? { [Name in keyof Parameters]?: Parameters[Name] | string | null }
    : Record<string, never>;

/** An item of a list that is answered in pages. */
export type Item<Path extends string> = Answer<"get", Path> extends { results: (infer One)[] } ? One : never;
