// The messages of a conversation and what is being answered; only what is on the screen is rendered.

import { useVirtualizer } from "@tanstack/react-virtual";
import { ArrowDown } from "lucide-react";
import { memo, useCallback, useEffect, useEffectEvent, useRef, useState } from "react";
import { Link } from "wouter";
import type { Action, Run } from "../api/types";
import { Logo } from "../parts/logo";
import { Skeleton } from "../parts/notice";
import { useUser } from "../session/session";
import { say } from "../texts";
import type { Shown } from "./branches";
import { ExecutedAction } from "./executed_action";
import type { Item } from "./item";
import { useOutbox } from "./outbox";
import { type AskedAgain, EarlierAnswer, Question, UserMessage } from "./question";
import { AssistantMessage, LiveTurn, type ShowPanel } from "./turns";

const END_PX = 80; // as near to the end as this, the view follows
const MORE_PX = 400; // as near to an end of what is loaded as this, more is loaded

interface Props {
  items: Item[];
  target: number; // the item that the URL names; -1: none
  assistant: string;
  actionsOf: Map<string, Action[]>;
  isLoading: boolean;
  isKnown: boolean; // whether there is nothing else than these
  hasLater: boolean;
  isLoadingEarlier: boolean;
  isLoadingLater: boolean;
  onEarlier: () => void;
  onLater: () => void;
  onEnd: (() => void) | null; // null: the end is here
  onShow: ShowPanel;
  onExample: (text: string) => void;
  askable: string[]; // the runs whose questions can be asked again, newest first
  versions: Shown;
  onVersion: (newest: string, shown: string | null) => void;
  onAgain: (question: AskedAgain) => void;
}

export function Messages({
  items,
  target,
  assistant,
  actionsOf,
  isLoading,
  isKnown,
  hasLater,
  isLoadingEarlier,
  isLoadingLater,
  onEarlier,
  onLater,
  onEnd,
  onShow,
  onExample,
  askable,
  versions,
  onVersion,
  onAgain,
}: Props) {
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

  const showVersion = useCallback(
    (newest: string, shown: string | null) => {
      follows.current = false; // the question stays where it is
      onVersion(newest, shown);
    },
    [onVersion],
  );

  if (isLoading)
    return (
      <div className="mx-auto w-full max-w-[72ch] flex-1 p-4">
        <Skeleton lines={5} className="h-16" />
      </div>
    );
  if (!isFilled && !isKnown) return <div className="flex-1" />;
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
              <Row
                item={items[index]!}
                assistant={assistant}
                actionsOf={actionsOf}
                onShow={onShow}
                askable={askable}
                onAgain={onAgain}
                versions={versions}
                onVersion={showVersion}
              />
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
          <ArrowDown /> {say("chat.toEnd")}
        </button>
      )}
    </div>
  );
}

/** One item. While one scrolls, only those that come into view are rendered. */
const Row = memo(function Row({
  item,
  assistant,
  actionsOf,
  onShow,
  askable,
  onAgain,
  versions,
  onVersion,
}: {
  item: Item;
  assistant: string;
  actionsOf: Map<string, Action[]>;
  onShow: ShowPanel;
  askable: string[];
  onAgain: (question: AskedAgain) => void;
  versions: Shown;
  onVersion: (newest: string, shown: string | null) => void;
}) {
  const { userId } = useUser();
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
  if (item.kind === "version") return <EarlierAnswer runId={item.runId} assistant={assistant} onShow={onShow} />;
  if (item.kind === "end")
    return (
      <p className="flex flex-wrap justify-center gap-x-3 border-t border-line pt-2 text-small text-quiet">
        {say("version.end")}
        <button type="button" className="quiet-button" onClick={() => onVersion(item.runId, null)}>
          {say("version.toNewest")}
        </button>
      </p>
    );
  const runId = (item.kind === "run" ? item.run.request_id : item.message.run_id) ?? "";
  if (item.kind === "run") {
    return (
      <LiveTurn
        runId={item.run.request_id}
        isTask={item.run.kind === "task"}
        assistant={item.run.assistant}
        actions={actionsOf.get(item.run.request_id) ?? []}
        onShow={onShow}
      />
    );
  }
  const { message } = item;
  if (message.role === "user" && message.action_id) return <ExecutedAction id={message.action_id} userId={userId} />;
  if (message.role === "user")
    return (
      <Question
        message={message}
        shown={versions[runId] ?? null}
        onShown={(version) => onVersion(runId, version)}
        onAgain={askable.includes(runId) ? onAgain : null}
        isLast={askable[0] === runId}
      />
    );
  return (
    <AssistantMessage
      message={message}
      assistant={assistant}
      actions={actionsOf.get(runId) ?? []}
      onShow={onShow}
      onAgain={runId && askable[0] === runId ? (run) => onAgain(sameQuestion(run)) : undefined}
    />
  );
});

function sameQuestion(run: Run): AskedAgain {
  return { text: run.query, attachmentIds: run.attachment_ids, replaces: run.request_id };
}

function Welcome({ onExample }: { onExample: (text: string) => void }) {
  return (
    <div className="m-auto flex max-w-[72ch] flex-col items-stretch gap-4 p-6 text-center">
      <p className="flex items-center justify-center gap-2 text-lead font-semibold">
        <Logo className="size-8" /> {say("app.name")}
      </p>
      <h2 className="text-title font-semibold">{say("chat.empty")}</h2>
      <p className="text-balance text-quiet">{say("chat.what")}</p>
      {(["chat.example1", "chat.example2", "chat.example3"] as const).map((key) => (
        <button
          key={key}
          type="button"
          className="button justify-start! text-left!"
          onClick={() => onExample(say(key))}
        >
          {say(key)}
        </button>
      ))}
      <p className="text-small text-quiet">
        {say("chat.emptyImport")} <Link href="/memory">{say("chat.toMemory")}</Link>
      </p>
    </div>
  );
}
