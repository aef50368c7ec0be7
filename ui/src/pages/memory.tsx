// What is remembered about a person: by time and level, found by words, back to what was said.

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link, useLocation } from "wouter";

import { post } from "../api/http";
import { keys } from "../api/keys";
import type { Memory } from "../api/types";
import { useSpeakerOf, Words } from "../chat/evidence";
import { Days } from "../parts/days";
import { type Marked, useMarked } from "../parts/marked";
import { MemoryActions } from "../parts/memory_actions";
import { Empty, ErrorNotice, Skeleton } from "../parts/notice";
import { Time } from "../parts/time";
import { useTitle } from "../parts/title";
import { Totals } from "../parts/totals";
import { unique, useMore } from "../parts/use_more";
import { visible } from "../parts/visible";
import { type Group, Windowed } from "../parts/windowed";
import { useUser } from "../session/session";
import { formatDaysOf, formatNumber, formatPeriod, say, sayOr } from "../texts";
import { Documents } from "./documents";
import { Facts } from "./facts";
import { Imported } from "./imported";
import { Transfer } from "./transfer";

const LEVELS = [0, 1, 2, 3] as const;
const PAGE = 30;
const MAX_FOUND = 50;
const CARD_PX = 120; // of most cards

interface Shown {
  open: Marked; // whose sources are shown
  gone: Marked; // those that were forgotten
}

const PAGES = {
  "/memory": "memory.timeline",
  "/memory/facts": "memory.facts",
  "/memory/imported": "imported.title",
  "/memory/documents": "memory.documents",
} as const;

export function MemoryPage() {
  const { userId } = useUser();
  const [place] = useLocation();
  useTitle(say("memory.title"));
  return (
    <div className="scrolls h-full p-4" tabIndex={0}>
      <div className="mx-auto flex max-w-[80ch] flex-col gap-4">
        <div className="flex flex-wrap items-baseline justify-between gap-3">
          <h1 className="text-title font-semibold">{say("memory.title")}</h1>
          <Transfer />
        </div>
        <Totals userId={userId} />
        <nav aria-label={say("memory.title")} className="flex flex-wrap gap-2">
          {Object.entries(PAGES).map(([path, title]) => (
            <Link
              key={path}
              href={path}
              className={`button small ${path === place ? "primary" : ""}`}
              aria-current={path === place ? "page" : undefined}
            >
              {say(title)}
            </Link>
          ))}
        </nav>
        {place === "/memory/facts" ? (
          <Facts />
        ) : place === "/memory/imported" ? (
          <Imported />
        ) : place === "/memory/documents" ? (
          <Documents />
        ) : (
          <Timeline />
        )}
      </div>
    </div>
  );
}

function Timeline() {
  const { userId } = useUser();
  const [level, setLevel] = useState<number | null>(null);
  const [query, setQuery] = useState("");
  const [asOf, setAsOf] = useState("");
  const [hasScores, setScores] = useState(false);
  const shown = { open: useMarked(), gone: useMarked() };
  const list = useMore("memory", "/v1/memories", { user_id: userId, level, limit: PAGE }, !query);
  const found = useQuery({
    queryKey: keys.found(query, asOf),
    queryFn: () =>
      post("/v1/memories/search", {
        user_id: userId,
        query,
        limit: MAX_FOUND,
        ...(asOf ? { as_of: `${asOf}T23:59:59` } : {}),
      }),
    enabled: query !== "",
  });
  const memories = query ? (found.data?.results ?? []) : unique(list.items, (one) => one.id);
  const current = query ? found : list;
  return (
    <>
      <form
        className="flex flex-wrap items-end gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          setQuery(String(new FormData(event.currentTarget).get("query")).trim());
        }}
      >
        <input
          name="query"
          type="search"
          data-search
          className="min-w-48 flex-1"
          maxLength={2000}
          aria-label={say("memory.search")}
          placeholder={say("memory.search")}
          onChange={(event) => event.target.value || setQuery("")}
        />
        <label className="field">
          <span>{say("memory.asOf")}</span>
          <input type="date" value={asOf} onChange={(event) => setAsOf(event.target.value)} />
        </label>
        <button type="submit" className="button">
          {say("app.search")}
        </button>
      </form>
      {query ? (
        <label className="flex items-center gap-2 text-small">
          <input
            type="checkbox"
            className="min-h-0!"
            checked={hasScores}
            onChange={(event) => setScores(event.target.checked)}
          />{" "}
          {say("memory.scores")}
        </label>
      ) : (
        <>
          <Days userId={userId} />
          <div role="group" aria-label={say("memory.level")} className="flex flex-wrap gap-2">
            {[null, ...LEVELS].map((one) => (
              <button
                key={String(one)}
                type="button"
                aria-pressed={level === one}
                className={`button small ${level === one ? "primary" : ""}`}
                onClick={() => setLevel(one)}
              >
                {one === null ? say("app.all") : say(`memory.level.${one}`)}
              </button>
            ))}
          </div>
        </>
      )}
      <ErrorNotice error={current.error} onRetry={() => void current.refetch()} />
      {current.isFetching && !memories.length && <Skeleton lines={4} className="h-24" />}
      {current.isSuccess && !memories.length && <Empty>{say(query ? "memory.noneFound" : "memory.none")}</Empty>}
      {query && found.data && (
        <p className="text-small text-quiet" role="status">
          {say("memory.found", { n: memories.length })}
        </p>
      )}
      <Windowed
        groups={query ? [{ key: query, rows: memories }] : byPeriod(memories)}
        keyOf={(memory) => memory.id}
        rowPx={CARD_PX}
        hasMore={!query && list.hasNextPage}
      >
        {(memory) => <MemoryCard memory={memory} hasScore={query !== "" && hasScores} shown={shown} />}
      </Windowed>
      {!query && (
        <div ref={list.mark} className="h-8">
          {list.isFetchingNextPage && <Skeleton lines={1} />}
        </div>
      )}
    </>
  );
}

