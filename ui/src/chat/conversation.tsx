// A conversation: its messages, oldest first, and what is being answered; only what is on the screen is rendered.

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useCallback, useEffect, useEffectEvent, useMemo, useRef, useState } from "react";
import { useLocation } from "wouter";

import { get, post } from "../api/http";
import { keys } from "../api/keys";
import { refresh } from "../api/refresh";
import type { Action, Mode, RunSummary } from "../api/types";
import { Skeleton } from "../parts/notice";
import { newUuid } from "../parts/uuid";
import { useUser } from "../session/session";
import { say } from "../texts";
import { Composer } from "./composer";
import { findTarget, type Item, isEnded, useItems, useMessages, useTarget } from "./items";
import { type Outgoing, upload, useOutbox } from "./outbox";
import { AssistantMessage, LiveTurn, type ShowPanel, UserMessage } from "./turns";

const RUNS = 50; // the newest ones, among which are those without an answer yet
const NO_RUNS: RunSummary[] = [];
const NO_MESSAGES: Outgoing[] = [];
const END_PX = 80; // as near to the end as this, the view follows
const MORE_PX = 400; // as near to an end of what is loaded as this, more is loaded

interface Props {
  id: string;
  assistant: string;
  mode: Mode | undefined;
  isNew: boolean; // the server has not heard of it yet
  draft: string; // the name of its draft
  onShow: ShowPanel;
  onStart: (text: string) => void;
}

export function Conversation({ id, assistant, mode, isNew, draft, onShow, onStart }: Props) {
  const { userId, isAdmin } = useUser();
  const queries = useQueryClient();
  const [outbox, waiting] = useOutbox();
  const unsent = useMemo(() => waiting.filter((one) => one.conversationId === id), [waiting, id]);
  const [uploadError, setUploadError] = useState<string | null>(null);
  const [, navigate] = useLocation();
  const target = useTarget();
  const list = useMessages(id, target, !isNew);
  const { hasNextPage: hasEarlier, hasPreviousPage: hasLater } = list;
  const runs = useQuery({
    queryKey: keys.runs(id),
    queryFn: ({ signal }) => get("/v1/runs", { user_id: userId, conversation_id: id, limit: RUNS }, signal),
    enabled: !isNew,
  });
  const actions = useQuery({
    queryKey: keys.actions(id),
    queryFn: ({ signal }) => get("/v1/actions", { user_id: userId, conversation_id: id, limit: 100 }, signal),
    enabled: !isNew,
  });
  // What is being answered or sent stands behind the last message: not before that is loaded.
  const items = useItems(
    list.messages,
    hasLater ? NO_RUNS : (runs.data?.results ?? NO_RUNS),
    hasLater ? NO_MESSAGES : unsent,
    id,
  );
  const actionsOf = useMemo(() => byRun(actions.data?.results ?? []), [actions.data]);
  const toEnd = () => navigate(`/c/${id}`, { replace: true });
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
    if (outbox.isClosed) return; // signed out while photos were sent
    const message: Outgoing = {
      key: newUuid(),
      userId,
      conversationId: id,
      assistant,
      mode,
      text,
      at: new Date().toISOString(),
      attachmentIds,
      isDebugged: isAdmin,
    };
    onStart(text);
    if (hasLater) toEnd(); // one's own message is always seen
    outbox.enqueue(message, () => void readAgain());
  };
  const stop = () => {
    for (const item of unfinished)
      if (item.kind === "run") void post(`/v1/runs/${item.run.request_id}/cancel`).then(readAgain, readAgain);
  };

  const place = findTarget(items, target);
  return (
    <>
      {list.isMissing && place < 0 && (
        <p role="status" className="border-b border-line px-4 py-2 text-small text-warn">
          {say("chat.gone")}
        </p>
      )}
      <Log
        items={items}
        target={place}
        assistant={assistant}
        actionsOf={actionsOf}
        onShow={onShow}
        onOver={readAgain}
        isLoading={!isNew && list.isPending}
        hasLater={hasLater}
        isLoadingEarlier={list.isFetchingNextPage}
        isLoadingLater={list.isFetchingPreviousPage}
        onEarlier={() => hasEarlier && !list.isFetching && void list.fetchNextPage()}
        onLater={() => hasLater && !list.isFetching && void list.fetchPreviousPage()}
        onEnd={hasLater ? toEnd : null}
        onExample={(text) => void submit(text, [])}
      />
      {uploadError && (
        <p role="alert" className="px-4 text-small text-bad">
          {uploadError}
        </p>
      )}
      <Composer
        draft={draft}
        isAnswering={unfinished.length > 0}
        onSend={(text, photos) => void submit(text, photos)}
        onStop={stop}
      />
    </>
  );
}

interface LogProps {
  items: Item[];
  target: number; // the item that the URL names; -1: none
  assistant: string;
  actionsOf: Map<string, Action[]>;
  isLoading: boolean;
  hasLater: boolean;
  isLoadingEarlier: boolean;
  isLoadingLater: boolean;
  onEarlier: () => void;
  onLater: () => void;
  onEnd: (() => void) | null; // null: the end is here
  onShow: ShowPanel;
  onOver: () => void;
  onExample: (text: string) => void;
}

