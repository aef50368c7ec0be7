// Writes the types of the server's API into the file that is named: from its OpenAPI document on standard input, those
// routes that the page may call, or those of the tags that are named, without words and without what is only checked at
// run time: node openapi.mjs FILE [TAG...]

import { writeFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import openapiTS, { astToString } from "openapi-typescript";

const PAGE_TAGS =
  "runs conversations links shared apps attachments actions assistants memories facts knowledge schedules webhooks users admin caller".split(
    " ",
  );
const [file, ...tags] = process.argv.slice(2);
const TAGS = tags.length ? tags : PAGE_TAGS;
const METHODS = ["get", "post", "put", "patch", "delete"];
const JSON_TYPE = "application/json";
const KEPT = ["$ref", "type", "properties", "required", "items", "enum", "const", "additionalProperties"];
const CHOICES = ["anyOf", "oneOf", "allOf"]; // beside properties they only say which go together

const document = JSON.parse(await text(process.stdin));
const operations = Object.entries(document.paths).flatMap(([path, ofPath]) =>
  METHODS.filter((method) => TAGS.includes(ofPath[method]?.tags[0])).map((method) => [path, method, ofPath[method]]),
);

/** What a schema says about types; a field with a default is always there in what the server has written. */
function bare(schema, isWritten) {
  if (schema?.$ref?.endsWith("/Json")) return {};
  if (Array.isArray(schema)) return schema.map((one) => bare(one, isWritten));
  if (typeof schema !== "object" || schema === null) return schema;
  const kept = Object.fromEntries(
    Object.entries(schema)
      .filter(([name]) => KEPT.includes(name) || (CHOICES.includes(name) && !schema.properties))
      .map(([name, value]) => [
        name,
        name === "properties"
          ? Object.fromEntries(Object.entries(value).map(([field, one]) => [field, bare(one, isWritten)]))
          : bare(value, isWritten),
      ]),
  );
  const [pattern] = Object.values(schema.patternProperties ?? {});
  if (pattern) kept.additionalProperties = bare(pattern, isWritten);
  const filled = Object.entries(schema.properties ?? {}).filter(([, one]) => isWritten && "default" in one);
  if (filled.length) kept.required = [...new Set([...(schema.required ?? []), ...filled.map(([field]) => field)])];
  return kept;
}

/** The names of the schemas in `node`, and of those in them. */
function namesIn(node, found = new Set()) {
  for (const [, name] of JSON.stringify(node).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
    if (!found.has(name)) namesIn(document.components.schemas[name], found.add(name));
  }
  return found;
}

const isGood = ([status]) => status.startsWith("2");
const json = (content = {}) => (JSON_TYPE in content ? { [JSON_TYPE]: content[JSON_TYPE] } : {});
const asked = namesIn(operations.map(([, , { requestBody }]) => json(requestBody?.content)));
const told = namesIn(operations.map(([, , { responses }]) => Object.entries(responses).filter(isGood)));
const paths = {};
for (const [path, method, { operationId, parameters = [], requestBody, responses }] of operations) {
  paths[path] ??= {};
  paths[path][method] = {
    operationId,
    parameters: parameters
      .filter((one) => one.in !== "header")
      .map((one) => ({ name: one.name, in: one.in, required: one.required, schema: bare(one.schema, false) })),
    ...(json(requestBody?.content)[JSON_TYPE] && {
      requestBody: { required: true, content: json(requestBody.content) },
    }),
    responses: Object.fromEntries(
      Object.entries(responses)
        .filter(isGood)
        .map(([status, { content }]) => [status, { description: "", content: json(content) }]),
    ),
  };
}
const schemas = Object.fromEntries(
  [...new Set([...asked, ...told])]
    .sort()
    .map((name) => [name, bare(document.components.schemas[name], !asked.has(name))]),
);
const types = await openapiTS({ openapi: "3.1.0", info: { title: "", version: "" }, paths, components: { schemas } });
const written = astToString(types)
  .replace(/^ +(?:\w+\?: never|headers: \{\s+\[name: string\]: unknown;\s+\});\n/gm, "") // what is not there
  .replace(/^ +parameters: \{\s+\};\n/gm, "")
  .replace(/^(?: {4})+/gm, (indent) => " ".repeat(indent.length / 2));
writeFileSync(file, `// Generated from the OpenAPI document of the server: make ui.\n\n${written}`);
