// What happens to the runs of a person, wherever they were asked: what is shown of them is changed, and only what cannot be
// read from an event is requested again.

import { type InfiniteData, type QueryClient, type QueryKey, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";

import { follow } from "./event_stream";
import { keys } from "./keys";
import { refresh } from "./refresh";
import type { ConversationPage, Run, RunPage, RunSummary } from "./types";

const GATHER_MS = 150;

type RunChange = Pick<RunSummary, "request_id" | "conversation_id" | "kind" | "status" | "archive_status">;

export function useUserEvents(userId: string) {
  const queries = useQueryClient();
  useEffect(() => {
    let controller = new AbortController();
    let timer = 0;
    const gathered: (() => readonly QueryKey[])[] = [];
    const readSoon = (stale: () => readonly QueryKey[]) => {
      gathered.push(stale);
      window.clearTimeout(timer);
      timer = window.setTimeout(() => {
        const all = gathered.splice(0).flatMap((one) => one());
        void refresh(queries, [...new Map(all.map((key) => [JSON.stringify(key), key])).values()]);
      }, GATHER_MS);
    };
    const open = () => {
      controller = new AbortController();
      const ended = new Map<string, boolean>(); // by run, as the stream says
      let isFirstEnd = true;
      const take = (change: RunChange) => {
        const isOver = change.status === "COMPLETED" || change.status === "FAILED";
        const before = ended.get(change.request_id);
        ended.set(change.request_id, isOver);
        apply(queries, change, isOver);
        if (before === undefined && isOver && isFirstEnd) {
          isFirstEnd = false; // a stream begins with the newest run, which was just read
          return;
        }
        readSoon(() => staleKeys(queries, change, isOver, before)); // by then the reply to what was sent here has come
      };
      follow(
        `/v1/users/${userId}/events`,
        controller.signal,
        ({ data }) => take(data as RunChange),
        () => false,
      ).catch(() => undefined);
    };
    const change = () => {
      controller.abort(); // a browser keeps few connections to a server: a hidden page gives its own back
      if (!document.hidden) {
        open();
        readSoon(() => [["runs"], ["messages"], ["conversations"], ["actions"]]);
      }
    };
    if (!document.hidden) open();
    document.addEventListener("visibilitychange", change);
    return () => {
      document.removeEventListener("visibilitychange", change);
      window.clearTimeout(timer);
      controller.abort();
    };
  }, [userId, queries]);
}

/** What of a change must be read; `before`: whether the run had ended at its event before. */
function staleKeys(queries: QueryClient, change: RunChange, isOver: boolean, before?: boolean): QueryKey[] {
  const { request_id: id, conversation_id: conversation, kind } = change;
  if (!conversation) return [keys.allRequests(), keys.allWaitingActions()];
  const isKnown = queries.getQueryData<RunPage>(keys.runs(conversation))?.results.some((one) => one.request_id === id);
  const isBegun = before === undefined ? !isKnown : before && !isOver;
  const isEnded = isOver && !before;
  return [
    keys.allRequests(),
    ...(isBegun ? [keys.runs(conversation), keys.allConversations()] : []),
    ...(isBegun || isEnded ? [keys.messagesOf(conversation), keys.allWaitingActions()] : []),
    ...(isBegun || (isEnded && kind !== "ask") ? [keys.actions(conversation)] : []),
  ];
}

/** Change what is shown of a run as its event says. */
function apply(queries: QueryClient, change: RunChange, isOver: boolean) {
  const { request_id: id, conversation_id: conversation, status, archive_status } = change;
  if (!conversation) return;
  queries.setQueryData<RunPage>(
    keys.runs(conversation),
    (page) =>
      page && {
        ...page,
        results: page.results.map((one) => (one.request_id === id ? { ...one, status, archive_status } : one)),
      },
  );
  queries.setQueryData<Run>(keys.run(id), (run) => run && { ...run, archive_status });
  queries.setQueriesData<InfiniteData<ConversationPage>>(
    { queryKey: keys.allConversations() },
    (list) =>
      list && {
        ...list,
        pages: list.pages.map((page) => ({
          ...page,
          results: page.results.map((one) => (one.id === conversation ? { ...one, is_processing: !isOver } : one)),
        })),
      },
  );
}
