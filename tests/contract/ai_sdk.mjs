// The AI SDK, as tests/frameworks/cases.py describes: a case for each line {case, url, model, text} of standard input.
import { createInterface } from "node:readline";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateObject, generateText, jsonSchema, Output, stepCountIs, streamText, tool } from "ai";

const PET = jsonSchema({
  type: "object",
  properties: { name: { type: "string" }, legs: { type: "integer" } },
  required: ["name", "legs"],
  additionalProperties: false,
});
const TOWN = jsonSchema({ type: "object", properties: { town: { type: "string" } }, required: ["town"] });
const tools = {
  weather: tool({ description: "The weather.", inputSchema: TOWN, execute: async ({ town }) => `snow in ${town}` }),
  height: tool({ description: "The height.", inputSchema: TOWN, execute: async ({ town }) => town.length }),
};
const KINDS = {
  "responses ": ({ url, model }) => createOpenAI({ baseURL: url, apiKey: "none" })(model),
  "": ({ url, model }) => createOpenAI({ baseURL: url, apiKey: "none" }).chat(model),
  "compatible ": ({ url, model }) => createOpenAICompatible({ name: "maas", baseURL: url })(model),
};
const CASES = {
  async chat(model, prompt) {
    const { text, usage } = await generateText({ model, prompt, system: "Be brief." });
    return [text, usage.totalTokens];
  },
  async stream(model, prompt) {
    const { textStream } = streamText({ model, prompt, onError: ({ error }) => { throw error; } });
    const pieces = [];
    for await (const piece of textStream) pieces.push(piece);
    return { pieces };
  },
  async dialogue(model, prompt) {
    const messages = [{ role: "user", content: prompt }];
    const first = await generateText({ model, messages });
    messages.push(...first.response.messages, { role: "user", content: `${prompt} And then?` });
    return [first.text, (await generateText({ model, messages })).text];
  },
  async "dialogue with tools"(model, prompt) {
    const options = { model, tools, stopWhen: stepCountIs(2) };
    const messages = [{ role: "user", content: prompt }];
    const first = await generateText({ ...options, messages });
    messages.push(...first.response.messages, { role: "user", content: `${prompt} And then?` });
    const second = await generateText({ ...options, messages });
    return [first.text, second.text, second.steps.length];
  },
  async output(model, prompt) {
    return (await generateText({ model, prompt, output: Output.object({ schema: PET }) })).output;
  },
  async object(model, prompt) {
    return (await generateObject({ model, prompt, schema: PET })).object;
  },
  async tools(model, prompt) {
    const { text, steps } = await generateText({ model, prompt, tools, stopWhen: stepCountIs(2) });
    return [text, steps.map((one) => one.finishReason)];
  },
  async "tools stream"(model, prompt) {
    const { fullStream } = streamText({ model, prompt, tools, stopWhen: stepCountIs(2) });
    const kinds = [];
    let text = "";
    for await (const part of fullStream) {
      if (part.type === "error") throw part.error;
      if (part.type === "text-delta") text += part.text;
      if (part.type.startsWith("tool-") && !part.type.includes("delta")) kinds.push(part.type);
    }
    return [text, kinds];
  },
};

async function run({ case: name, text, ...target }) {
  const [prefix] = Object.keys(KINDS).filter((one) => one && name.startsWith(one)).concat("");
  try {
    return { result: await CASES[name.slice(prefix.length)](KINDS[prefix](target), text) };
  } catch (error) {
    const cause = error.lastError ?? error;
    return { error: `${cause.name}: ${cause.message}`, status: cause.statusCode ?? null };
  }
}

const write = (line) => process.stdout.write(`${line}\n`);
console.info = console.log = console.error; // warnings of the SDK
write("ready");
for await (const line of createInterface({ input: process.stdin })) write(JSON.stringify(await run(JSON.parse(line))));
