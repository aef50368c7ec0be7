// What stands in a conversation, in its order, and which of it the URL names.

import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useRef } from "react";
import { useLocationProperty } from "wouter/use-browser-location";

import { ApiError } from "../api/error";
import { get } from "../api/http";
import { keys } from "../api/keys";
import type { Message, MessagePage, RunSummary } from "../api/types";
import { unique } from "../parts/use_more";
import { droppedRuns } from "./branches";
import { type Item, questionOf } from "./item";
import type { Outgoing } from "./outbox";

const PAGE = 50;

/** A place within a conversation: `#run-ID` is the answer of a run, `#ask-ID` its question. */
interface Target {
  role: "user" | "assistant";
  runId: string;
}

type Loaded = Omit<MessagePage, "results"> & { results: Message[]; isMissing?: boolean };
type Place = { before?: string; after?: string; around?: string };

/** The place that the URL names. */
export function useTarget(): Target | null {
  const hash = useLocationProperty(() => window.location.hash);
  return useMemo(() => {
    const found = /^#(run|ask)-([0-9a-f-]{36})$/i.exec(hash);
    return found ? { role: found[1] === "ask" ? "user" : "assistant", runId: found[2]! } : null;
  }, [hash]);
}

/** The newest messages of a conversation, or those around a target, and on from there in both directions; newest first. */
export function useMessages(conversationId: string, target: Target | null, isWanted: boolean) {
  const queries = useQueryClient();
  const read = async (place: Place, signal: AbortSignal) => {
    const path = `/v1/conversations/${conversationId}/messages` as const;
    const page = await get(path, { limit: PAGE, runs: true, ...place }, signal);
    const runs = new Map(page.runs?.map((run) => [run.request_id, run]));
    for (const [id, run] of runs) queries.setQueryData(keys.run(id), run); // no message asks for its own
    const results = page.results.map((one) => ({ ...one, isRunGone: one.run_id !== null && !runs.has(one.run_id) }));
    return { ...page, results };
  };
  const list = useInfiniteQuery({
    queryKey: keys.messages(conversationId, target?.runId),
    queryFn: async ({ pageParam, signal }): Promise<Loaded> => {
      try {
        return await read(pageParam, signal);
      } catch (error) {
        if (!pageParam.around || !(error instanceof ApiError && error.status === 404)) throw error;
        return { ...(await read({}, signal)), isMissing: true };
      }
    },
    initialPageParam: (target ? { around: target.runId } : {}) as Place,
    getNextPageParam: (page, _, place): Place | null =>
      page.next ? { before: page.next } : place.after && !page.results.length ? {} : null,
    getPreviousPageParam: (page): Place | null => (page.previous ? { after: page.previous } : null),
    enabled: isWanted,
  });
  const messages = useMemo(() => list.data?.pages.flatMap((page) => page.results) ?? [], [list.data]);
  return { ...list, messages, isMissing: list.data?.pages.some((page) => page.isMissing) ?? false };
}

/** The item that a target means; -1 if it is not here. */
export function findTarget(items: Item[], target: Target | null): number {
  if (!target) return -1;
  const ofRun = (item: Item) =>
    item.kind === "message"
      ? item.message.run_id === target.runId
      : item.kind === "run" && item.run.request_id === target.runId;
  const exact = items.findIndex(
    (item) =>
      ofRun(item) &&
      (item.kind === "run"
        ? target.role === "assistant"
        : item.kind === "message" && item.message.role === target.role),
  );
  return exact >= 0 ? exact : items.findIndex(ofRun);
}

/** Each answer behind its question, whichever was stored first: questions that are sent quickly come before both answers. */
function inTurns(messages: Message[]): Message[] {
  const asked = new Set(messages.filter((one) => one.role === "user").map((one) => one.run_id));
  const answers = new Map<string, Message[]>();
  for (const one of messages)
    if (one.role === "assistant" && one.run_id !== null && asked.has(one.run_id))
      answers.set(one.run_id, [...(answers.get(one.run_id) ?? []), one]);
  return messages.flatMap((one) => {
    const own = answers.get(one.run_id ?? "");
    if (!own) return [one];
    return one.role === "user" ? [one, ...own] : [];
  });
}

