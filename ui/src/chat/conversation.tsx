// A conversation: its messages, oldest first, and what is being answered; only what is on the screen is rendered.

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";

import { get, post } from "../api/http";
import { refresh } from "../api/refresh";
import type { Action, Message, Page, RunSummary } from "../api/types";
import { Skeleton } from "../parts/notice";
import { unique, useMore } from "../parts/use_more";
import { useUser } from "../session/session";
import { say } from "../texts";
import { Composer } from "./composer";
import { discard, enqueue, upload, useOutbox, type Outgoing } from "./outbox";
import { AssistantMessage, LiveTurn, UserMessage, type ShowPanel } from "./turns";

const PAGE = 50;
const END_PX = 80; // as near to the end as this, the view follows

type Item =
  | { key: string; kind: "message"; message: Message }
  | { key: string; kind: "run"; run: RunSummary }
  | { key: string; kind: "outgoing"; message: Outgoing };

interface Props {
  id: string;
  assistant: string;
  mode: string | undefined;
  isNew: boolean; // the server has not heard of it yet
  draft: string; // the name of its draft
  onShow: ShowPanel;
  onStart: (text: string) => void;
}

export function Conversation({ id, assistant, mode, isNew, draft, onShow, onStart }: Props) {
  const { userId, isAdmin } = useUser();
  const queries = useQueryClient();
  const outbox = useOutbox().filter((one) => one.conversationId === id);
  const [uploadError, setUploadError] = useState<string | null>(null);
  const messages = useMore<Message>("messages", `/v1/conversations/${id}/messages`, { limit: PAGE }, !isNew);
  const runs = useQuery({
    queryKey: ["runs", "conversation", id],
    queryFn: ({ signal }) => get<Page<RunSummary>>("/v1/runs", { user_id: userId, conversation_id: id, limit: PAGE }, signal),
    enabled: !isNew,
  });
  const actions = useQuery({
    queryKey: ["actions", id],
    queryFn: ({ signal }) => get<Page<Action>>("/v1/actions", { user_id: userId, conversation_id: id, limit: 100 }, signal),
    enabled: !isNew,
  });
  const items = useItems(messages.items, runs.data?.results ?? [], outbox, id);
  const actionsOf = useMemo(() => byRun(actions.data?.results ?? []), [actions.data]);
  const unfinished = items.filter((item) => item.kind === "run" && !isEnded(item.run));

  const readAgain = useCallback(() => refresh(queries, ["messages", "runs", "actions", "conversations"]), [queries]);
  const submit = async (text: string, photos: File[]) => {
    setUploadError(null);
    let attachmentIds: string[] = [];
    try {
      attachmentIds = await upload(userId, photos);
    } catch (error) {
      setUploadError(String((error as Error).message));
      return;
    }
    const message: Outgoing = {
      key: crypto.randomUUID(), userId, conversationId: id, assistant, mode, text, at: new Date().toISOString(), attachmentIds, isDebugged: isAdmin,
    };
    onStart(text);
    enqueue(message, () => void readAgain());
  };
  const stop = () => {
    for (const item of unfinished) if (item.kind === "run") void post(`/v1/runs/${item.run.request_id}/cancel`).then(readAgain, readAgain);
  };

  return (
    <>
      <Log
        items={items} assistant={assistant} actionsOf={actionsOf} onShow={onShow} onOver={readAgain}
        isLoading={!isNew && messages.isPending} hasOlder={messages.hasNextPage} isLoadingOlder={messages.isFetchingNextPage}
        onOlder={() => void messages.fetchNextPage()} onExample={(text) => void submit(text, [])}
      />
      {uploadError && <p role="alert" className="px-4 text-small text-bad">{uploadError}</p>}
      <Composer draftKey={`maas.draft.${draft}`} isAnswering={unfinished.length > 0} onSend={(text, photos) => void submit(text, photos)} onStop={stop} />
    </>
  );
}

interface LogProps {
  items: Item[];
  assistant: string;
  actionsOf: Map<string, Action[]>;
  isLoading: boolean;
  hasOlder: boolean;
  isLoadingOlder: boolean;
  onOlder: () => void;
  onShow: ShowPanel;
  onOver: () => void;
  onExample: (text: string) => void;
}

function Log({ items, assistant, actionsOf, isLoading, hasOlder, isLoadingOlder, onOlder, onShow, onOver, onExample }: LogProps) {
  const box = useRef<HTMLDivElement>(null);
  const [isAtEnd, setAtEnd] = useState(true);
  const list = useVirtualizer({
    count: items.length,
    getScrollElement: () => box.current,
    estimateSize: () => 120,
    getItemKey: (index) => items[index]!.key,
    overscan: 6,
    gap: 24,
    paddingStart: 24,
    paddingEnd: 24,
    anchorTo: "end",
    followOnAppend: true,
    scrollEndThreshold: END_PX,
  });
  const isFilled = items.length > 0;
  const target = useTarget(items);
  useEffect(() => {
    if (!isFilled) return;
    if (target >= 0) list.scrollToIndex(target, { align: "center" });
    else list.scrollToEnd();
  }, [isFilled, target]);
  const lastKey = items.at(-1)?.key;
  useEffect(() => {
    const last = items.at(-1);
    if (last?.kind === "outgoing") list.scrollToEnd(); // one's own message is always seen
  }, [lastKey]);

  if (isLoading) return <div className="mx-auto w-full max-w-[72ch] flex-1 p-4"><Skeleton lines={5} className="h-16" /></div>;
  if (!isFilled) return <Welcome onExample={onExample} />;
  return (
    <div className="relative min-h-0 flex-1">
      <div
        ref={box} id="log" tabIndex={0} role="log" aria-live="off" aria-label={say("chat.log")} className="scrolls h-full px-4"
        onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
          setAtEnd(scrollHeight - scrollTop - clientHeight < END_PX);
          if (scrollTop < 400 && hasOlder && !isLoadingOlder) onOlder();
        }}
      >
        {isLoadingOlder && <p role="status" className="absolute inset-x-0 top-0 bg-page p-1 text-center text-small text-quiet">{say("chat.older")}</p>}
        <div className="relative mx-auto max-w-[72ch]" style={{ height: list.getTotalSize() }}>
          {list.getVirtualItems().map(({ index, key, start }) => (
            <div key={key} ref={list.measureElement} data-index={index} className={`absolute inset-x-0 top-0 ${index === target ? "rounded bg-mark" : ""}`} style={{ transform: `translateY(${start}px)` }}>
              <Row item={items[index]!} assistant={assistant} actionsOf={actionsOf} onShow={onShow} onOver={onOver} />
            </div>
          ))}
        </div>
      </div>
      {!isAtEnd && (
        <button type="button" className="button small absolute bottom-3 left-1/2 -translate-x-1/2 shadow-lg" onClick={() => list.scrollToEnd()}>↓ {say("chat.toEnd")}</button>
      )}
    </div>
  );
}

