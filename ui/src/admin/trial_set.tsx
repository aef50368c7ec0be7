// A text of a prompt on trial with up to twenty recorded requests: what each was answered, and is answered with it.

import { useMutation, useQueries, useQuery, useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { Link } from "wouter";

import { get, post, put, remove } from "../api/http";
import { keys } from "../api/keys";
import { refresh } from "../api/refresh";
import type { Answer } from "../api/route";
import type { Run } from "../api/types";
import { useTitleOf } from "../parts/assistants";
import { ConfirmButton } from "../parts/confirm";
import { wordsOf } from "../parts/forgotten";
import { Markdown } from "../parts/markdown";
import { ErrorNotice, Failure, Skeleton } from "../parts/notice";
import { Time } from "../parts/time";
import { useMore } from "../parts/use_more";
import { visible } from "../parts/visible";
import { formatDollars, formatNumber, say } from "../texts";
import { placeOfComparison } from "./compare";
import { nameOfPath } from "./names";

const MAX_RUNS = 20;
const OFFERED = 50; // requests to choose from
const POLL_INTERVAL_MS = 2000;

type TrialSet = Answer<"get", `/v1/admin/trial_sets/${string}`>;
type Outcome = { id: string } | { error: unknown };

const pathOf = (name: string) => `/v1/admin/trial_sets/${encodeURIComponent(name)}` as const;
const isOver = (run: Run | undefined) => run?.status === "COMPLETED" || run?.status === "FAILED";

export function TrialSets({ role, text }: { role: string; text: string }) {
  const queries = useQueryClient();
  const [name, setName] = useState("");
  const [isChoosing, setChoosing] = useState(false);
  const sets = useQuery({
    queryKey: keys.trialSets(),
    queryFn: ({ signal }) => get("/v1/admin/trial_sets", {}, signal),
  });
  const chosen = useQuery({
    queryKey: keys.trialSet(name),
    queryFn: ({ signal }) => get(pathOf(name), {}, signal),
    enabled: name !== "",
  });
  return (
    <section className="flex flex-col gap-3">
      <h2 className="text-lead font-semibold">{say("trials.title")}</h2>
      <p className="text-small text-quiet">{say("trials.what", { n: MAX_RUNS })}</p>
      <div className="flex flex-wrap items-end gap-3">
        <label className="field">
          <span>{say("trials.set")}</span>
          <select value={name} onChange={(event) => setName(event.target.value)}>
            <option value="">–</option>
            {sets.data?.results.map((one) => (
              <option key={one.name} value={one.name}>
                {visible(one.name)} ({formatNumber(one.runs)})
              </option>
            ))}
          </select>
        </label>
        <button type="button" className="button" aria-expanded={isChoosing} onClick={() => setChoosing(!isChoosing)}>
          {say(name ? "trials.change" : "trials.create")}
        </button>
        {name && (
          <ConfirmButton
            label={say("trials.delete")}
            title={say("trials.deleteAsk", { name: visible(name) })}
            what={say("trials.deleteWhat")}
            className="button"
            onConfirm={async () => {
              await remove(pathOf(name));
              setName("");
              await refresh(queries, ["trialSets"]);
            }}
          />
        )}
      </div>
      <ErrorNotice error={sets.error ?? chosen.error} />
      {isChoosing && (!name || chosen.data) && (
        <Choice
          key={name}
          set={chosen.data ?? null}
          onKept={(kept) => {
            setName(kept);
            setChoosing(false);
          }}
        />
      )}
      {name && !chosen.data && !chosen.error && <Skeleton lines={4} />}
      {chosen.data && <Trials key={name} set={chosen.data} role={role} text={text} />}
    </section>
  );
}

/** Recorded requests to tick, and the name under which they are kept. */
function Choice({ set, onKept }: { set: TrialSet | null; onKept: (name: string) => void }) {
  const queries = useQueryClient();
  const titleOf = useTitleOf();
  const [name, setName] = useState(set?.name ?? "");
  const [ids, setIds] = useState<string[]>(set?.runs.map((run) => run.request_id) ?? []);
  const newest = useMore("runs", "/v1/admin/runs", { kind: "ask", status: "COMPLETED", limit: OFFERED });
  const offered = [
    ...(set?.runs ?? []),
    ...newest.items.filter((run) => !set?.runs.some((one) => one.request_id === run.request_id)),
  ];
  const save = useMutation({
    mutationFn: () => put(pathOf(nameOfPath(name)), { run_ids: ids }),
    onSuccess: async () => {
      await refresh(queries, ["trialSets"]);
      onKept(nameOfPath(name));
    },
  });
  return (
    <form
      className="card flex flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        save.mutate();
      }}
    >
      {newest.isLoading && <Skeleton lines={4} />}
      <fieldset className="scrolls max-h-80">
        <legend className="text-small text-quiet">{say("trials.chosen", { n: ids.length, most: MAX_RUNS })}</legend>
        {offered.map((run) => (
          <label key={run.request_id} className="flex items-center gap-2 text-small">
            <input
              type="checkbox"
              className="min-h-0!"
              checked={ids.includes(run.request_id)}
              disabled={ids.length >= MAX_RUNS && !ids.includes(run.request_id)}
              onChange={(event) =>
                setIds(event.target.checked ? [...ids, run.request_id] : ids.filter((id) => id !== run.request_id))
              }
            />
            <span className="truncate">
              <Time at={run.created_at} /> · {titleOf(run.assistant)} · {wordsOf(run.query).slice(0, 200)}
            </span>
          </label>
        ))}
      </fieldset>
      <div className="flex flex-wrap items-end gap-3">
        <label className="field">
          <span>{say("trials.name")}</span>
          <input value={name} required maxLength={100} onChange={(event) => setName(event.target.value)} />
        </label>
        <button type="submit" className="button primary" disabled={!ids.length || !name.trim() || save.isPending}>
          {say("trials.keep")}
        </button>
      </div>
      <ErrorNotice error={save.error ?? newest.error} />
    </form>
  );
}