/** Those of one period under one heading, also where another period stands between them. */
function byPeriod(memories: Memory[]): Group<Memory>[] {
  const periods = new Map<string, Memory[]>();
  for (const memory of memories) {
    const rows = periods.get(memory.period);
    if (rows) rows.push(memory);
    else periods.set(memory.period, [memory]);
  }
  return Array.from(periods, ([period, rows], index) => ({
    key: period,
    heading: <h2 className={`pb-2 text-lead font-semibold ${index ? "pt-1" : ""}`}>{formatPeriod(period)}</h2>,
    rows,
  }));
}

/** What a summary is of: a day, or whole weeks. Of an exchange the time says it. */
function When({ memory }: { memory: Memory }) {
  switch (memory.level) {
    case 1:
      return (
        <>
          {say("memory.of.1")}, <Time at={memory.occurred_at} />
        </>
      );
    case 2:
    case 3:
      return `${say(`memory.of.${memory.level}`)}, ${formatDaysOf(memory.period)}`;
    default:
      return <Time at={memory.occurred_at} />;
  }
}

function MemoryCard({ memory, hasScore, shown }: { memory: Memory; hasScore: boolean; shown: Shown }) {
  const { open, gone } = shown;
  const isOpen = open.has(memory.id);
  const speakerOf = useSpeakerOf();
  if (gone.has(memory.id)) return <p className="card mb-3 text-small text-quiet">{say("evidence.gone")}</p>;
  return (
    <div className="card mb-3">
      <p className="text-small text-quiet">
        {memory.speaker && <>{visible(speakerOf(memory))}, </>}
        <When memory={memory} />
        {hasScore && memory.score !== null && (
          <span className="tabular"> · {say("memory.score", { n: formatNumber(memory.score, 3) })}</span>
        )}
        {memory.corrected_by && <b className="text-warn"> · {say("evidence.corrected")}</b>}
      </p>
      <p className="whitespace-pre-wrap">{visible(memory.memory)}</p>
      {memory.tags.length > 0 && (
        <p className="mt-1 flex flex-wrap gap-2 text-small">
          {memory.tags.map((tag) => (
            <span key={tag} className="rounded bg-raised px-2">
              {sayOr(`tag.${tag}`, visible(tag))}
            </span>
          ))}
        </p>
      )}
      <div className="mt-1 flex flex-wrap gap-x-4">
        <button type="button" className="quiet-button" aria-expanded={isOpen} onClick={() => open.toggle(memory.id)}>
          {say("memory.unfold")}
        </button>
        <MemoryActions id={memory.id} text={memory.memory} onGone={() => gone.toggle(memory.id)} />
      </div>
      {isOpen && <Words memoryId={memory.id} />}
    </div>
  );
}
