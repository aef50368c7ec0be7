// How an answer came about: its totals, and a tree of stages, model calls, tools and what was searched.

import type { ReactNode } from "react";

import { useTrace } from "../api/trace";
import type { ModelCall, Run, StageSpan, ToolExecution, Trace as TraceData } from "../api/types";
import { CopyButton } from "../parts/copy_button";
import { download } from "../parts/download";
import { formatMs } from "../parts/measured";
import { ErrorNotice, Skeleton } from "../parts/notice";
import { Time } from "../parts/time";
import { visible } from "../parts/visible";
import { useUser } from "../session/session";
import { formatDollars, formatNumber, say, sayOr } from "../texts";
import { type CallNode, earlierCalls, type StageNode, stageNodes, totalsOf } from "./trace_tree";

const MILLION = 1_000_000;
const HEX = /^[0-9a-f]+$/; // clients write the metadata

export function Trace({ run }: { run: Run }) {
  const { isAdmin, userId, config } = useUser();
  const trace = useTrace(run, isAdmin);
  if (!isAdmin) return <Stages nodes={stagesOf(run).map((stage) => ({ stage, given: null, calls: [], tools: [] }))} />;
  if (trace.error) return <ErrorNotice error={trace.error} />;
  if (!trace.data) return <Skeleton lines={5} className="h-6" />;
  const { data } = trace;
  const earlier = earlierCalls(data);
  return (
    <div className="flex flex-col gap-6">
      {run.user_id !== userId && <p className="text-small text-quiet">{say("trace.audited")}</p>}
      <Totals trace={data} />
      {spansOf(data) !== null && (
        <p className="flex flex-wrap items-baseline gap-x-3 text-small">
          <span className="text-quiet">{say("trace.spans")}</span> <code>{spansOf(data)}</code>
          <CopyButton text={spansOf(data)!} />
          {config.trace_url && HEX.test(spansOf(data)!) && (
            <a href={config.trace_url.replaceAll("{trace_id}", spansOf(data)!)} target="_blank" rel="noreferrer">
              {say("trace.collector")}
            </a>
          )}
        </p>
      )}
      <Stages nodes={stageNodes(data)} memories={data.memories} />
      {earlier.length > 0 && (
        <Fold title={say("trace.earlier", { n: earlier.length })}>
          {earlier.map((node, index) => (
            <Call key={index} node={node} />
          ))}
        </Fold>
      )}
      {data.steps.length > 0 && (
        <Fold title={say("trace.steps", { n: data.steps.length })}>
          {data.steps.map((step) => (
            <Fold key={step.number} title={`${step.number}. ${visible(step.title)} · ${say(`step.${step.status}`)}`}>
              <Code value={{ tool: step.tool, arguments: step.arguments, prompt: step.prompt, result: step.result }} />
            </Fold>
          ))}
        </Fold>
      )}
      <Fold title={say("trace.history", { n: data.history.length })}>
        <ol className="text-small">
          {data.history.map((one, index) => (
            <li key={index} className="flex gap-3">
              <Time at={one.at} />
              <span className="min-w-0">
                <span title={one.happened}>{sayOr(`stage.${one.happened}`, one.happened)}</span>
                {one.details && (
                  <span className="text-quiet"> {visible(JSON.stringify(one.details)).slice(0, 500)}</span>
                )}
              </span>
            </li>
          ))}
        </ol>
      </Fold>
      <button
        type="button"
        className="button small self-start"
        onClick={() => download(`trace-${run.request_id}.json`, new Blob([JSON.stringify(data, null, 2)]))}
      >
        {say("trace.export")}
      </button>
    </div>
  );
}

/** The id of the trace at OpenTelemetry that the client began, where spans are exported. */
function spansOf({ run }: TraceData): string | null {
  const parent = run.metadata?.traceparent;
  return typeof parent === "string" ? (parent.split("-")[1] ?? null) : null;
}