function Trials({ set, role, text }: { set: TrialSet; role: string; text: string }) {
  const [outcomes, setOutcomes] = useState<Record<string, Outcome>>({});
  const [isSending, setSending] = useState(false);
  const isStopped = useRef(false);
  const ids = Object.values(outcomes).flatMap((one) => ("id" in one ? [one.id] : []));
  const runs = useQueries({
    queries: ids.map((id) => ({
      queryKey: keys.run(id),
      queryFn: ({ signal }: { signal: AbortSignal }) => get(`/v1/runs/${id}`, {}, signal),
      refetchInterval: ({ state }: { state: { data?: Run } }) => (isOver(state.data) ? false : POLL_INTERVAL_MS),
    })),
  });
  const answers = new Map(runs.map(({ data }, index) => [ids[index]!, data]));
  const over = Object.values(outcomes).filter((one) => "error" in one || isOver(answers.get(one.id))).length;
  const isRunning = isSending || over < Object.keys(outcomes).length;
  const dollars = set.runs.reduce((sum, run) => sum + (run.dollars ?? 0), 0);
  const tokens = set.runs.reduce((sum, run) => sum + run.tokens, 0);
  const start = async () => {
    isStopped.current = false;
    setOutcomes({});
    setSending(true);
    for (const run of set.runs) {
      if (isStopped.current) break;
      const path = `/v1/admin/prompts/${encodeURIComponent(role)}/try` as const;
      const outcome = await post(path, { run_id: run.request_id, text }).then(
        ({ request_id }): Outcome => ({ id: request_id }),
        (error: unknown): Outcome => ({ error }),
      );
      setOutcomes((before) => ({ ...before, [run.request_id]: outcome }));
    }
    setSending(false);
  };
  const stop = async () => {
    isStopped.current = true;
    const open = ids.filter((id) => !isOver(answers.get(id)));
    await Promise.allSettled(open.map((id) => post(`/v1/runs/${id}/cancel`))); // one may have ended meanwhile
  };
  return (
    <>
      <div className="flex flex-wrap items-center gap-3">
        <ConfirmButton
          label={say("trials.do", { n: set.runs.length })}
          title={say("trials.ask", { n: set.runs.length })}
          what={say("trials.cost", { tokens, dollars: formatDollars(dollars) })}
          className="button"
          disabled={isRunning || !set.runs.length}
          onConfirm={async () => void start()}
        />
        {isRunning && (
          <>
            <progress value={over} max={set.runs.length} aria-label={say("trials.title")} />
            <button type="button" className="button" onClick={() => void stop()}>
              {say("trials.stop")}
            </button>
          </>
        )}
        {(isRunning || over > 0) && (
          <span role="status" className="tabular text-small">
            {say("trials.done", { n: over, of: set.runs.length })}
          </span>
        )}
      </div>
      <ul className="flex flex-col gap-3">
        {set.runs.map((run) => (
          <li key={run.request_id} className="card">
            <p className="mb-2 flex flex-wrap items-baseline gap-x-3">
              <Link href={`/admin/runs/${run.request_id}`}>{wordsOf(run.query)}</Link>
            </p>
            <Both run={run} outcome={outcomes[run.request_id]} answers={answers} />
          </li>
        ))}
      </ul>
    </>
  );
}

interface BothProps {
  run: TrialSet["runs"][number];
  outcome: Outcome | undefined;
  answers: Map<string, Run | undefined>;
}

function Both({ run, outcome, answers }: BothProps) {
  const now = outcome && "id" in outcome ? answers.get(outcome.id) : undefined;
  return (
    <div className="grid gap-4 md:grid-cols-2">
      <div className="min-w-0">
        <h3 className="text-small text-quiet">{say("admin.before")}</h3>
        <Markdown text={run.answer ?? ""} />
      </div>
      {outcome && (
        <div className="min-w-0">
          <h3 className="text-small text-quiet">
            {say("admin.now")}{" "}
            {"id" in outcome && isOver(now) && (
              <Link href={placeOfComparison(run.request_id, outcome.id)}>{say("compare.title")}</Link>
            )}
          </h3>
          {"error" in outcome ? (
            <ErrorNotice error={outcome.error} />
          ) : !isOver(now) ? (
            <Skeleton lines={2} />
          ) : now!.status === "FAILED" ? (
            <Failure code={now!.error_code} message={now!.error_message} />
          ) : (
            <Markdown text={now!.final_answer ?? ""} />
          )}
        </div>
      )}
    </div>
  );
}
