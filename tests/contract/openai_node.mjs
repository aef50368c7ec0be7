// The official client of Node, as tests/frameworks/cases.py describes: a case for each line {case, url, model, text}.
import OpenAI from "openai";
import { zodResponseFormat, zodTextFormat } from "openai/helpers/zod";
import { createInterface } from "node:readline";
import { z } from "zod";

const Pet = z.object({ name: z.string(), legs: z.int() });
const TOWN = { type: "object", properties: { town: { type: "string" } }, required: ["town"] };
const weather = { name: "weather", description: "The weather.", parameters: TOWN };
const messagesOf = (content) => [{ role: "user", content }];
const CASES = {
  async chat({ openai, model, text }) {
    const { choices, usage } = await openai.chat.completions.create({ model, messages: messagesOf(text) });
    return [choices[0].message.content, usage.total_tokens];
  },
  async stream({ openai, model, text }) {
    const pieces = [];
    const chunks = await openai.chat.completions.create({ model, messages: messagesOf(text), stream: true });
    for await (const chunk of chunks) pieces.push(chunk.choices[0]?.delta.content ?? "");
    return { pieces };
  },
  async parse({ openai, model, text }) {
    const format = zodResponseFormat(Pet, "pet");
    const reply = await openai.chat.completions.parse({ model, messages: messagesOf(text), response_format: format });
    return reply.choices[0].message.parsed;
  },
  async "run tools"({ openai, model, text }) {
    const run = async ({ town }) => `snow in ${town}`;
    const tools = [{ type: "function", function: { ...weather, parse: JSON.parse, function: run } }];
    const runner = openai.chat.completions.runTools({ model, messages: messagesOf(text), tools });
    return [await runner.finalContent(), runner.messages.map((one) => one.role)];
  },
  async responses({ openai, model, text }) {
    return (await openai.responses.create({ model, input: text })).output_text;
  },
  async "responses stream"({ openai, model, text }) {
    const pieces = [];
    for await (const event of await openai.responses.create({ model, input: text, stream: true })) {
      if (event.type === "response.output_text.delta") pieces.push(event.delta);
    }
    return { pieces };
  },
  async "responses parse"({ openai, model, text }) {
    const reply = await openai.responses.parse({ model, input: text, text: { format: zodTextFormat(Pet, "pet") } });
    return reply.output_parsed;
  },
  async "responses tools"({ openai, model, text }) {
    const tools = [{ type: "function", strict: false, ...weather }];
    const first = await openai.responses.create({ model, input: text, tools });
    const [call] = first.output.filter((item) => item.type === "function_call");
    const result = { type: "function_call_output", call_id: call.call_id, output: "snow" };
    const input = [...messagesOf(text), ...first.output, result];
    const last = await openai.responses.create({ model, input, tools });
    return [call.name, call.arguments, last.output_text];
  },
};

async function run({ case: name, url, ...asked }) {
  const openai = new OpenAI({ baseURL: url, apiKey: "none" });
  try {
    return { result: await CASES[name]({ openai, ...asked }) };
  } catch (error) {
    return { error: `${error.name}: ${error.message}`, status: error.status ?? null };
  }
}

const write = (line) => process.stdout.write(`${line}\n`);
write("ready");
for await (const line of createInterface({ input: process.stdin })) write(JSON.stringify(await run(JSON.parse(line))));
