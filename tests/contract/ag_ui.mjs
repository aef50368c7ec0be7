// A thread of AG-UI: node ag_ui.mjs URL USER THREAD STEP...; prints messages, events and open interrupts.
// Steps: send TEXT, again (the same run a second time), decide JSON (the same answer to all open interrupts).
import { buildResumeArray, HttpAgent } from "@ag-ui/client";

const [url, user, threadId, ...steps] = process.argv.slice(2);
const agent = new HttpAgent({ url, threadId, headers: { "X-MaaS-User": user } });
const report = { runs: [], errors: [] };

async function run(parameters) {
  const events = [];
  report.runs.push(events);
  try {
    await agent.runAgent(parameters, { onEvent: ({ event }) => void events.push(event) });
  } catch (error) {
    report.errors.push(error.message);
  }
}

let count = 0;
const STEPS = {
  async send(content) {
    agent.addMessage({ id: `m${++count}`, role: "user", content });
    await run({ runId: `run-${count}` });
  },
  async again() {
    const messages = agent.messages;
    agent.setMessages(messages.slice(0, messages.findLastIndex((one) => one.role === "user") + 1));
    await run({ runId: `run-${count}` });
  },
  async decide(text) {
    const answer = JSON.parse(text);
    const answers = Object.fromEntries(agent.pendingInterrupts.map((one) => [one.id, answer]));
    await run({ runId: `run-${++count}`, resume: buildResumeArray(agent.pendingInterrupts, answers) });
  },
};
const warnings = [];
console.warn = console.error = (...words) => warnings.push(words.map(String).join(" "));
for (const step of steps) {
  const [name, ...words] = step.split(" ");
  await STEPS[name](words.join(" "));
}
console.log(JSON.stringify({ ...report, warnings, messages: agent.messages, interrupts: agent.pendingInterrupts }));
