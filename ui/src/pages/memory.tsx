// What is remembered of a person: by time and level, found by words, back to what was said; and in and out of here.

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useEffectEvent, useState } from "react";

import { get, post, remove, send } from "../api/http";
import { keys } from "../api/keys";
import { refresh } from "../api/refresh";
import type { Imported, Memory } from "../api/types";
import { Words } from "../chat/evidence";
import { Dialog } from "../parts/dialog";
import { MemoryActions } from "../parts/memory_actions";
import { Empty, ErrorNotice, Skeleton } from "../parts/notice";
import { Time } from "../parts/time";
import { unique, useMore } from "../parts/use_more";
import { visible } from "../parts/visible";
import { keep, keptList } from "../session/kept";
import { session, useUser } from "../session/session";
import { formatNumber, say } from "../texts";

const LEVELS = [0, 1, 2, 3] as const;
const PAGE = 30;
const MAX_FOUND = 50;
const IMPORTS = "imports"; // runs of unfinished imports, so that a reload finds them
const POLL_MS = 1500;

export function MemoryPage() {
  const { userId } = useUser();
  const [level, setLevel] = useState<number | null>(null);
  const [query, setQuery] = useState("");
  const [asOf, setAsOf] = useState("");
  const [hasScores, setScores] = useState(false);
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
    <div className="scrolls h-full p-4" tabIndex={0}>
      <div className="mx-auto flex max-w-[80ch] flex-col gap-4">
        <div className="flex flex-wrap items-baseline justify-between gap-3">
          <h1 className="text-title font-semibold">{say("memory.title")}</h1>
          <Transfer />
        </div>
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
        )}
        <ErrorNotice error={current.error} onRetry={() => void current.refetch()} />
        {current.isFetching && !memories.length && <Skeleton lines={4} className="h-24" />}
        {current.isSuccess && !memories.length && <Empty>{say(query ? "memory.noneFound" : "memory.none")}</Empty>}
        {memories.length > 0 && (
          <p className="text-small text-quiet" role="status">
            {say("memory.since", { n: memories.length })}
          </p>
        )}
        <ul className="flex flex-col gap-3">
          {memories.map((memory) => (
            <MemoryCard key={memory.id} memory={memory} hasScore={hasScores} />
          ))}
        </ul>
        {!query && (
          <div ref={list.mark} className="h-8">
            {list.isFetchingNextPage && <Skeleton lines={1} />}
          </div>
        )}
      </div>
    </div>
  );
}

function MemoryCard({ memory, hasScore }: { memory: Memory; hasScore: boolean }) {
  const [isOpen, setOpen] = useState(false);
  const [isGone, setGone] = useState(false);
  if (isGone) return <li className="card text-small text-quiet">{say("evidence.gone")}</li>;
  return (
    <li className="card">
      <p className="text-small text-quiet">
        {memory.speaker && <>{memory.speaker}, </>}
        {memory.period} · <Time at={memory.occurred_at} />
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
              {visible(tag)}
            </span>
          ))}
        </p>
      )}
      <div className="mt-1 flex flex-wrap gap-x-4">
        <button type="button" className="quiet-button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {say("memory.unfold")}
        </button>
        <MemoryActions id={memory.id} text={memory.memory} onGone={() => setGone(true)} />
      </div>
      {isOpen && <Words memoryId={memory.id} />}
    </li>
  );
}

