// aimock with replies that repeat what they were asked: a mix-up or a repetition shows in the answer.
import { LLMock } from "@copilotkit/aimock";

const MARK = /run \d{6} of user \d{4}/g;
const ANALYSIS = {
  needs_context: true, context_type: "SPECIFIC_HISTORY", time_scope: "hot", search_keywords: [], context_found: null,
};

const within = (text, tag) => text.match(new RegExp(`<${tag}>\\n([\\s\\S]*?)\\n</${tag}>`))?.[1] ?? "";
const marks = (text) => [...new Set(text.match(MARK) ?? ["nobody"])].join(" and ");

const REPLIES = {
  analyzer: () => JSON.stringify(ANALYSIS),
  assembler: (text) => within(text, "memory").slice(0, 3000) || "(nothing)",
  limited: (text) => `The answer to ${marks(text)}.`,
  responder: (text) => `The answer to ${marks(text)}.`,
  archivist: (text) => JSON.stringify({
    time_bucket_start: "2025-01-01", time_bucket_end: "2025-01-01", tags: ["Chaos"],
    summary: `The user sent ${marks(within(text, "logs"))}.`,
  }),
};

const mock = new LLMock({ host: "127.0.0.1", port: 0, strict: true, logLevel: "silent", journalMaxEntries: 1 });
for (const [model, reply] of Object.entries(REPLIES)) {
  mock.on({ model }, ({ messages }) => ({ content: reply(messages.at(-1).content) }));
}
await mock.start();
console.log(`aimock listening on ${mock.url}`);
