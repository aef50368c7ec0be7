// Two requests side by side: what was answered, and where on the way they part.

import { useState } from "react";
import { Link, useLocation } from "wouter";
import { useTrace } from "../api/trace";
import type { Run, Trace } from "../api/types";
import { totalsOf } from "../chat/trace_tree";
import { useRunState } from "../chat/turns";
import { wordsOf } from "../parts/forgotten";
import { formatMs } from "../parts/measured";
import { ErrorNotice, Skeleton } from "../parts/notice";
import { Time } from "../parts/time";
import { visible } from "../parts/visible";
import { formatDollars, formatNumber, say, sayOr } from "../texts";
import { Difference } from "./difference";
import { useFilters, wholeId } from "./filters";
import { type Pair, promptOf, type StagePair, stagePairs } from "./run_difference";
import { Sheet } from "./sheet";
import { Table } from "./table";

const MILLION = 1_000_000;

export const placeOfComparison = (before: string, after: string) => `/admin/compare?before=${before}&after=${after}`;

export function ComparePage() {
  const [ids] = useFilters(["before", "after"]);
  const [before, after] = [useSide(wholeId(ids.before)), useSide(wholeId(ids.after))];
  const error = before.error ?? after.error;
  return (
    <Sheet title={say("compare.title")} note={say("trace.audited")}>
      {!wholeId(ids.before) || !wholeId(ids.after) ? (
        <p role="alert">{say("compare.which")}</p>
      ) : error ? (
        <ErrorNotice error={error} />
      ) : before.side && after.side ? (
        <Both before={before.side} after={after.side} />
      ) : (
        <Skeleton lines={8} />
      )}
    </Sheet>
  );
}

/** Leads from a request to its comparison with another. */
export function CompareWith({ id, origin }: { id: string; origin: string | null }) {
  const [typed, setTyped] = useState(origin ?? "");
  const [, navigate] = useLocation();
  const other = wholeId(typed);
  return (
    <form
      className="flex flex-wrap items-end gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        if (other) navigate(placeOfComparison(other, id));
      }}
    >
      <label className="field max-w-full">
        <span>{say(origin === null ? "compare.with" : "compare.withOrigin")}</span>
        <input
          className="w-96 max-w-full font-mono"
          value={typed}
          maxLength={36}
          onChange={(event) => setTyped(event.target.value)}
        />
      </label>
      <button type="submit" className="button small" disabled={!other || other === id}>
        {say("compare.do")}
      </button>
    </form>
  );
}

interface Side {
  run: Run;
  trace: Trace;
}

function useSide(id: string | null): { side: Side | null; error: unknown } {
  const { data: run, error } = useRunState(id);
  const trace = useTrace(run ?? { request_id: id ?? "", archive_status: "PENDING" }, run !== undefined);
  return { side: run && trace.data ? { run, trace: trace.data } : null, error: error ?? trace.error };
}

function Both({ before, after }: { before: Side; after: Side }) {
  const pairs = stagePairs(before.trace, after.trace);
  return (
    <>
      <div className="grid gap-4 md:grid-cols-2">
        <Head side={before} label={say("admin.before")} />
        <Head side={after} label={say("again.now")} />
      </div>
      <Figures before={before.trace} after={after.trace} />
      <section>
        <h2 className="mb-2 text-lead font-semibold">{say("compare.answer")}</h2>
        <Difference before={answerOf(before.run)} after={answerOf(after.run)} />
      </section>
      {pairs.map((pair) => (
        <Stage key={pair.stage} pair={pair} before={before.trace} after={after.trace} />
      ))}
    </>
  );
}

function Head({ side: { run }, label }: { side: Side; label: string }) {
  return (
    <div className="card min-w-0">
      <p className="flex flex-wrap items-baseline gap-x-3 text-small text-quiet">
        <b>{label}</b>
        <Link href={`/admin/runs/${run.request_id}`} className="font-mono">
          {run.request_id.slice(0, 8)}
        </Link>
        {run.timings.created_at && <Time at={run.timings.created_at} isExact />}
        <span title={run.status}>{say(`stage.${run.status}`)}</span>
      </p>
      <p className="whitespace-pre-wrap">{wordsOf(run.query)}</p>
    </div>
  );
}

