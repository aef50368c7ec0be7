// What an answer was given and what it cites, down to the words.

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";

import { ApiError } from "../api/error";
import { get } from "../api/http";
import { keys } from "../api/keys";
import type { RawLog, Run, Source } from "../api/types";
import { MemoryActions } from "../parts/memory_actions";
import { Skeleton } from "../parts/notice";
import { Time } from "../parts/time";
import { visible } from "../parts/visible";
import { useUser } from "../session/session";
import { say } from "../texts";

const FIRST_SHOWN = 12;

export function Evidence({ run, marked }: { run: Run; marked: number | null }) {
  const [shown, setShown] = useState(FIRST_SHOWN);
  if (!run.sources.length) return <p className="text-quiet">{say("evidence.none")}</p>;
  const used = new Set(run.used);
  const cited = run.sources.filter((source) => used.has(source.id));
  const given = run.sources.filter((source) => !used.has(source.id));
  return (
    <div className="flex flex-col gap-6">
      {cited.length > 0 && <Sources title={say("evidence.used")} sources={cited} marked={marked} />}
      {given.length > 0 && <Sources title={say("evidence.given")} sources={given.slice(0, shown)} marked={marked} />}
      {given.length > shown && (
        <button type="button" className="button self-start" onClick={() => setShown(shown + FIRST_SHOWN)}>
          {say("app.more")}
        </button>
      )}
    </div>
  );
}

function Sources({ title, sources, marked }: { title: string; sources: Source[]; marked: number | null }) {
  return (
    <section>
      <h3 className="mb-2 text-small font-semibold text-quiet">{title}</h3>
      <ul className="flex flex-col gap-3">
        {sources.map((source) => (
          <SourceCard key={source.id} source={source} isMarked={marked !== null && source.number === marked} />
        ))}
      </ul>
    </section>
  );
}

function SourceCard({ source, isMarked }: { source: Source; isMarked: boolean }) {
  const { userId } = useUser();
  const [isGone, setGone] = useState(false);
  const [isOpen, setOpen] = useState(false);
  const memory = useQuery({
    queryKey: keys.memory(source.id),
    queryFn: ({ signal }) => get(`/v1/memories/${source.id}`, { user_id: userId }, signal),
    staleTime: 60_000,
  });
  const isMissing = isGone || (memory.error instanceof ApiError && memory.error.status === 404);
  return (
    <li
      className={`card p-3! ${isMarked ? "bg-mark" : ""}`}
      ref={(element) => void (isMarked && element?.scrollIntoView({ block: "nearest" }))}
    >
      {isMissing ? (
        <p className="text-small text-quiet">{say("evidence.gone")}</p>
      ) : !memory.data ? (
        <Skeleton lines={2} className="h-4" />
      ) : (
        <>
          <p className="text-small text-quiet">
            {source.number != null && <b className="text-ink">[{source.number}] </b>}
            {memory.data.speaker ?? say("admin.summary")}, <Time at={memory.data.occurred_at} />
            {memory.data.corrected_by && <b className="text-warn"> · {say("evidence.corrected")}</b>}
          </p>
          <p className="line-clamp-6 whitespace-pre-wrap">{visible(memory.data.memory)}</p>
          <div className="mt-1 flex flex-wrap gap-x-4">
            <button type="button" className="quiet-button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
              {say("evidence.context")}
            </button>
            <MemoryActions id={source.id} text={memory.data.memory} onGone={() => setGone(true)} />
          </div>
          {isOpen && <Words memoryId={source.id} />}
        </>
      )}
    </li>
  );
}

/** The messages that a memory was made of, each leading to its place in a conversation. */
export function Words({ memoryId }: { memoryId: string }) {
  const { userId } = useUser();
  const words = useQuery({
    queryKey: keys.sources(memoryId),
    queryFn: ({ signal }) => get(`/v1/memories/${memoryId}/sources`, { user_id: userId }, signal),
  });
  if (!words.data) return <Skeleton lines={1} className="h-8" />;
  return (
    <div className="mt-2 border-l-4 border-line pl-3 text-small">
      <ul className="flex flex-col gap-2">
        {words.data.results.map((log) => (
          <Word key={log.id} log={log} />
        ))}
      </ul>
      {words.data.gone > 0 && <p className="mt-2 text-quiet">{say("memory.gone", { n: words.data.gone })}</p>}
    </div>
  );
}

function Word({ log }: { log: RawLog }) {
  const run = useQuery({
    queryKey: keys.run(log.run_id),
    queryFn: ({ signal }) => get(`/v1/runs/${log.run_id}`, {}, signal),
    staleTime: Infinity,
    retry: false,
  });
  const conversation = run.data?.conversation_id;
  const place = conversation
    ? `/c/${conversation}#${log.role === "user" ? "ask" : "run"}-${log.run_id}`
    : run.data && run.data.kind !== "archive"
      ? `/runs/${log.run_id}`
      : null;
  return (
    <li>
      <span className="text-quiet">
        {log.speaker ?? log.role}, <Time at={log.occurred_at} />
      </span>
      <p className="line-clamp-6 whitespace-pre-wrap">{visible(log.content)}</p>
      {place && <Link href={place}>{say("evidence.context")}</Link>}
    </li>
  );
}
