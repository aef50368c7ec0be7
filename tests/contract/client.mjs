// The JavaScript client against a server: node client.mjs URL USER STEP [ARGUMENT...]; prints what the step gave as JSON.
import { MaaS, MaasError } from "../../clients/typescript/dist/index.js";

const [url, user_id, step, ...words] = process.argv.slice(2);
const maas = new MaaS({ url, timeoutMs: 20_000 });
const seen = (error) => ({ isOurs: error instanceof MaasError, code: error.code, status: error.status, ...error });

async function all(events) {
  const found = [];
  for await (const event of events) found.push(event);
  return found;
}

async function refused(promise) {
  return promise.then(
    () => null,
    (error) => seen(error),
  );
}

const STEPS = {
  async ask() {
    await maas.ask({ user_id, query: "My cat is called Pixel." });
    const answer = await maas.ask({ user_id, query: "What is my cat called?" });
    const events = await all(maas.stream({ user_id, query: "And again: what is my cat called?" }));
    const request = { user_id, query: "Later?", priority: "low", run_at: "2100-01-02T00:00:00Z", attributes: { batch: 7 } };
    const later = await maas.submit(request);
    const scheduled = await maas.wait(later, { timeoutMs: 0 }).catch((error) => error.code);
    return { answer, events, later, scheduled };
  },
  async memories() {
    const turns = [
      { role: "user", content: "My sister Alma moved to Lisbon." },
      { role: "assistant", content: "A fine place." },
    ];
    const added = await maas.add({ user_id, conversation: "spring", turns });
    await maas.add({ user_id, memory: "I love jazz." });
    await maas.wait(added.request_id);
    const found = await maas.search({ user_id, query: "Where does Alma live?", limit: 1 });
    const [memory] = found.results;
    const corrected = await maas.correct(memory.id, { user_id, memory: "My sister Alma moved to Porto." });
    const context = await maas.context({ user_id, query: "Where does Alma live?", max_tokens: 500 });
    const history = await maas.history(memory.id);
    const listed = await maas.memories({ user_id });
    const forgotten = await maas.forget(memory.id, { user_id });
    return { added, memory, corrected, context, history, listed, forgotten, gone: await refused(maas.memory(memory.id)) };
  },
  async facts() {
    await maas.ask({ user_id, query: "I live in Oslo. I love jazz." });
    let known = await maas.facts({ user_id });
    for (const end = Date.now() + 20_000; known.results.length < 2 && Date.now() < end; known = await maas.facts({ user_id }))
      await new Promise((resolve) => setTimeout(resolve, 100)); // the archivist writes them
    const jazz = known.results.find((one) => one.fact.includes("jazz"));
    const oslo = known.results.find((one) => one.fact.includes("Oslo"));
    await maas.decideFact(jazz.id, { user_id, verdict: "wrong" });
    await maas.correctFact(oslo.id, { user_id, fact: "I live in Voss." });
    await maas.mergeNames({ user_id, name: "user", same_as: "Ann" });
    const anns = await maas.facts({ user_id, about: "Ann" });
    const before = await maas.facts({ user_id, as_of: "2001-01-01T00:00:00Z" });
    return { known, anns, before, wrong: await maas.facts({ user_id, state: "wrong" }), now: await maas.facts({ user_id, limit: 100 }) };
  },
  async schedules() {
    const made = await maas.createSchedule({ user_id, query: "What is due?", cron: "30 8 * * 1-5", timezone: "Europe/Lisbon" });
    const paused = await maas.changeSchedule(made.id, { paused: true });
    const listed = await maas.schedules({ user_id });
    await maas.deleteSchedule(made.id);
    return { made, paused, listed, left: await maas.schedules({ user_id }) };
  },
  async conversations() {
    const opened = await maas.openConversation({ user_id });
    await maas.ask({ user_id, query: "My cat is called Pixel.", conversation_id: opened.id });
    const changed = await maas.changeConversation(opened.id, { title: "Cats / Кошки" });
    const listed = await maas.conversations({ user_id, limit: 1 });
    const found = await maas.conversations({ user_id, q: "Pixel" });
    const missed = await maas.conversations({ user_id, q: "zeppelin" });
    const messages = await maas.messages(opened.id, { limit: 1 });
    const cleared = await maas.clearConversation(opened.id);
    return { opened, changed, listed, found, missed, messages, cleared, now: await maas.conversation(opened.id) };
  },
  async actions(first, second) {
    const pending = await maas.actions({ user_id, status: "pending" });
    const [{ fingerprint }] = pending.results.filter((one) => one.id === first);
    const edited = await maas.editAction(first, { user_id, arguments: { to: "Ben" } });
    const changed = await refused(maas.approve(first, { user_id, fingerprint }));
    const approved = await maas.approve(first, { user_id, fingerprint: edited.fingerprint });
    const outcome = await maas.wait(approved.action_run_id);
    const rejected = await maas.reject(second, { user_id });
    return { pending, changed, approved, outcome, rejected, turned: await refused(maas.approve(second, { user_id })) };
  },
  async files(base64) {
    const image = await maas.uploadImage(new Blob([Buffer.from(base64, "base64")]), { user_id });
    const document = await maas.addDocument("canteen.md", "# Canteen\n\nThe millstone is turned on Mondays.\n", { user_id });
    const passages = await maas.searchDocuments({ user_id, q: "when is the millstone turned?" });
    const documents = await maas.documents({ user_id });
    return { image, document, passages, documents, removed: await maas.removeDocument(document.id, { user_id }) };
  },
  async errors(failedId) {
    const unknown = "00000000-0000-4000-8000-000000000404";
    const away = new MaaS({ url: "http://127.0.0.1:9", retries: 0 });
    const controller = new AbortController();
    setTimeout(() => controller.abort(), 50);
    return {
      missing: await refused(maas.memory(unknown)),
      invalid: await refused(maas.submit({ user_id, query: "a", assistant: "nobody" })),
      failed: await refused(maas.wait(failedId)),
      streamed: await refused(all(maas.follow(failedId))),
      noStream: await refused(all(maas.follow(unknown))),
      away: await refused(away.conversations({ user_id: unknown })),
      late: await refused(maas.wait(words[1], { timeoutMs: 100 })),
      stopped: await maas.wait(words[1], { signal: controller.signal }).catch((error) => error.name),
      stoppedStream: await all(maas.follow(words[1], { signal: AbortSignal.timeout(300) })).catch((error) => error.name),
    };
  },
  submit: () => maas.submit({ user_id, query: "My cat is called Pixel." }),
  keyed: () => maas.submit({ user_id, query: "My cat is called Pixel." }, { idempotencyKey: "one" }),
  open: () => refused(maas.openConversation({ user_id })),
  follow: (requestId, lastEventId) => all(maas.follow(requestId, { lastEventId })),
  async broken(requestId) {
    const asked = []; // the connection breaks behind two events, twice, in the middle of the third
    const breaking = async (input, init) => {
      asked.push(init.headers["last-event-id"] ?? "");
      const reply = await fetch(input, init);
      if (asked.length > 2) return reply;
      const blocks = (await reply.text()).split("\n\n").filter((block) => block.includes("data:"));
      const pieces = [`${blocks.slice(0, 2).join("\n\n")}\n\n: alive\n\n`, blocks[2].slice(0, 20)];
      const pull = (sink) => (pieces.length ? sink.enqueue(Buffer.from(pieces.shift())) : sink.error(new Error("broken")));
      return new Response(new ReadableStream({ pull }), { headers: reply.headers });
    };
    return { events: await all(new MaaS({ url, fetch: breaking }).follow(requestId)), asked };
  },
  reject: (actionId) => maas.reject(actionId, { user_id }),
  forget: (memoryId) => maas.forget(memoryId, { user_id }).then((result) => result ?? null),
};

console.log(JSON.stringify(await STEPS[step](...words)));
