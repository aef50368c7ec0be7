// mem0's SDK, as tests/frameworks/ask_mem0.py describes: `model` is the API key, `text` the name of the user.
import { MemoryClient } from "mem0ai";
import { createInterface } from "node:readline";

const DIALOGUE = [
  { role: "user", content: "I live in Bergen." },
  { role: "assistant", content: "Bergen is by the sea." },
  { role: "user", content: "I work as a gardener." },
];
const memories = ({ results }) => results.map((one) => one.memory);

async function refusal(call) {
  try {
    await call;
  } catch (error) {
    return error.name;
  }
  return "none";
}

const CASES = {
  async add(mem0, userId) {
    const options = { userId, agentId: "vet", appId: "clinic", runId: "monday", metadata: { topic: "pets", weight: 31 } };
    const first = await mem0.add([{ role: "user", content: "I adopted a greyhound called Comet." }], options);
    const second = await mem0.add(DIALOGUE, { userId, runId: "tuesday", metadata: { weight: 2 } });
    const added = [...first.results, ...second.results].map((one) => [one.event, one.memory]);
    return { runs: [first.eventId, second.eventId], added };
  },
  async read(mem0, userId) {
    const whose = { user_id: userId };
    const texts = async (...conditions) => memories(await mem0.getAll({ filters: { AND: [whose, ...conditions] } }));
    const {
      results: [found],
    } = await mem0.search("What is the greyhound called?", { filters: whose, topK: 1 });
    const one = await mem0.get(found.id);
    const page = await mem0.getAll({ filters: whose, page: 2, pageSize: 2 });
    const filtered = await mem0.search("Am I a gardener?", { filters: { ...whose, run_id: "tuesday" } });
    return {
      found: [found.memory, found.metadata, 0 < found.score && found.score <= 1],
      is_the_same: JSON.stringify({ ...one, score: found.score }) === JSON.stringify(found),
      of: [one.userId, one.agentId, one.appId, one.runId],
      page: [page.count, page.results.length, page.next, page.previous !== null],
      "search with filters": memories(filtered),
      and: await texts({ agent_id: "vet" }, { app_id: { in: ["clinic"] } }),
      or: await texts({ OR: [{ run_id: "monday" }, { keywords: { icontains: "GARDENER" } }] }),
      not: await texts({ NOT: [{ run_id: "monday" }] }),
      "range of numbers": await texts({ metadata: { weight: { gte: 2, lt: 31 } } }),
      "range of times": await texts({ created_at: { gte: "2020-01-01", lte: one.createdAt } }),
      categories: await texts({ categories: { in: [one.categories[0]] } }, { run_id: "monday" }),
      "categories without filters": (await mem0.getAll({ filters: whose, categories: ["x"] })).count,
      "no category": await texts({ categories: { in: ["nothing of the kind"] } }),
    };
  },
  async change(mem0, userId) {
    const all = () => mem0.getAll({ filters: { user_id: userId } });
    const [work, home, pet] = (await all()).results.map((one) => one.id);
    const changed = await mem0.update(pet, { text: "I adopted a greyhound called Nova." });
    const described = await mem0.update(pet, { metadata: { topic: "dogs" } });
    const history = (await mem0.history(pet)).map((one) => [one.event, one.oldMemory, one.newMemory]);
    const updates = [
      { memoryId: work, text: "I work as a baker." },
      { memoryId: home, text: "I live in Oslo." },
    ];
    await mem0.batchUpdate(updates);
    const updated = [changed.id === pet, changed.memory, described.memory, described.metadata];
    const result = { updated, history, batch_update: memories(await all()) };
    await mem0.batchDelete([work]);
    result.batch_delete = memories(await all());
    await mem0.delete(home, { deleteLinked: true });
    result.delete = memories(await all());
    result.missing = [await refusal(mem0.get(home)), await refusal(mem0.delete(home))];
    return { ...result, malformed: await refusal(mem0.get("nothing")) };
  },
  async end(mem0, userId) {
    const count = async () => (await mem0.getAll({ filters: { user_id: userId } })).count;
    const users = (await mem0.users()).results.map((one) => [one.type, one.name]);
    await mem0.deleteAll({ userId, runId: "tuesday" });
    const result = { users, "of another session": await count() };
    await mem0.deleteAll({ userId });
    result.delete_all = await count();
    await mem0.deleteUsers({ userId });
    return { ...result, delete_users: (await mem0.users()).results.map((one) => one.name) };
  },
};

async function run({ case: name, url, model, text }) {
  try {
    return { result: await CASES[name](new MemoryClient({ apiKey: model, host: url }), text) };
  } catch (error) {
    return { error: `${error.name}: ${error.message}`, status: null };
  }
}

const write = (line) => process.stdout.write(`${line}\n`);
write("ready");
for await (const line of createInterface({ input: process.stdin })) write(JSON.stringify(await run(JSON.parse(line))));
