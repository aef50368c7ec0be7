// Versions of a question that were asked again in other words, and what followed each: the branches of a conversation.

import { useQuery } from "@tanstack/react-query";

import { get } from "../api/http";
import { keys } from "../api/keys";
import type { Message, RunSummary } from "../api/types";
import { useUser } from "../session/session";
import { type Item, questionOf } from "./item";
import type { Outgoing } from "./outbox";

const PAGE = 100;
const MAX_PAGES = 10; // of requests that are looked through for what followed a version

/** The version that is shown of a question, by the run of its newest; null or nothing: the newest. */
export type Shown = Readonly<Record<string, string | null>>;

/** All that was asked in a conversation, newest first, while an earlier version is shown. */
export function useBranches(conversationId: string, isWanted: boolean): RunSummary[] {
  const { userId } = useUser();
  const found = useQuery({
    queryKey: keys.branches(conversationId),
    queryFn: async ({ signal }) => {
      const runs: RunSummary[] = [];
      let before: string | undefined;
      for (let page = 0; page < MAX_PAGES; page += 1) {
        const query = { user_id: userId, conversation_id: conversationId, limit: PAGE, before };
        const { results, next } = await get("/v1/runs", query, signal);
        runs.push(...results);
        if (!next) break;
        before = next;
      }
      return runs;
    },
    enabled: isWanted,
  });
  return found.data ?? [];
}

/** What follows a shown version stands in place of what follows the newest. */
export function withShown(items: Item[], shown: Shown, runs: RunSummary[]): Item[] {
  const at = items.findIndex((item) => item.kind === "message" && item.message.role === "user" && shownOf(item, shown));
  if (at < 0) return items;
  const item = items[at]!;
  const version = shownOf(item, shown)!;
  const runId = item.kind === "message" ? item.message.run_id! : "";
  return [...items.slice(0, at + 1), ...branchOf(version, shown, runs), { key: `end-${runId}`, kind: "end", runId }];
}

function branchOf(version: string, shown: Shown, runs: RunSummary[]): Item[] {
  const items: Item[] = [{ key: `version-${version}`, kind: "version", runId: version }];
  for (const run of followersOf(runs, version)) {
    items.push({ key: `asked-${run.request_id}`, kind: "message", message: questionOf(run) });
    const inner = shown[run.request_id];
    if (inner) return [...items, ...branchOf(inner, shown, runs)];
    items.push({ key: `version-${run.request_id}`, kind: "version", runId: run.request_id });
  }
  return items;
}

function shownOf(item: Item, shown: Shown): string | null {
  return (item.kind === "message" && item.message.run_id && shown[item.message.run_id]) || null;
}

/** The questions that followed a version until another one took its place, oldest first. */
export function followersOf(newestFirst: RunSummary[], version: string): RunSummary[] {
  const runs = newestFirst.filter((run) => run.kind === "ask").reverse();
  const chainOf = chains(runs);
  const at = runs.findIndex((run) => run.request_id === version);
  const end = runs.findIndex((run, place) => place > at && takesPlace(run) && chainOf(run).has(version));
  if (at < 0 || end < 0 || runs[at]!.status === "FAILED") return []; // what failed replaced nothing: the branch is another's
  const versions = chainOf(runs[end]!);
  const branch = runs.slice(at + 1, end).filter((run) => !versions.has(run.request_id));
  const left = new Set(
    branch.filter(takesPlace).flatMap((run) => {
      const chain = chainOf(run);
      const first = branch.findIndex((one) => chain.has(one.request_id));
      return first < 0 ? [] : branch.slice(first, branch.indexOf(run)).map((one) => one.request_id);
    }),
  );
  return branch.filter((run) => !left.has(run.request_id));
}

/** The runs that leave the conversation with those that others take the place of, which may be on their way yet. */
export function droppedRuns(messages: Message[], runs: RunSummary[], outbox: Outgoing[]): Set<string> {
  const chainOf = chains(runs);
  const dropped = new Set<string>();
  const drop = (begin: { replaces?: string | null }, until: string | null, own: string | null) => {
    const chain = chainOf(begin);
    for (const id of chain) dropped.add(id);
    const others = new Set(runs.filter((run) => run.kind !== "ask").map((run) => run.request_id));
    const isLeaving = (id: string | null, at: string): id is string =>
      id !== null && id !== own && !others.has(id) && (until === null || at <= until);
    const first = messages.findIndex((one) => one.run_id !== null && chain.has(one.run_id));
    for (const one of first < 0 ? [] : messages.slice(first))
      if (isLeaving(one.run_id, one.created_at)) dropped.add(one.run_id);
    const left = until === null ? undefined : runs.findLast((run) => chain.has(run.request_id)); // its messages are gone
    const since = (first < 0 ? left : messages[first])?.created_at;
    if (!since) return;
    for (const run of runs)
      if (run.created_at > since && isLeaving(run.request_id, run.created_at)) dropped.add(run.request_id);
  };
  for (const run of runs) if (takesPlace(run)) drop(run, run.created_at, run.request_id);
  for (const one of outbox) if (one.replaces && !one.error) drop(one, null, null);
  return dropped;
}

/** Whether a run has another's place; what has failed has not. */
function takesPlace(run: RunSummary): boolean {
  return run.replaces !== null && run.status !== "FAILED";
}

/** Tells which runs one asks again: the one that it replaces, the one that this had replaced, and so on. */
function chains(runs: RunSummary[]): (begin: { replaces?: string | null }) => Set<string> {
  const before = new Map(runs.map((run) => [run.request_id, run.replaces]));
  return (begin) => {
    const found = new Set<string>();
    for (let id = begin.replaces; id && !found.has(id); id = before.get(id)) found.add(id);
    return found;
  };
}
