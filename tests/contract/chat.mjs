// A chat of the AI SDK: node chat.mjs API USER CHAT OPTIONS STEP...; prints the messages and what was reported.
// Steps: send TEXT, again (the same request a second time), regenerate, resume, leave TEXT (stops after the first word).
import { AbstractChat, DefaultChatTransport, readUIMessageStream } from "ai";

const [api, user, id, options, ...steps] = process.argv.slice(2);

class State {
  status = "ready";
  error = undefined;
  messages = [];
  pushMessage = (message) => this.messages.push(message);
  popMessage = () => this.messages.pop();
  replaceMessage = (index, message) => (this.messages[index] = message);
  snapshot = (value) => structuredClone(value);
}

class Chat extends AbstractChat {}

const { messages, ...body } = JSON.parse(options);
const state = new State();
state.messages = messages ?? [];
const report = { errors: [], finished: [], data: [], snapshots: 0, status: [] };
const transport = new DefaultChatTransport({ api, headers: { "X-MaaS-User": user }, body });
const chat = new Chat({
  id, state, transport,
  onError: (error) => report.errors.push(error.message),
  onFinish: ({ isAbort, isDisconnect, isError }) => report.finished.push({ isAbort, isDisconnect, isError }),
  onData: (part) => report.data.push(part),
});

async function again() {
  const said = state.messages.filter((message) => message.role === "user").at(-1);
  const sent = { chatId: id, messages: [said], trigger: "submit-message", messageId: undefined };
  let last;
  for await (const message of readUIMessageStream({ stream: await transport.sendMessages(sent) })) {
    report.snapshots += 1;
    last = message;
  }
  report.again = last;
}

async function leave(text) {
  const sending = chat.sendMessage({ text });
  while (!state.messages.some((one) => one.role === "assistant" && one.parts.some((part) => part.type === "text")))
    await new Promise((resolve) => setTimeout(resolve, 20));
  report.partial = structuredClone(state.messages.at(-1));
  await chat.stop();
  await sending;
}

const STEPS = {
  send: (text) => chat.sendMessage({ text }),
  regenerate: () => chat.regenerate(),
  resume: () => chat.resumeStream(),
  again,
  leave,
};
for (const step of steps) {
  const [name, ...words] = step.split(" ");
  await STEPS[name](words.join(" "));
  report.status.push(chat.status);
}
console.log(JSON.stringify({ messages: state.messages, ...report }));