function Log({
  items,
  target,
  assistant,
  actionsOf,
  isLoading,
  hasLater,
  isLoadingEarlier,
  isLoadingLater,
  onEarlier,
  onLater,
  onEnd,
  onShow,
  onOver,
  onExample,
}: LogProps) {
  const box = useRef<HTMLDivElement>(null);
  const [isAtEnd, setAtEnd] = useState(true);
  const follows = useRef(true); // the end, until one scrolls up
  const lastTop = useRef(0);
  const hadLater = useRef(hasLater); // what is loaded is read on from where one is; only what is new is followed
  useEffect(() => {
    hadLater.current = hasLater;
  });
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
    followOnAppend: !hadLater.current,
    scrollEndThreshold: END_PX,
  });
  const isFilled = !isLoading && items.length > 0;
  const targetKey = items[target]?.key;
  const showTarget = useEffectEvent(() => {
    follows.current = target < 0;
    if (target >= 0) list.scrollToIndex(target, { align: "center" });
    else list.scrollToEnd();
  });
  useEffect(() => {
    if (isFilled) showTarget();
  }, [isFilled, targetKey]); // not its index, which changes when others are loaded
  const readOn = useEffectEvent(() => {
    const element = box.current;
    if (element && element.scrollHeight - element.scrollTop - element.clientHeight < END_PX) onLater();
  });
  useEffect(() => {
    if (hasLater) readOn();
  }, [hasLater]);
  const size = list.getTotalSize();
  const followEnd = useEffectEvent(() => {
    if (follows.current && isFilled && !hasLater) list.scrollToEnd();
  });
  useEffect(() => followEnd(), [size]);
  const lastKey = items.at(-1)?.key;
  const showOwn = useEffectEvent(() => {
    if (items.at(-1)?.kind === "outgoing") list.scrollToEnd(); // one's own message is always seen
  });
  useEffect(() => showOwn(), [lastKey]);

  if (isLoading)
    return (
      <div className="mx-auto w-full max-w-[72ch] flex-1 p-4">
        <Skeleton lines={5} className="h-16" />
      </div>
    );
  if (!isFilled) return <Welcome onExample={onExample} />;
  return (
    <div className="relative flex min-h-0 flex-1 flex-col">
      <div
        ref={box}
        id="log"
        tabIndex={0}
        role="log"
        aria-live="off"
        aria-label={say("chat.log")}
        className="scrolls min-h-0 flex-1 px-4"
        onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
          const isEnd = scrollHeight - scrollTop - clientHeight < END_PX;
          setAtEnd(isEnd);
          if (isEnd || scrollTop < lastTop.current) follows.current = isEnd && !hasLater;
          lastTop.current = scrollTop;
          if (scrollTop < MORE_PX) onEarlier();
          if (scrollHeight - scrollTop - clientHeight < MORE_PX) onLater();
        }}
      >
        {isLoadingEarlier && (
          <p role="status" className="absolute inset-x-0 top-0 z-10 bg-page p-1 text-center text-small text-quiet">
            {say("chat.older")}
          </p>
        )}
        <div className="relative mx-auto max-w-[72ch]" style={{ height: size }}>
          {list.getVirtualItems().map(({ index, key, start }) => (
            <div
              key={key}
              ref={list.measureElement}
              data-index={index}
              className={`absolute inset-x-0 top-0 ${index === target ? "rounded bg-mark ring-8 ring-mark" : ""}`}
              style={{ transform: `translateY(${start}px)` }}
            >
              <Row item={items[index]!} assistant={assistant} actionsOf={actionsOf} onShow={onShow} onOver={onOver} />
            </div>
          ))}
        </div>
      </div>
      {isLoadingLater && (
        <p role="status" className="absolute inset-x-0 bottom-0 bg-page p-1 text-center text-small text-quiet">
          {say("chat.newer")}
        </p>
      )}
      {(!isAtEnd || onEnd) && (
        <button
          type="button"
          className="button small absolute bottom-3 left-1/2 -translate-x-1/2 shadow-lg"
          onClick={() => (onEnd ? onEnd() : list.scrollToEnd())}
        >
          ↓ {say("chat.toEnd")}
        </button>
      )}
    </div>
  );
}

function Row({
  item,
  assistant,
  actionsOf,
  onShow,
  onOver,
}: {
  item: Item;
  assistant: string;
  actionsOf: Map<string, Action[]>;
  onShow: ShowPanel;
  onOver: () => void;
}) {
  const [outbox] = useOutbox();
  if (item.kind === "outgoing") {
    const { message } = item;
    return (
      <>
        <UserMessage
          text={message.text}
          at={message.at}
          images={message.attachmentIds}
          note={message.error ?? say("chat.queued")}
        />
        {message.error && (
          <button type="button" className="quiet-button ml-auto block" onClick={() => outbox.discard(message.key)}>
            {say("app.close")}
          </button>
        )}
      </>
    );
  }
  if (item.kind === "run") {
    return (
      <LiveTurn
        runId={item.run.request_id}
        assistant={item.run.assistant}
        actions={actionsOf.get(item.run.request_id) ?? []}
        onShow={onShow}
        onOver={onOver}
      />
    );
  }
  const { message } = item;
  if (message.role === "user")
    return <UserMessage text={message.content} at={message.created_at} images={message.attachment_ids} />;
  return (
    <AssistantMessage
      message={message}
      assistant={assistant}
      actions={actionsOf.get(message.run_id ?? "") ?? []}
      onShow={onShow}
    />
  );
}

function Welcome({ onExample }: { onExample: (text: string) => void }) {
  return (
    <div className="m-auto flex max-w-[72ch] flex-col items-stretch gap-4 p-6 text-center">
      <h2 className="text-title font-semibold">{say("chat.empty")}</h2>
      {(["chat.example1", "chat.example2", "chat.example3"] as const).map((key) => (
        <button key={key} type="button" className="button text-left!" onClick={() => onExample(say(key))}>
          {say(key)}
        </button>
      ))}
      <p className="text-small text-quiet">{say("chat.emptyImport")}</p>
    </div>
  );
}

function byRun(actions: Action[]): Map<string, Action[]> {
  const found = new Map<string, Action[]>();
  for (const action of actions) found.set(action.run_id, [...(found.get(action.run_id) ?? []), action]);
  return found;
}