/** The questions that can be asked again, newest first: everything is answered, and nothing was done since. */
export function askableQuestions(items: Item[]): string[] {
  if (items.some((item) => item.kind === "outgoing" || (item.kind === "run" && !isEnded(item.run)))) return [];
  const found: string[] = [];
  for (const item of items.toReversed()) {
    if (item.kind !== "message" || item.message.role !== "user") continue;
    if (item.message.action_id) break;
    if (item.message.run_id && !item.message.isRunGone) found.push(item.message.run_id);
  }
  return found;
}

/** Messages in their order, then runs without a stored answer, each behind its question, then what is not sent yet. */
export function useItems(
  newestFirst: Message[],
  runs: RunSummary[],
  outbox: Outgoing[],
  conversationId: string,
): Item[] {
  const awaited = useRef(new Set<string>()); // runs that were seen at work: each stays until its answer is among the messages
  useEffect(() => {
    for (const run of runs) if (!isEnded(run)) awaited.current.add(run.request_id);
    for (const message of newestFirst)
      if (message.role === "assistant" && message.run_id) awaited.current.delete(message.run_id);
  }, [newestFirst, runs]);
  return useMemo(() => {
    const stored = unique(newestFirst, (message) => message.id)
      .filter((one) => one.role === "user" || one.role === "assistant")
      .reverse();
    const dropped = droppedRuns(stored, runs, outbox);
    const messages = stored.filter((one) => one.run_id === null || !dropped.has(one.run_id));
    const answered = new Set(messages.filter((one) => one.role === "assistant").map((one) => one.run_id));
    const asked = new Set(messages.filter((one) => one.role === "user").map((one) => one.run_id));
    const since = messages[0]?.created_at ?? "";
    const open = runs
      .filter(
        (run) =>
          (run.conversation_id ?? conversationId) === conversationId &&
          !answered.has(run.request_id) &&
          !dropped.has(run.request_id) &&
          run.kind !== "archive",
      )
      .filter(
        (run) => !isEnded(run) || run.status === "FAILED" || run.kind !== "ask" || awaited.current.has(run.request_id),
      )
      .filter((run) => asked.has(run.request_id) || run.created_at >= since) // others belong to messages not loaded yet
      .reverse();
    const items: Item[] = inTurns(messages).map((message) => ({ key: keyOf(message), kind: "message", message }));
    for (const run of open) {
      const live: Item = { key: `run-${run.request_id}`, kind: "run", run };
      const question = items.findIndex((item) => item.kind === "message" && item.message.run_id === run.request_id);
      if (question >= 0) items.splice(question + 1, 0, live);
      else {
        if (!asked.has(run.request_id) && run.kind === "ask") {
          items.push({ key: `asked-${run.request_id}`, kind: "message", message: questionOf(run) });
        }
        items.push(live);
      }
    }
    return [...items, ...outbox.map((message): Item => ({ key: message.key, kind: "outgoing", message }))];
  }, [newestFirst, runs, outbox, conversationId]);
}

/** A question keeps its key when its message is stored: who edits it goes on. */
function keyOf({ id, role, run_id, action_id }: Message): string {
  return role === "user" && run_id && !action_id ? `asked-${run_id}` : id;
}

/** A run as the server lists it, from a message that it has just taken. */
export function runOf(message: Outgoing, runId: string): RunSummary {
  return {
    request_id: runId,
    user_id: message.userId,
    query: message.text,
    answer: null,
    assistant: message.assistant,
    conversation_id: message.conversationId,
    kind: "ask",
    source: "http",
    status: "NEW",
    archive_status: "PENDING",
    error_code: null,
    error_message: null,
    limited: null,
    priority: "normal",
    run_at: null,
    attributes: {},
    memory: "ok",
    created_at: message.at,
    completed_at: null,
    replaces: message.replaces ?? null,
    action: null,
  };
}

export function isEnded(run: RunSummary): boolean {
  return run.status === "COMPLETED" || run.status === "FAILED";
}