function Row({ item, assistant, actionsOf, onShow, onOver }: { item: Item; assistant: string; actionsOf: Map<string, Action[]>; onShow: ShowPanel; onOver: () => void }) {
  if (item.kind === "outgoing") {
    const { message } = item;
    return (
      <>
        <UserMessage text={message.text} at={message.at} images={message.attachmentIds} note={message.error ?? say("chat.queued")} />
        {message.error && <button type="button" className="quiet-button ml-auto block" onClick={() => discard(message.key)}>{say("app.close")}</button>}
      </>
    );
  }
  if (item.kind === "run") {
    return <LiveTurn runId={item.run.request_id} assistant={item.run.assistant} actions={actionsOf.get(item.run.request_id) ?? []} onShow={onShow} onOver={onOver} />;
  }
  const { message } = item;
  if (message.role === "user") return <UserMessage text={message.content} at={message.created_at} images={message.attachment_ids} />;
  return <AssistantMessage message={message} assistant={assistant} actions={actionsOf.get(message.run_id ?? "") ?? []} onShow={onShow} />;
}

function Welcome({ onExample }: { onExample: (text: string) => void }) {
  return (
    <div className="m-auto flex max-w-[72ch] flex-col items-stretch gap-4 p-6 text-center">
      <h2 className="text-title font-semibold">{say("chat.empty")}</h2>
      {(["chat.example1", "chat.example2", "chat.example3"] as const).map((key) => (
        <button key={key} type="button" className="button text-left!" onClick={() => onExample(say(key))}>{say(key)}</button>
      ))}
      <p className="text-small text-quiet">{say("chat.emptyImport")}</p>
    </div>
  );
}

/** Messages in their order, then runs without a stored answer, each behind its question, then what is not sent yet. */
function useItems(newestFirst: Message[], runs: RunSummary[], outbox: Outgoing[], conversationId: string): Item[] {
  const awaited = useRef(new Set<string>()); // runs that were seen at work: each stays until its answer is among the messages
  useEffect(() => {
    for (const run of runs) if (!isEnded(run)) awaited.current.add(run.request_id);
    for (const message of newestFirst) if (message.role === "assistant" && message.run_id) awaited.current.delete(message.run_id);
  }, [newestFirst, runs]);
  return useMemo(() => {
    const messages = unique(newestFirst, (message) => message.id).filter((one) => one.role === "user" || one.role === "assistant").reverse();
    const answered = new Set(messages.filter((one) => one.role === "assistant").map((one) => one.run_id));
    const asked = new Set(messages.filter((one) => one.role === "user").map((one) => one.run_id));
    const since = messages[0]?.created_at ?? "";
    const open = runs
      .filter((run) => (run.conversation_id ?? conversationId) === conversationId && !answered.has(run.request_id) && run.kind !== "archive")
      .filter((run) => !isEnded(run) || run.status === "FAILED" || run.kind !== "ask" || awaited.current.has(run.request_id))
      .filter((run) => asked.has(run.request_id) || run.created_at >= since) // others belong to messages not loaded yet
      .reverse();
    const items: Item[] = messages.map((message) => ({ key: message.id, kind: "message", message }));
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

function questionOf(run: RunSummary): Message {
  return { id: run.request_id, run_id: run.request_id, role: "user", content: run.query, agent: null, attachment_ids: [], created_at: run.created_at };
}

function isEnded(run: RunSummary): boolean {
  return run.status === "COMPLETED" || run.status === "FAILED";
}

/** The item that the URL names: `#run-ID`. */
function useTarget(items: Item[]): number {
  const [hash, setHash] = useState(window.location.hash);
  useEffect(() => {
    const read = () => setHash(window.location.hash);
    window.addEventListener("hashchange", read);
    return () => window.removeEventListener("hashchange", read);
  }, []);
  const runId = hash.startsWith("#run-") ? hash.slice(5) : null;
  return runId ? items.findIndex((item) => item.kind === "message" && item.message.run_id === runId && item.message.role === "assistant") : -1;
}

function byRun(actions: Action[]): Map<string, Action[]> {
  const found = new Map<string, Action[]>();
  for (const action of actions) found.set(action.run_id, [...(found.get(action.run_id) ?? []), action]);
  return found;
}
