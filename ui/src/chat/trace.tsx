// How an answer came about: its stages on one axis of time, its model calls, and what the models were given.

import { useQuery } from "@tanstack/react-query";

import { get } from "../api/http";
import { keys } from "../api/keys";
import type { ModelCall, Run, Stage } from "../api/types";
import { ErrorNotice, Skeleton } from "../parts/notice";
import { visible } from "../parts/visible";
import { useUser } from "../session/session";
import { formatNumber, say, sayOr } from "../texts";

const MILLION = 1_000_000;

export function Trace({ run }: { run: Run }) {
  const { isAdmin, userId } = useUser();
  const trace = useQuery({
    queryKey: keys.trace(run.request_id, run.archive_status),
    queryFn: ({ signal }) => get(`/v1/runs/${run.request_id}/trace`, {}, signal),
    enabled: isAdmin,
  });
  if (!isAdmin) return <Stages stages={stagesOf(run)} />;
  if (trace.error) return <ErrorNotice error={trace.error} />;
  if (!trace.data) return <Skeleton lines={5} className="h-6" />;
  const { stages, calls, tools, run: row } = trace.data;
  return (
    <div className="flex flex-col gap-6">
      {run.user_id !== userId && <p className="text-small text-quiet">{say("trace.audited")}</p>}
      <Stages stages={stages} />
      <Calls calls={calls} />
      {tools.length > 0 && (
        <section>
          <h3 className="mb-2 text-small font-semibold text-quiet">{say("trace.tools")}</h3>
          <ul className="flex flex-col gap-2 text-small">
            {tools.map((tool, index) => (
              <li key={index}>
                <details>
                  <summary>
                    {tool.tool} · {tool.status} · {tool.ms === null ? "–" : `${formatNumber(tool.ms, 0)} ms`}
                  </summary>
                  <pre className="scrolls max-h-64 whitespace-pre-wrap bg-raised p-2">
                    {visible(JSON.stringify({ arguments: tool.arguments, result: tool.result }, null, 2))}
                  </pre>
                </details>
              </li>
            ))}
          </ul>
        </section>
      )}
      {row.final_context_payload && (
        <details className="text-small">
          <summary>{say("trace.prompt")}</summary>
          <pre className="scrolls max-h-96 whitespace-pre-wrap rounded bg-raised p-2" tabIndex={0}>
            {visible(pretty(row.final_context_payload))}
          </pre>
        </details>
      )}
    </div>
  );
}

function Stages({ stages }: { stages: Stage[] }) {
  const end = Math.max(1, ...stages.map((stage) => stage.began_ms + (stage.ms ?? 0)));
  return (
    <section>
      <h3 className="mb-2 text-small font-semibold text-quiet">{say("trace.stages")}</h3>
      <ul className="flex flex-col gap-1 text-small">
        {stages.map((stage, index) => (
          <li key={index} className="grid grid-cols-[8rem_1fr_4.5rem] items-center gap-2">
            <span>{sayOr(`stage.${stage.stage}`, stage.stage)}</span>
            <span className="relative h-3 rounded bg-raised">
              <span
                className={`absolute h-3 min-w-0.5 rounded ${stage.state === "failed" ? "bg-bad" : stage.is_degraded ? "bg-warn" : "bg-accent"}`}
                style={{ left: `${(stage.began_ms / end) * 100}%`, width: `${((stage.ms ?? 0) / end) * 100}%` }}
              />
            </span>
            <span className="tabular text-right">{stage.ms === null ? "…" : `${formatNumber(stage.ms, 0)} ms`}</span>
            {stage.is_degraded && (
              <span className="col-span-3 text-warn">
                {say("trace.rules")}
                {stage.why ? `: ${visible(stage.why)}` : ""}
              </span>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Calls({ calls }: { calls: ModelCall[] }) {
  if (!calls.length) return null;
  return (
    <section>
      <h3 className="mb-2 text-small font-semibold text-quiet">{say("trace.calls")}</h3>
      <div className="scrolls" tabIndex={0}>
        <table className="data">
          <thead>
            <tr>
              {(
                ["trace.stage", "trace.model", "trace.version", "trace.tokens", "trace.price", "trace.time"] as const
              ).map((key) => (
                <th key={key} scope="col">
                  {say(key)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {calls.map((call, index) => (
              <tr key={index}>
                <td>{sayOr(`stage.${call.stage}`, call.stage)}</td>
                <td>
                  {call.provider}:{call.model}
                  {call.error && <p className="text-bad">{visible(call.error)}</p>}
                </td>
                <td>
                  {call.role_name} {call.prompt_version ?? 0}
                </td>
                <td>
                  {formatNumber(call.tokens_in)} → {formatNumber(call.tokens_out)}
                </td>
                <td>{call.price === null ? "–" : `$${formatNumber(call.price / MILLION, 5)}`}</td>
                <td>{formatNumber(call.ms, 0)} ms</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

/** The stages as far as the person's own view of the run tells. */
function stagesOf(run: Run): Stage[] {
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
    const isDegraded = run.degraded.includes(stage);
    return [
      {
        stage,
        state: "done",
        began_ms: Date.parse(start) - began,
        ms: end ? Date.parse(end) - Date.parse(start) : null,
        calls: 0,
        model_ms: 0,
        is_degraded: isDegraded,
        why: null,
      } satisfies Stage,
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
