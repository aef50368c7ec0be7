// MaaS: the calls of the HTTP API. Fields have the names of the API; `user_id` is a UUID or any name of a user.

import { MaasError } from "./error.js";
import { type FollowOptions, failed, follow, type RunEvent } from "./events.js";
import { type Call, type Options, Transport } from "./transport.js";
import type * as Api from "./types.js";

const RUN_TIMEOUT_MS = 300_000;
const MAX_LONG_POLL_MS = 30_000;
const USER_TTL_MS = 300_000;
const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

export interface SubmitOptions {
  /** Requests with one key are one request; every call has a key of its own by default. */
  idempotencyKey?: string;
  signal?: AbortSignal;
}

export interface WaitOptions {
  /** Milliseconds to wait for the answer, 300,000 by default. */
  timeoutMs?: number;
  signal?: AbortSignal;
}

type Named = { user_id: string };
type Page = { before?: string; limit?: number };

export class MaaS {
  readonly #transport: Transport;
  readonly #users = new Map<string, { id: string; until: number }>();

  constructor(options: Options = {}) {
    this.#transport = new Transport(options);
  }

  /** Send a request and return its id without waiting for the answer. */
  async submit(request: Api.NewRun, { idempotencyKey, signal }: SubmitOptions = {}): Promise<string> {
    const headers = { "idempotency-key": idempotencyKey ?? crypto.randomUUID() };
    const body = await this.#withUser(request);
    return (await this.#call<{ request_id: string }>("POST", "/v1/runs", { body, headers, signal })).request_id;
  }

  /** Wait for the answer to a request. Throws MaasError: `timeout` while there is none, the run's own if it failed. */
  async wait(requestId: string, { timeoutMs = RUN_TIMEOUT_MS, signal }: WaitOptions = {}): Promise<Api.Run> {
    const deadline = Date.now() + timeoutMs;
    while (true) {
      const leftMs = deadline - Date.now();
      const longPollMs = Math.min(Math.max(leftMs, 0), MAX_LONG_POLL_MS);
      const query = { wait: longPollMs / 1000 };
      const run = await this.#call<Api.Run>("GET", at`/v1/runs/${requestId}`, { query, longPollMs, signal });
      if (run.status === "COMPLETED") return run;
      if (run.status === "FAILED") throw failed({ code: run.error_code, message: run.error_message }, requestId);
      if (leftMs <= 0) throw new MaasError("timeout", `no answer within ${timeoutMs} ms`, null, {}, requestId);
    }
  }

  /** Ask an assistant that remembers this user, and wait for the answer: `final_answer`. */
  async ask(request: Api.NewRun, options: SubmitOptions & WaitOptions = {}): Promise<Api.Run> {
    return this.wait(await this.submit(request, options), options);
  }

  /** Ask, and yield the events of the answer: `event.text` is its next piece. */
  async *stream(request: Api.NewRun, options: SubmitOptions = {}): AsyncGenerator<RunEvent, void> {
    yield* this.follow(await this.submit(request, options), { signal: options.signal });
  }

  /** Yield the events of a run until `done`, from the first or behind `lastEventId`; a lost connection is reopened. */
  follow(requestId: string, options: FollowOptions = {}): AsyncGenerator<RunEvent, void> {
    return follow(this.#transport, requestId, options);
  }

  /** Stop a request. Throws MaasError `already_finished`. */
  async cancel(requestId: string): Promise<void> {
    await this.#call("POST", at`/v1/runs/${requestId}/cancel`, { doneCode: "already_finished" });
  }

  /** Remember a statement (`memory`) or messages (`turns`, 500 at most) without asking for an answer. */
  async add(memories: Api.NewMemories): Promise<Api.AddedMemories> {
    const prefix = crypto.randomUUID();
    const body = await this.#withUser(memories);
    if (body.turns) body.turns = body.turns.map((one, place) => ({ external_id: `${prefix}:${place}`, ...one }));
    else body.external_id ??= prefix;
    return this.#call("POST", "/v1/memories", { body });
  }

  /** The memories of a user that match a query, best first. */
  async search(query: Api.SearchQuery): Promise<Api.MemoryPage> {
    return this.#call("POST", "/v1/memories/search", { body: await this.#withUser(query) });
  }

  /** The best evidence for a query within `max_tokens` tokens, for the prompt of your own model. */
  async context(query: Api.ContextQuery): Promise<Api.Context> {
    return this.#call("POST", "/v1/context", { body: await this.#withUser(query) });
  }

  /** The summaries of a user, newest first; the page's `next` is the `before` of the following one. */
  async memories(query: Api.Query<"get_memories">): Promise<Api.MemoryPage> {
    return this.#list("/v1/memories", query);
  }

  async memory(memoryId: string): Promise<Api.Memory> {
    return this.#call("GET", at`/v1/memories/${memoryId}`);
  }

  async history(memoryId: string): Promise<Api.MemoryHistory> {
    return this.#call("GET", at`/v1/memories/${memoryId}/history`);
  }

  /** Say what is right instead of a memory, as a statement of the user. */
  async correct(memoryId: string, correction: Named & { memory: string }): Promise<Api.Correction> {
    return this.#call("POST", at`/v1/memories/${memoryId}/correct`, { body: await this.#withUser(correction) });
  }

  /** Erase a memory: its messages, all summaries made of them, and the answers that repeat them. */
  async forget(memoryId: string, query: Named & { doubtful?: boolean }): Promise<Api.ForgetResult | undefined> {
    const call = { query: await this.#withUser(query), doneCode: "not_found" };
    return this.#call("DELETE", at`/v1/memories/${memoryId}`, call);
  }

  /** What is true of a user, newest first. */
  async facts({ user_id, ...query }: Named & Api.Query<"get_facts">): Promise<Api.FactPage> {
    return this.#call("GET", at`/v1/users/${await this.user(user_id)}/facts`, { query });
  }

  /** Say that a fact is `wrong`, has `ended`, is `unused`, `pinned` or `free`. */
  async decideFact(factId: string, decision: Api.FactDecision): Promise<void> {
    await this.#call("POST", at`/v1/facts/${factId}/decide`, { body: await this.#withUser(decision) });
  }

  /** Say what is right instead of a fact. */
  async correctFact(factId: string, correction: Named & { fact: string }): Promise<Api.CorrectedFact> {
    return this.#call("POST", at`/v1/facts/${factId}/correct`, { body: await this.#withUser(correction) });
  }

  /** Say that two names, such as `sister` and `Anna`, are one person or thing; how many facts the first one has. */
  async mergeNames({ user_id, ...names }: Named & Api.NameMerge): Promise<Api.NameMerged> {
    return this.#call("POST", at`/v1/users/${await this.user(user_id)}/facts/names`, { body: names });
  }

  /** The tool calls that were proposed to a user, newest first. */
  async actions(query: Api.Query<"get_actions">): Promise<Api.ActionPage> {
    return this.#list("/v1/actions", query);
  }

  async action(actionId: string): Promise<Api.Action> {
    return this.#call("GET", at`/v1/actions/${actionId}`);
  }

  /** Change the arguments of an action that is not decided yet, and so its fingerprint. */
  async editAction(actionId: string, edit: Named & { arguments: Record<string, unknown> }): Promise<Api.Action> {
    return this.#call("PATCH", at`/v1/actions/${actionId}`, { body: await this.#withUser(edit) });
  }

  /** Approve an action as it was shown, by its `fingerprint`; `wait(action.action_run_id)` returns what came of it. */
  async approve(actionId: string, decision: Api.ActionDecision): Promise<Api.Action> {
    return this.#decide(actionId, "approve", decision);
  }

  /** Reject an action: it is never executed. */
  async reject(actionId: string, decision: Api.ActionDecision): Promise<Api.Action> {
    return this.#decide(actionId, "reject", decision);
  }

  /** Approve or reject several actions, each as its `fingerprint` says: all of them, or none. */
  async decide(decisions: Api.ActionDecisions): Promise<Api.Action[]> {
    const call = { body: await this.#withUser(decisions), doneCode: "already_decided" };
    const decided = await this.#call<Api.ActionPage | undefined>("POST", "/v1/actions/decide", call);
    if (decided) return decided.results;
    return Promise.all(decisions.actions.map(({ id }) => this.#asDecided(id, decisions.decision)));
  }

  /** Open a conversation. It is not sent again after a lost reply: a second one would be opened. */
  async openConversation(conversation: Api.NewConversation): Promise<Api.OpenedConversation> {
    const body = await this.#withUser(conversation);
    return this.#call("POST", "/v1/conversations", { body, isRepeatable: false });
  }

  /** The conversations of a user, newest activity first; with `q` those whose title and messages have its words. */
  async conversations(query: Named & Page & { q?: string }): Promise<Api.ConversationPage> {
    return this.#list("/v1/conversations", query);
  }

  async conversation(conversationId: string): Promise<Api.Conversation> {
    return this.#call("GET", at`/v1/conversations/${conversationId}`);
  }

  /** Change the mode or the title of a conversation, pin or archive it. */
  async changeConversation(conversationId: string, body: Api.ConversationChange): Promise<Api.Conversation> {
    return this.#call("PATCH", at`/v1/conversations/${conversationId}`, { body });
  }

  /** Delete a conversation and forget what was said in it; with `preview` only say what would go. */
  async deleteConversation(
    conversationId: string,
    query: Api.Query<"delete_conversation"> = {},
  ): Promise<Api.ForgottenConversation> {
    return this.#call("DELETE", at`/v1/conversations/${conversationId}`, { query });
  }

  /** Remove the messages of a conversation; memory keeps them. */
  async clearConversation(conversationId: string): Promise<{ messages: number }> {
    return this.#call("POST", at`/v1/conversations/${conversationId}/clear`);
  }

  /** The messages of a conversation, newest first. */
  async messages(conversationId: string, query: Api.Query<"get_messages"> = {}): Promise<Api.MessagePage> {
    return this.#call("GET", at`/v1/conversations/${conversationId}/messages`, { query });
  }

  /** Store an image for `attachment_ids` of a request; the same image again is the same one. */
  async uploadImage(file: Blob, { user_id }: Named): Promise<Api.Attachment> {
    return this.#call("POST", "/v1/attachments", { body: form({ user_id: await this.user(user_id) }, file, "image") });
  }

  /** Read a document and keep it for one user; one of this name is replaced. */
  async addDocument(name: string, file: Blob | string, { user_id }: Named): Promise<Api.Document> {
    const fields = { user_id: await this.user(user_id), name };
    return this.#call("POST", "/v1/knowledge", { body: form(fields, new Blob([file]), name) });
  }

  /** The documents that a user may find things in, newest first. */
  async documents(query: Named & Page): Promise<Api.DocumentPage> {
    return this.#list("/v1/knowledge", query);
  }

  /** The passages that answer `q`, in the documents of a user and in everybody's. */
  async searchDocuments(query: Api.Query<"get_passages"> & Named): Promise<Api.PassageList> {
    return this.#list("/v1/knowledge/search", query);
  }

  /** Remove a document of a user; with `answers`, memory forgets what was answered from it. */
  async removeDocument(
    documentId: string,
    query: Named & { answers?: boolean },
  ): Promise<Api.DocumentRemoved | undefined> {
    const call = { query: await this.#withUser(query), doneCode: "not_found" };
    return this.#call("DELETE", at`/v1/knowledge/${documentId}`, call);
  }

  /** Have a request sent by the clock. It is not sent again after a lost reply: a second one would be made. */
  async createSchedule(schedule: Api.NewSchedule): Promise<Api.Schedule> {
    return this.#call("POST", "/v1/schedules", { body: await this.#withUser(schedule), isRepeatable: false });
  }

  /** The schedules of a user, the oldest first. */
  async schedules(query: Named): Promise<Api.ScheduleList> {
    return this.#list("/v1/schedules", query);
  }

  /** Change a schedule, pause it (`paused`) or let it go on. */
  async changeSchedule(scheduleId: string, body: Api.ScheduleChange): Promise<Api.Schedule> {
    return this.#call("PATCH", at`/v1/schedules/${scheduleId}`, { body });
  }

  /** Delete a schedule; requests that it has sent stay. */
  async deleteSchedule(scheduleId: string): Promise<void> {
    await this.#call("DELETE", at`/v1/schedules/${scheduleId}`, { doneCode: "not_found" });
  }

  /** The UUID of a user by name, created if there is none; known for five minutes. A UUID is itself. */
  async user(name: string): Promise<string> {
    if (UUID.test(name)) return name;
    const known = this.#users.get(name);
    if (known && Date.now() < known.until) return known.id;
    const { user_id: id } = await this.#call<Named>("POST", "/v1/users", { body: { external_id: name } });
    this.#users.set(name, { id, until: Date.now() + USER_TTL_MS });
    return id;
  }

  async #withUser<T extends Named>(given: T): Promise<T> {
    return { ...given, user_id: await this.user(given.user_id) };
  }

  async #list<T>(path: string, query: { user_id?: string }): Promise<T> {
    const { user_id } = query;
    return this.#call("GET", path, { query: user_id ? { ...query, user_id: await this.user(user_id) } : query });
  }

  async #decide(actionId: string, verb: "approve" | "reject", decision: Api.ActionDecision): Promise<Api.Action> {
    const call = { body: await this.#withUser(decision), doneCode: "already_decided" };
    const decided = await this.#call<Api.Action | undefined>("POST", at`/v1/actions/${actionId}/${verb}`, call);
    return decided ?? this.#asDecided(actionId, verb);
  }

  async #asDecided(actionId: string, verb: "approve" | "reject"): Promise<Api.Action> {
    const action = await this.action(actionId);
    if ((action.status === "rejected") !== (verb === "reject")) {
      const message = `action ${actionId} is ${action.status} already`; // meanwhile, somebody decided otherwise
      throw new MaasError("already_decided", message, 409, { status: action.status });
    }
    return action;
  }

  #call<T>(method: string, path: string, call?: Call): Promise<T> {
    return this.#transport.call<T>(method, path, call);
  }
}

/** A path whose values are escaped. */
function at(texts: TemplateStringsArray, ...values: string[]): string {
  return String.raw({ raw: texts }, ...values.map(encodeURIComponent));
}

function form(fields: Record<string, string>, file: Blob, name: string): FormData {
  const data = new FormData();
  for (const [field, value] of Object.entries(fields)) data.set(field, value);
  data.set("file", file, name);
  return data;
}
