// What an answer was given and what it cites, down to the words.

import { useQueries, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import { ApiError } from "../api/error";
import { get } from "../api/http";
import { keys } from "../api/keys";
import type { Memory, RawLog, Run, Source } from "../api/types";
import { useTitleOf } from "../parts/assistants";
import { placeOfImported } from "../parts/imported";
import { Markdown } from "../parts/markdown";
import { MemoryActions } from "../parts/memory_actions";
import { ErrorNotice, errorText, Skeleton } from "../parts/notice";
import { Time } from "../parts/time";
import { visible } from "../parts/visible";
import { useUser } from "../session/session";
import { say } from "../texts";

const FIRST_SHOWN = 12;
const SHOWN_CHARS = 200; // of the words of a citation, in place

export function Evidence({ run, marked }: { run: Run; marked: number | null }) {
  const [shown, setShown] = useState(FIRST_SHOWN);
  if (!run.sources.length)
    return <p className="text-quiet">{say(run.final_answer === null ? "evidence.noAnswer" : "evidence.none")}</p>;
  const used = new Set(run.used);
  const lines = groupByLine(run.sources);
  const cited = lines.filter((line) => line.some((source) => used.has(source.id)));
  const given = lines.filter((line) => !cited.includes(line));
  const show = (title: string, some: Source[][]) => (
    <section>
      <h3 className="mb-2 text-small font-semibold text-quiet">{title}</h3>
      <ul className="flex flex-col gap-3">
        {some.map((line) => (
          <LineCard
            key={line[0]!.id}
            line={line}
            assistant={run.assistant}
            isMarked={marked !== null && line[0]!.number === marked}
          />
        ))}
      </ul>
    </section>
  );
  return (
    <div className="flex flex-col gap-6">
      {cited.length > 0 && show(say("evidence.used"), cited)}
      {given.length > 0 && show(say("evidence.given"), given.slice(0, shown))}
      {given.length > shown && (
        <button type="button" className="button self-start" onClick={() => setShown(shown + FIRST_SHOWN)}>
          {say("app.more")}
        </button>
      )}
    </div>
  );
}

/** The sources of each line that the assistant was given: those of one number stand together. */
function groupByLine(sources: Source[]): Source[][] {
  const lines = new Map<number | string, Source[]>();
  for (const source of sources) {
    const key = source.number ?? source.id;
    lines.set(key, [...(lines.get(key) ?? []), source]);
  }
  return [...lines.values()];
}

/** The memories on a line; gone, if all of them were forgotten. */
function useMemories(line: Source[]) {
  const { userId } = useUser();
  const found = useQueries({
    queries: line.map(({ id }) => ({
      queryKey: keys.memory(id),
      queryFn: ({ signal }: { signal: AbortSignal }) => get(`/v1/memories/${id}`, { user_id: userId }, signal),
      staleTime: 60_000,
    })),
  });
  return {
    memories: found.flatMap(({ data }) => (data ? [data] : [])),
    isGone: found.every(({ error }) => isUnknown(error)),
    error: found.find(({ error }) => error && !isUnknown(error))?.error ?? null, // another one than that it is gone
    readAgain: () => found.forEach((one) => void one.refetch()),
  };
}

function isUnknown(error: unknown): boolean {
  return error instanceof ApiError && error.status === 404;
}

/** The words of a citation, in place: by whom, when, and how they begin. */
export function CitedWords({ runId, number }: { runId: string; number: number }) {
  const { data: run } = useQuery({
    queryKey: keys.run(runId),
    queryFn: ({ signal }) => get(`/v1/runs/${runId}`, {}, signal),
    staleTime: Infinity,
  });
  const { memories, isGone, error } = useMemories(run?.sources.filter((one) => one.number === number) ?? []);
  const speakerOf = useSpeakerOf(run?.assistant ?? "");
  if (error && !memories.length) return errorText(error);
  if (!run || (!isGone && !memories.length)) return say("app.loading");
  if (isGone) return say("evidence.gone");
  return sameWords(memories).map(([memory]) => (
    <span key={memory!.id} className="block">
      <span className="block text-quiet">
        {speakerOf(memory!)}, <Time at={memory!.occurred_at} />
      </span>
      {visible(memory!.memory).slice(0, SHOWN_CHARS)}
      {memory!.memory.length > SHOWN_CHARS && "…"}
    </span>
  ));
}

function LineCard({ line, assistant, isMarked }: { line: Source[]; assistant: string; isMarked: boolean }) {
  const { memories, isGone, error, readAgain } = useMemories(line);
  const number = line[0]!.number;
  return (
    <li
      className={`card flex flex-col gap-3 p-3! ${isMarked ? "bg-mark" : ""}`}
      ref={(element) => void (isMarked && element?.scrollIntoView({ block: "nearest" }))}
    >
      {isGone ? (
        <p className="text-small text-quiet">{say("evidence.gone")}</p>
      ) : !memories.length && error ? (
        <ErrorNotice error={error} onRetry={readAgain} />
      ) : !memories.length ? (
        <Skeleton lines={2} className="h-4" />
      ) : (
        sameWords(memories).map((same) => (
          <Memories key={same[0]!.id} same={same} number={number} assistant={assistant} />
        ))
      )}
    </li>
  );
}

/** Memories of the same words, by whomever and whenever they were said. */
function sameWords(memories: Memory[]): Memory[][] {
  const groups = new Map<string, Memory[]>();
  for (const memory of memories) groups.set(memory.memory, [...(groups.get(memory.memory) ?? []), memory]);
  return [...groups.values()];
}

function Memories({ same, number, assistant }: { same: Memory[]; number: number | null; assistant: string }) {
  const speakerOf = useSpeakerOf(assistant);
  const [isGone, setGone] = useState(false);
  const [isOpen, setOpen] = useState(false);
  const memory = same[0]!;
  if (isGone) return <p className="text-small text-quiet">{say("evidence.gone")}</p>;
  return (
    <div>
      <p className="text-small text-quiet">
        {number != null && <b className="text-ink">[{number}] </b>}
        {same.map((one, at) => (
          <span key={one.id}>
            {at > 0 && " · "}
            {speakerOf(one)}, <Time at={one.occurred_at} />
          </span>
        ))}
        {memory.corrected_by && <b className="text-warn"> · {say("evidence.corrected")}</b>}
      </p>
      <div className="line-clamp-6">
        <Markdown text={memory.memory} />
      </div>
      <div className="mt-1 flex flex-wrap gap-x-4">
        <button type="button" className="quiet-button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {say("evidence.context")}
        </button>
        <MemoryActions id={memory.id} text={memory.memory} onGone={() => setGone(true)} />
      </div>
      {isOpen && <Words memoryId={memory.id} />}
    </div>
  );
}

/** Tells who has said a memory; `assistant` has answered, where that is known. */
export function useSpeakerOf(assistant?: string): (memory: Pick<Memory, "speaker" | "kind">) => string {
  const titleOf = useTitleOf();
  return ({ speaker, kind }) => {
    if (speaker === "user") return say("evidence.you");
    if (speaker === "assistant") return assistant ? titleOf(assistant) : say("admin.assistant");
    return visible(speaker ?? "") || say(kind === "summary" ? "admin.summary" : "evidence.you");
  };
}

/** The messages that a memory was made of, each leading to its place in a conversation. */
export function Words({ memoryId }: { memoryId: string }) {
  const { userId } = useUser();
  const words = useQuery({
    queryKey: keys.sources(memoryId),
    queryFn: ({ signal }) => get(`/v1/memories/${memoryId}/sources`, { user_id: userId }, signal),
  });
  if (words.error) return <ErrorNotice error={words.error} onRetry={() => void words.refetch()} />;
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
  const titleOf = useTitleOf();
  const conversation = run.data?.conversation_id;
  const place = conversation
    ? `/c/${conversation}#${log.role === "user" ? "ask" : "run"}-${log.run_id}`
    : run.data && run.data.kind !== "archive"
      ? `/runs/${log.run_id}`
      : log.origins.some((one) => one.kind === "import")
        ? placeOfImported(log.conversation, log.id)
        : null;
  return (
    <li>
      <span className="text-quiet">
        {visible(log.speaker ?? "") ||
          (log.role === "user" ? say("evidence.you") : run.data ? titleOf(run.data.assistant) : say("admin.assistant"))}
        , <Time at={log.occurred_at} />
      </span>
      <p className="line-clamp-6 whitespace-pre-wrap">{visible(log.content)}</p>
      {place && <Link href={place}>{say("evidence.context")}</Link>}
    </li>
  );
}
