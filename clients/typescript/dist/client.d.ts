import { type FollowOptions, type RunEvent } from "./events.js";
import { type Options } from "./transport.js";
import type * as Api from "./types.js";
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
type Named = {
    user_id: string;
};
type Page = {
    before?: string;
    limit?: number;
};
export declare class MaaS {
    #private;
    constructor(options?: Options);
    /** Send a request and return its id without waiting for the answer. */
    submit(request: Api.NewRun, { idempotencyKey, signal }?: SubmitOptions): Promise<string>;
    /** Wait for the answer to a request. Throws MaasError: `timeout` while there is none, the run's own if it failed. */
    wait(requestId: string, { timeoutMs, signal }?: WaitOptions): Promise<Api.Run>;
    /** Ask an assistant that remembers this user, and wait for the answer: `final_answer`. */
    ask(request: Api.NewRun, options?: SubmitOptions & WaitOptions): Promise<Api.Run>;
    /** Ask, and yield the events of the answer: `event.text` is its next piece. */
    stream(request: Api.NewRun, options?: SubmitOptions): AsyncGenerator<RunEvent, void>;
    /** Yield the events of a run until `done`, from the first or behind `lastEventId`; a lost connection is reopened. */
    follow(requestId: string, options?: FollowOptions): AsyncGenerator<RunEvent, void>;
    /** Stop a request. Throws MaasError `already_finished`. */
    cancel(requestId: string): Promise<void>;
    /** Remember a statement (`memory`) or messages (`turns`, 500 at most) without asking for an answer. */
    add(memories: Api.NewMemories): Promise<Api.AddedMemories>;
    /** The memories of a user that match a query, best first. */
    search(query: Api.SearchQuery): Promise<Api.MemoryPage>;
    /** The best evidence for a query within `max_tokens` tokens, for the prompt of your own model. */
    context(query: Api.ContextQuery): Promise<Api.Context>;
    /** The summaries of a user, newest first; the page's `next` is the `before` of the following one. */
    memories(query: Api.Query<"get_memories">): Promise<Api.MemoryPage>;
    memory(memoryId: string): Promise<Api.Memory>;
    history(memoryId: string): Promise<Api.MemoryHistory>;
    /** Say what is right instead of a memory, as a statement of the user. */
    correct(memoryId: string, correction: Named & {
        memory: string;
    }): Promise<Api.Correction>;
    /** Erase a memory: its messages, all summaries made of them, and the answers that repeat them. */
    forget(memoryId: string, query: Named & {
        doubtful?: boolean;
    }): Promise<Api.ForgetResult | undefined>;
    /** What is true of a user, newest first. */
    facts({ user_id, ...query }: Named & Api.Query<"get_facts">): Promise<Api.FactPage>;
    /** Say that a fact is `wrong`, has `ended`, is `unused`, `pinned` or `free`. */
    decideFact(factId: string, decision: Api.FactDecision): Promise<void>;
    /** Say what is right instead of a fact. */
    correctFact(factId: string, correction: Named & {
        fact: string;
    }): Promise<Api.CorrectedFact>;
    /** Say that two names, such as `sister` and `Anna`, are one person or thing; how many facts the first one has. */
    mergeNames({ user_id, ...names }: Named & Api.NameMerge): Promise<Api.NameMerged>;
    /** The tool calls that were proposed to a user, newest first. */
    actions(query: Api.Query<"get_actions">): Promise<Api.ActionPage>;
    action(actionId: string): Promise<Api.Action>;
    /** Change the arguments of an action that is not decided yet, and so its fingerprint. */
    editAction(actionId: string, edit: Named & {
        arguments: Record<string, unknown>;
    }): Promise<Api.Action>;
    /** Approve an action as it was shown, by its `fingerprint`; `wait(action.action_run_id)` returns what came of it. */
    approve(actionId: string, decision: Api.ActionDecision): Promise<Api.Action>;
    /** Reject an action: it is never executed. */
    reject(actionId: string, decision: Api.ActionDecision): Promise<Api.Action>;
    /** Approve or reject several actions, each as its `fingerprint` says: all of them, or none. */
    decide(decisions: Api.ActionDecisions): Promise<Api.Action[]>;
    /** Open a conversation. It is not sent again after a lost reply: a second one would be opened. */
    openConversation(conversation: Api.NewConversation): Promise<Api.OpenedConversation>;
    /** The conversations of a user, newest activity first; with `q` those whose title and messages have its words. */
    conversations(query: Named & Page & {
        q?: string;
    }): Promise<Api.ConversationPage>;
    conversation(conversationId: string): Promise<Api.Conversation>;
    /** Change the mode or the title of a conversation, pin or archive it. */
    changeConversation(conversationId: string, body: Api.ConversationChange): Promise<Api.Conversation>;
    /** Delete a conversation and forget what was said in it; with `preview` only say what would go. */
    deleteConversation(conversationId: string, query?: Api.Query<"delete_conversation">): Promise<Api.ForgottenConversation>;
    /** Remove the messages of a conversation; memory keeps them. */
    clearConversation(conversationId: string): Promise<{
        messages: number;
    }>;
    /** The messages of a conversation, newest first. */
    messages(conversationId: string, query?: Api.Query<"get_messages">): Promise<Api.MessagePage>;
    /** Store an image for `attachment_ids` of a request; the same image again is the same one. */
    uploadImage(file: Blob, { user_id }: Named): Promise<Api.Attachment>;
    /** Read a document and keep it for one user; one of this name is replaced. */
    addDocument(name: string, file: Blob | string, { user_id }: Named): Promise<Api.Document>;
    /** The documents that a user may find things in, newest first. */
    documents(query: Named & Page): Promise<Api.DocumentPage>;
    /** The passages that answer `q`, in the documents of a user and in everybody's. */
    searchDocuments(query: Api.Query<"get_passages"> & Named): Promise<Api.PassageList>;
    /** Remove a document of a user; with `answers`, memory forgets what was answered from it. */
    removeDocument(documentId: string, query: Named & {
        answers?: boolean;
    }): Promise<Api.DocumentRemoved | undefined>;
    /** Have a request sent by the clock. It is not sent again after a lost reply: a second one would be made. */
    createSchedule(schedule: Api.NewSchedule): Promise<Api.Schedule>;
    /** The schedules of a user, the oldest first. */
    schedules(query: Named): Promise<Api.ScheduleList>;
    /** Change a schedule, pause it (`paused`) or let it go on. */
    changeSchedule(scheduleId: string, body: Api.ScheduleChange): Promise<Api.Schedule>;
    /** Delete a schedule; requests that it has sent stay. */
    deleteSchedule(scheduleId: string): Promise<void>;
    /** The UUID of a user by name, created if there is none; known for five minutes. A UUID is itself. */
    user(name: string): Promise<string>;
}
export {};
