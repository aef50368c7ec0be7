// What happens to the runs of a person, wherever they were asked: what is shown of them is changed, and only what cannot be
// read from an event is requested again.

import { type InfiniteData, type QueryClient, type QueryKey, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";

import { follow } from "./event_stream";
import { keys } from "./keys";
import { refresh } from "./refresh";
import type { ConversationPage, Run, RunPage, RunSummary } from "./types";

const GATHER_MS = 150;
const MEMORY_MS = 1000; // from one reading of memory to the next, for each page of a list that is shown

type RunChange = Pick<RunSummary, "request_id" | "conversation_id" | "kind" | "status" | "archive_status">;

export function useUserEvents(userId: string) {
  const queries = useQueryClient();
  useEffect(() => {
    let controller = new AbortController();
    let timer = 0;
    const memory = memoryReader(queries, userId);
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
      const archived = new Set<string>();
      let isFirstEnd = true;
      const take = (change: RunChange) => {
        const isOver = isEnd(change.status);
        const before = ended.get(change.request_id);
        const known = listed(queries, change);
        const wasOver = before ?? (known && isEnd(known.status));
        ended.set(change.request_id, isOver);
        apply(queries, change, isOver);
        const isRemembered = change.archive_status === "ARCHIVED" && !archived.has(change.request_id);
        if (isRemembered) archived.add(change.request_id);
        if (before === undefined && isOver && isFirstEnd) {
          isFirstEnd = false; // a stream begins with the newest run, which was just read
          return;
        }
        if (isRemembered) memory.readSoon();
        readSoon(() => staleKeys(queries, change, isOver, { before, wasOver })); // by then the reply to what was sent here has come
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
        memory.readSoon();
      }
    };
    if (!document.hidden) open();
    document.addEventListener("visibilitychange", change);
    return () => {
      document.removeEventListener("visibilitychange", change);
      window.clearTimeout(timer);
      memory.stop();
      controller.abort();
    };
  }, [userId, queries]);
}

/** Reads memory again when something was remembered, however much: at most about one request a second and list. */
function memoryReader(queries: QueryClient, userId: string) {
  let timer = 0; // that of the next reading, or of the pause after the last one
  let isWanted = false;
  let isStopped = false;
  const read = async () => {
    isWanted = false;
    await refresh(queries, keys.remembered(userId));
    const ofMemory = { queryKey: keys.allOfMemory(), type: "active" } as const;
    const shown = queries.getQueriesData<Partial<InfiniteData<unknown>>>(ofMemory);
    const pages = Math.max(1, ...shown.map(([, data]) => data?.pages?.length ?? 1));
    if (!isStopped) timer = window.setTimeout(go, MEMORY_MS * pages);
  };
  const go = () => {
    timer = 0;
    if (isWanted) timer = window.setTimeout(read, GATHER_MS);
  };
  return {
    readSoon: () => {
      isWanted = true;
      if (!timer) go();
    },
    stop: () => {
      isStopped = true;
      window.clearTimeout(timer);
    },
  };
}

/** What the page has in its list of the conversation of a run that has changed. */
function listed(queries: QueryClient, { request_id, conversation_id }: RunChange): RunSummary | undefined {
  const page = conversation_id ? queries.getQueryData<RunPage>(keys.runs(conversation_id)) : undefined;
  return page?.results.find((one) => one.request_id === request_id);
}

function isEnd(status: RunChange["status"]): boolean {
  return status === "COMPLETED" || status === "FAILED";
}

/** Whether a run had ended at its event before, and as far as the page knew. */
interface Known {
  before: boolean | undefined;
  wasOver: boolean | undefined;
}

/** What of a change must be read. */
function staleKeys(queries: QueryClient, change: RunChange, isOver: boolean, { before, wasOver }: Known): QueryKey[] {
  const { request_id: id, conversation_id: conversation, kind } = change;
  const isBegun = wasOver === undefined ? !listed(queries, change) : wasOver && !isOver;
  const isEnded = isOver && !before;
  const waiting = [keys.allWaitingActions(), keys.inbox()];
  const anew = wasOver && !isOver ? [keys.run(id), keys.tracesOf(id)] : []; // it is tried again
  const begun = isBegun ? [...anew, keys.schedulesOfAll()] : anew; // by the clock, perhaps
  if (!conversation) return [keys.allRequests(), ...waiting, ...begun];
  return [
    keys.allRequests(),
    ...begun,
    ...(isBegun ? [keys.runs(conversation), keys.allConversations()] : []),
    ...(isBegun || isEnded ? [keys.messagesOf(conversation), ...waiting] : []),
    ...(isBegun || (isEnded && kind !== "ask") ? [keys.actions(conversation), keys.allSingleActions()] : []),
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