function Transfer() {
  const { userId } = useUser();
  const queries = useQueryClient();
  const [isErasing, setErasing] = useState(false);
  const [runIds, setRunIds] = useState(() => keptList<string>(userId, IMPORTS));
  const watch = (ids: string[]) => {
    keep(userId, IMPORTS, ids.length ? JSON.stringify(ids) : "");
    setRunIds(ids);
  };
  const download = useMutation({
    mutationFn: async () => {
      const url = URL.createObjectURL(await (await send("GET", `/v1/users/${userId}/export`)).blob());
      const link = Object.assign(document.createElement("a"), { href: url, download: `maas-${userId}.ndjson` });
      link.click();
      URL.revokeObjectURL(url);
    },
  });
  const upload = useMutation({
    mutationFn: async (file: File) => {
      const type = file.name.toLowerCase().endsWith(".json") ? "application/json" : "application/x-ndjson";
      const body = new Blob([file], { type });
      return (
        await send("POST", `/v1/users/${userId}/import`, body, undefined, { "content-type": type })
      ).json() as Promise<Imported>;
    },
    onSuccess: (result) => {
      watch([...runIds, ...result.run_ids].slice(-1000));
      return refresh(queries, ["memory"]);
    },
  });
  return (
    <div className="flex flex-wrap items-center gap-2">
      <button type="button" className="button small" disabled={download.isPending} onClick={() => download.mutate()}>
        {say("memory.export")}
      </button>
      <label className="button small cursor-pointer focus-within:outline-2" title={say("memory.importHelp")}>
        {say("memory.import")}
        <input
          type="file"
          className="sr-only"
          accept=".json,.jsonl,.ndjson"
          disabled={upload.isPending}
          onChange={(event) => {
            const file = event.target.files?.[0];
            event.target.value = "";
            if (file) upload.mutate(file);
          }}
        />
      </label>
      <button type="button" className="button small danger" onClick={() => setErasing(true)}>
        {say("memory.erase")}
      </button>
      <div className="basis-full text-small" role="status">
        {upload.isPending && say("app.loading")}
        {upload.data && say("memory.imported", { added: upload.data.added, known: upload.data.known })}{" "}
        {runIds.length > 0 && <ImportProgress runIds={runIds} onDone={() => watch([])} />}
      </div>
      <ErrorNotice error={upload.error ?? download.error} />
      {isErasing && <Erase onClose={() => setErasing(false)} />}
    </div>
  );
}

function ImportProgress({ runIds, onDone }: { runIds: string[]; onDone: () => void }) {
  const queries = useQueryClient();
  const [done, setDone] = useState<Set<string>>(new Set());
  const next = runIds.find((id) => !done.has(id)) ?? null;
  const run = useQuery({
    queryKey: keys.importRun(next),
    queryFn: ({ signal }) => get(`/v1/runs/${next}`, {}, signal),
    enabled: next !== null,
    refetchInterval: POLL_MS,
    retry: false,
  });
  const isEnded =
    run.error !== null || (run.data && ["ARCHIVED", "SKIPPED", "FAILED"].includes(run.data.archive_status));
  useEffect(() => {
    if (next !== null && isEnded) setDone((before) => new Set(before).add(next));
  }, [next, isEnded]);
  const end = useEffectEvent(() => {
    void refresh(queries, ["memory"]);
    const timer = window.setTimeout(onDone, 3000);
    return () => window.clearTimeout(timer);
  });
  useEffect(() => (next === null ? end() : undefined), [next]);
  return next === null ? say("memory.importDone") : say("memory.importing", { done: done.size, all: runIds.length });
}

function Erase({ onClose }: { onClose: () => void }) {
  const { userId, config } = useUser();
  const queries = useQueryClient();
  const [word, setWord] = useState("");
  const wanted = say("memory.eraseWord");
  const close = () => {
    onClose();
    if (!erase.data) return;
    if (config.auth === "local")
      void session.signOut(); // the account is gone, too
    else window.location.assign("/ui/");
  };
  const erase = useMutation({
    mutationFn: () => remove(`/v1/users/${userId}`),
    onSuccess: () => queries.removeQueries({ queryKey: keys.allMessages() }),
  });
  return (
    <Dialog title={say("memory.erase")} onClose={close}>
      {erase.data ? (
        <div role="status">
          <p className="mb-2">{say("memory.erased")}</p>
          <table className="data">
            <tbody>
              {Object.entries(erase.data.erased)
                .filter(([, rows]) => rows > 0)
                .map(([table, rows]) => (
                  <tr key={table}>
                    <th scope="row">{table}</th>
                    <td>{formatNumber(rows)}</td>
                  </tr>
                ))}
            </tbody>
          </table>
        </div>
      ) : (
        <form
          className="flex flex-col gap-3"
          onSubmit={(event) => {
            event.preventDefault();
            erase.mutate();
          }}
        >
          <p>{say("memory.eraseWhat")}</p>
          <label className="field">
            <span>{say("memory.eraseConfirm", { word: wanted })}</span>
            <input value={word} onChange={(event) => setWord(event.target.value)} autoComplete="off" />
          </label>
          <ErrorNotice error={erase.error} />
          <button
            type="submit"
            className="button danger self-start"
            disabled={word.trim().toLowerCase() !== wanted || erase.isPending}
          >
            {say("memory.erase")}
          </button>
        </form>
      )}
    </Dialog>
  );
}
