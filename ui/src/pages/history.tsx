// All requests of a person, also those outside of conversations, with a search in questions and answers.

import { useRef, useState } from "react";
import { Link, useLocation } from "wouter";

import type { RunSummary } from "../api/types";
import { titleOf } from "../chat/action_words";
import { walkWithArrows } from "../parts/arrows";
import { useTitleOf } from "../parts/assistants";
import { FORGOTTEN, lineOf, wordsOf } from "../parts/forgotten";
import { groupByDay } from "../parts/groups";
import { Empty, ErrorNotice, failureText, Skeleton } from "../parts/notice";
import { usePaused } from "../parts/paused";
import { Time } from "../parts/time";
import { useTitle } from "../parts/title";
import { unique, useMore } from "../parts/use_more";
import { Windowed } from "../parts/windowed";
import { useUser } from "../session/session";
import { say } from "../texts";

const PAGE = 50;
const ROW_PX = 84; // of most rows

export function HistoryPage() {
  const { userId } = useUser();
  useTitle(say("history.title"));
  const [typed, setTyped] = useState("");
  const query = usePaused(typed);
  const search = useRef<HTMLInputElement>(null);
  const assistantOf = useTitleOf();
  const list = useMore("runs", "/v1/runs", { user_id: userId, q: query, limit: PAGE });
  const groups = groupByDay(unique(list.items, idOf), (run) => run.created_at);
  return (
    <div className="scrolls h-full p-4" tabIndex={0} onKeyDown={walkWithArrows}>
      <div className="mx-auto max-w-[72ch]">
        <h1 className="mb-4 text-title font-semibold">{say("history.title")}</h1>
        <input
          ref={search}
          type="search"
          data-search
          className="w-full"
          aria-label={say("history.search")}
          placeholder={say("history.search")}
          maxLength={200}
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
        />
        <div className="mt-4 empty:hidden">
          <ErrorNotice error={list.error} onRetry={() => void list.refetch()} />
        </div>
        {list.isPending && <Skeleton lines={8} />}
        {list.isSuccess && !groups.length && (
          <Empty>
            {say(query ? "history.none" : "history.empty")} {!query && <Link href="/">{say("history.ask")}</Link>}
          </Empty>
        )}
        <Windowed
          groups={groups.map(([title, rows]) => ({
            key: title,
            region: title,
            heading: <h2 className="pt-6 pb-2 text-small font-semibold text-quiet">{title}</h2>,
            rows,
          }))}
          keyOf={idOf}
          rowPx={ROW_PX}
          hasMore={list.hasNextPage}
        >
          {(run) => <Row run={run} title={assistantOf(run.assistant)} />}
        </Windowed>
        <div ref={list.mark} className="h-8">
          {list.isFetchingNextPage && <Skeleton lines={1} />}
        </div>
      </div>
    </div>
  );
}

function idOf(run: RunSummary): string {
  return run.request_id;
}

function Row({ run, title }: { run: RunSummary; title: string }) {
  const [, navigate] = useLocation();
  return (
    <Link
      href={placeOf(run)}
      className="row-link py-2!"
      data-run={run.request_id}
      onDoubleClick={() => navigate(`/runs/${run.request_id}`)}
    >
      <span className="flex gap-x-3 max-sm:flex-col">
        <span className="min-w-0 flex-1 truncate font-semibold max-sm:line-clamp-2 max-sm:whitespace-normal">
          {run.action
            ? say("history.executed", { action: titleOf(run.action) })
            : run.kind === "archive"
              ? say("history.archive")
              : wordsOf(run.query)}
        </span>
        <span className="shrink-0 text-small text-quiet">
          {title} · <Time at={run.created_at} />
        </span>
      </span>
      <span className="block truncate text-small text-quiet">
        {run.status === "FAILED" ? (
          <span className="text-bad">{failureText(run.error_code, run.error_message)}</span>
        ) : (
          answerOf(run)
        )}
      </span>
      {!run.conversation_id && <span className="text-small text-quiet">{say("history.noConversation")}</span>}
    </Link>
  );
}

/** Its answer in one line; nothing where its question has already said that all was forgotten. */
function answerOf({ query, answer, status }: RunSummary): string {
  if (answer === null) return say(`stage.${status}`);
  return query === FORGOTTEN && answer === FORGOTTEN ? "" : lineOf(answer);
}

/** Where a request is shown: in its conversation, or by itself. */
function placeOf(run: RunSummary): string {
  return run.conversation_id ? `/c/${run.conversation_id}#run-${run.request_id}` : `/runs/${run.request_id}`;
}
