// Clients that others wrote, each asking the same: node clients.mjs BASE_URL USER TEXT; prints what each of them got.
import OpenAI from "openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, streamText } from "ai";

const [baseURL, user, text] = process.argv.slice(2);
const messages = [{ role: "user", content: text }];
const openai = new OpenAI({ baseURL, apiKey: "none", maxRetries: 0 });
const maas = createOpenAICompatible({ name: "maas", baseURL, headers: { "X-MaaS-User": user } });

async function streamed(chunks, word) {
  const pieces = [];
  for await (const chunk of chunks) pieces.push(word(chunk));
  return { text: pieces.join(""), pieces: pieces.filter(Boolean).length };
}

const CLIENTS = {
  openai: async () => {
    const { data, response } = await openai.chat.completions.create({ model: "mentor", user, messages }).withResponse();
    return { text: data.choices[0].message.content, id: data.id, tokens: data.usage.total_tokens, status: response.status };
  },
  "openai-stream": async () =>
    streamed(
      await openai.chat.completions.create({ model: "mentor", user, messages, stream: true }),
      (chunk) => chunk.choices[0].delta.content ?? "",
    ),
  "openai-models": async () => ({ models: (await openai.models.list()).data.map((model) => model.id) }),
  "openai-error": async () => {
    try {
      await openai.chat.completions.create({ model: "nobody", user, messages });
    } catch (error) {
      return { is: error instanceof OpenAI.NotFoundError, code: error.code, type: error.type };
    }
  },
  ai: async () => {
    const { text: answer, usage } = await generateText({ model: maas("mentor"), prompt: text, maxRetries: 0 });
    return { text: answer, tokens: usage.totalTokens };
  },
  "ai-stream": async () => streamed(streamText({ model: maas("mentor"), prompt: text }).textStream, (piece) => piece),
};

const got = {};
for (const [name, ask] of Object.entries(CLIENTS)) got[name] = await ask();
console.log(JSON.stringify(got));