function Totals({ trace }: { trace: TraceData }) {
  const totals = totalsOf(trace);
  const figures = [
    [say("trace.tokens"), `${formatNumber(totals.tokensIn)} → ${formatNumber(totals.tokensOut)}`],
    ...(totals.tokensCached ? [[say("trace.fromCache"), formatNumber(totals.tokensCached)]] : []),
    [
      say("trace.price"),
      formatDollars(totals.price / MILLION) +
        (totals.unpriced ? ` + ${say("trace.unpriced", { n: totals.unpriced })}` : ""),
    ],
    [say("trace.time"), formatMs(totals.answerMs)],
    ...(totals.firstTextMs === null ? [] : [[say("trace.firstText"), formatMs(totals.firstTextMs)]]),
  ];
  return (
    <dl className="flex flex-wrap gap-x-6 gap-y-2">
      {figures.map(([name, value]) => (
        <div key={name}>
          <dt className="text-small text-quiet">{name}</dt>
          <dd className="tabular font-semibold">{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function Stages({ nodes, memories = [] }: { nodes: StageNode[]; memories?: TraceData["memories"] }) {
  const end = Math.max(1, ...nodes.map(({ stage }) => stage.began_ms + (stage.ms ?? 0)));
  return (
    <section>
      <h3 className="mb-2 text-small font-semibold text-quiet">{say("trace.stages")}</h3>
      <ul className="flex flex-col gap-2 text-small">
        {nodes.map((node, index) => (
          <li key={index}>
            <Bar stage={node.stage} end={end} />
            {(node.calls.length > 0 || node.tools.length > 0 || node.given) && (
              <div className="ml-4 border-l border-line pl-3">
                {node.given && (
                  <Fold title={say("trace.given")}>
                    <Code value={pretty(node.given)} />
                  </Fold>
                )}
                {node.calls.map((call) => (
                  <Call key={call.call.round} node={call} />
                ))}
                {node.tools.map((tool, place) => (
                  <Tool key={place} tool={tool} />
                ))}
              </div>
            )}
            {node.stage.stage === "assembler" && memories.length > 0 && (
              <div className="ml-4 border-l border-line pl-3">
                <Fold title={say("trace.search", { n: memories.length })}>
                  <ol>
                    {memories.map((memory) => (
                      <li key={memory.id}>
                        <span className="tabular text-quiet">{formatNumber(memory.score, 3)}</span> {memory.kind}{" "}
                        {visible(memory.memory ?? memory.logs[0]?.content ?? "").slice(0, 300)}
                      </li>
                    ))}
                  </ol>
                </Fold>
              </div>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Bar({ stage, end }: { stage: StageSpan; end: number }) {
  const color = stage.state === "failed" ? "bg-bad" : stage.is_degraded ? "bg-warn" : "bg-accent";
  return (
    <div className="grid grid-cols-[7rem_1fr_auto] items-center gap-2">
      <span>{sayOr(`stage.${stage.stage}`, stage.stage)}</span>
      <span className="relative h-3 rounded bg-raised">
        <span
          className={`absolute h-3 min-w-0.5 rounded ${color}`}
          style={{ left: `${(stage.began_ms / end) * 100}%`, width: `${((stage.ms ?? 0) / end) * 100}%` }}
        />
      </span>
      <span className="tabular text-right">{stage.ms === null ? "…" : formatMs(stage.ms)}</span>
      {(stage.is_degraded || stage.why) && (
        <span className={`col-span-3 ${stage.state === "failed" ? "text-bad" : "text-warn"}`}>
          {stage.is_degraded && say("trace.rules")}
          {stage.is_degraded && stage.why && ": "}
          {visible(stage.why ?? "")}
        </span>
      )}
    </div>
  );
}

function Call({ node: { call, prompt, tools } }: { node: CallNode }) {
  return (
    <>
      <Fold
        title={
          <>
            {visible(`${call.provider}:${call.model}`)}
            <span className="tabular text-quiet">
              {" · "}
              {formatNumber(call.tokens_in)}
              {call.tokens_cached > 0 && ` (${say("trace.cached", { n: call.tokens_cached })})`} →{" "}
              {formatNumber(call.tokens_out)}
              {" · "}
              {call.price === null ? "–" : formatDollars(call.price / MILLION)}
              {" · "}
              {formatMs(call.ms)}
              {call.first_ms !== null && ` · ${say("trace.firstWords", { time: formatMs(call.first_ms) })}`}
            </span>
            {call.error && <span className="text-bad"> {visible(call.error)}</span>}
          </>
        }
      >
        <p className="text-quiet">{summaryOf(call)}</p>
        {call.request_hash && (
          <p className="text-quiet">{say("trace.notStored", { hash: call.request_hash.slice(0, 12) })}</p>
        )}
        {prompt !== null && (
          <Fold title={say("trace.prompt", { role: call.role_name, version: call.prompt_version ?? 0 })}>
            <Code value={prompt} />
          </Fold>
        )}
        {call.reply !== null && (
          <>
            <p className="text-quiet">{say("trace.reply")}</p>
            <Code value={pretty(call.reply)} />
          </>
        )}
        {Array.isArray(call.calls) && call.calls.length > 0 && (
          <>
            <p className="text-quiet">{say("trace.tools")}</p>
            <Code value={call.calls} />
          </>
        )}
      </Fold>
      {tools.length > 0 && (
        <div className="ml-4 border-l border-line pl-3">
          {tools.map((tool, index) => (
            <Tool key={index} tool={tool} />
          ))}
        </div>
      )}
    </>
  );
}

function Tool({ tool }: { tool: ToolExecution }) {
  return (
    <Fold
      title={`${visible(tool.tool)} · ${say(`step.${tool.status === "started" ? "running" : tool.status}`)} · ${formatMs(tool.ms)}`}
    >
      <Code value={{ arguments: tool.arguments, result: tool.result }} />
    </Fold>
  );
}

function summaryOf(call: ModelCall): string {
  const parts = [`${call.role_name} ${call.prompt_version ?? 0}`, call.finish];
  if (call.attempts > 1) parts.push(say("trace.attempts", { n: call.attempts }));
  return visible(parts.join(" · "));
}

function Fold({ title, children }: { title: ReactNode; children: ReactNode }) {
  return (
    <details className="text-small">
      <summary className="py-1">{title}</summary>
      <div className="flex flex-col gap-1 py-1 pl-4">{children}</div>
    </details>
  );
}

function Code({ value }: { value: unknown }) {
  return (
    <pre className="scrolls max-h-96 whitespace-pre-wrap rounded bg-raised p-2" tabIndex={0}>
      {visible(typeof value === "string" ? value : JSON.stringify(value, null, 2))}
    </pre>
  );
}

/** The stages as far as the person's own view of the run tells. */
function stagesOf(run: Run): StageSpan[] {
  const order = [
    ["queue", "created_at", "analyzing_at"],
    ["analyzer", "analyzing_at", "analyzed_at"],
    ["draft_builder", "analyzed_at", "assembling_at"],
    ["assembler", "assembling_at", "ready_at"],
    ["final_responder", "ready_at", "completed_at"],
    ["archivist", "completed_at", "archived_at"],
  ] as const;
  const began = Date.parse(run.timings.created_at ?? "");
  return order.flatMap(([stage, from, to]) => {
    const start = run.timings[from];
    const end = run.timings[to] ?? run.timings.failed_at;
    if (!start) return [];
    return [
      {
        stage,
        state: run.timings[to] || !run.timings.failed_at ? "done" : "failed",
        began_ms: Date.parse(start) - began,
        ms: end ? Date.parse(end) - Date.parse(start) : null,
        calls: 0,
        model_ms: 0,
        is_degraded: run.degraded.includes(stage),
        why: null,
      } satisfies StageSpan,
    ];
  });
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2).replaceAll("\\n", "\n");
  } catch {
    return text;
  }
}