const TOTALS = [
  ["trace.time", (trace: Trace) => totalsOf(trace).answerMs, formatMs],
  ["trace.firstText", (trace: Trace) => totalsOf(trace).firstTextMs, formatMs],
  ["compare.tokensIn", (trace: Trace) => totalsOf(trace).tokensIn, formatNumber],
  ["compare.tokensOut", (trace: Trace) => totalsOf(trace).tokensOut, formatNumber],
  ["trace.price", (trace: Trace) => totalsOf(trace).price / MILLION, formatDollars],
] as const;

function Figures({ before, after }: { before: Trace; after: Trace }) {
  const figures = TOTALS.map(([name, of, format]) => {
    const [one, other] = [of(before), of(after)];
    const [then, now] = [one, other].map((value) => (value === null ? "–" : format(value)));
    return { name, then, now, change: changeOf(one, other, format) };
  });
  return (
    <Table
      label="compare.title"
      rows={figures}
      idOf={({ name }) => name}
      columns={[
        { head: "compare.figure", isHeading: true, cell: ({ name }) => say(name) },
        { head: "admin.before", isNumber: true, cell: ({ then }) => then },
        { head: "again.now", isNumber: true, cell: ({ now }) => now },
        { head: "compare.change", isNumber: true, cell: ({ change }) => change },
      ]}
    />
  );
}

/** How much more or less it is, with its sign; nothing where one is not known. */
function changeOf(one: number | null, other: number | null, format: (value: number) => string): string {
  if (one === null || other === null) return "–";
  if (one === other) return "=";
  return `${other > one ? "+" : "−"}${format(Math.abs(other - one))}`;
}

function Stage({ pair, before, after }: { pair: StagePair; before: Trace; after: Trace }) {
  const given: Pair<string> = { before: pair.before?.given ?? null, after: pair.after?.given ?? null };
  return (
    <section>
      <h2 className="text-lead font-semibold">{sayOr(`stage.${pair.stage}`, pair.stage)}</h2>
      <p className="tabular mb-2 text-small text-quiet">
        {timeOf(pair.before)} → {timeOf(pair.after)}
      </p>
      <div className="flex flex-col gap-3">
        {pair.before && pair.after && <Part title={say("trace.given")} {...given} />}
        {pair.calls.map((call, index) => (
          <div key={index} className="flex flex-col gap-2 border-l border-line pl-3">
            <div className="tabular grid gap-x-4 text-small md:grid-cols-2">
              <p>{callOf(call.before)}</p>
              <p>{callOf(call.after)}</p>
            </div>
            {call.before && call.after && (
              <>
                <Part
                  title={say("again.prompt")}
                  before={promptOf(call.before, before)}
                  after={promptOf(call.after, after)}
                />
                <Part title={say("trace.reply")} before={call.before.call.reply} after={call.after.call.reply} />
              </>
            )}
          </div>
        ))}
      </div>
    </section>
  );
}

/** A text of both: one line where it is the same, else what differs. */
function Part({ title, before, after }: Pair<string> & { title: string }) {
  if (before === null && after === null) return null;
  if (before === after)
    return (
      <p className="text-small text-quiet">
        {title}: {say("compare.same")}
      </p>
    );
  return (
    <details open>
      <summary className="text-small">{title}</summary>
      <Difference before={before ?? ""} after={after ?? ""} />
    </details>
  );
}

function timeOf(node: StagePair["before"]): string {
  if (node === null) return "–";
  return formatMs(node.stage.ms) + (node.stage.is_degraded ? ` (${say("trace.rules")})` : "");
}

function callOf(node: StagePair["calls"][number]["before"]): string {
  if (node === null) return "–";
  const { call } = node;
  const parts = [
    visible(`${call.provider}:${call.model}`),
    `${formatNumber(call.tokens_in)} → ${formatNumber(call.tokens_out)}`,
    call.price === null ? "–" : formatDollars(call.price / MILLION),
    formatMs(call.ms),
  ];
  return [...parts, ...(call.error ? [visible(call.error)] : [])].join(" · ");
}

function answerOf(run: Run): string {
  return run.final_answer ?? [run.error_code, run.error_message].filter(Boolean).join(": ");
}
