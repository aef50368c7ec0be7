import { Link } from "wouter";

import type { Item } from "../api/route";
import { titleOf as actionTitle } from "../chat/action_words";
import { useTitleOf } from "../parts/assistants";
import { lineOf, wordsOf } from "../parts/forgotten";
import { formatMs } from "../parts/measured";
import { failureText } from "../parts/notice";
import { Time } from "../parts/time";
import { visible } from "../parts/visible";
import { formatDollars, formatNumber, say, sayOr } from "../texts";
import { Table } from "./table";
import { UserLink } from "./users";

type AdminRun = Item<"/v1/admin/runs">;

/** Requests with what they took and cost; of one user without the column of users. */
export function RunsTable({ runs, isOfOne = false }: { runs: AdminRun[]; isOfOne?: boolean }) {
  const titleOf = useTitleOf();
  return (
    <Table
      label="admin.runs"
      rows={runs}
      idOf={(run) => run.request_id}
      columns={[
        {
          head: "admin.created",
          cell: (run) => (
            <Link href={`/admin/runs/${run.request_id}`}>
              <Time at={run.created_at} isExact />
            </Link>
          ),
        },
        {
          head: "admin.status",
          className: (run) => (run.status === "FAILED" ? "text-bad" : ""),
          cell: (run) => (
            <>
              <span title={run.status}>{say(`stage.${run.status}`)}</span>
              {run.error_code && (
                <>
                  {" "}
                  <Link href={`/admin/runs?error=${encodeURIComponent(run.error_code)}`}>{run.error_code}</Link>
                </>
              )}
            </>
          ),
        },
        {
          head: "admin.request",
          className: "min-w-40 max-w-80",
          cell: (run) => (
            <>
              <span className="line-clamp-2">
                {run.action ? say("history.executed", { action: actionTitle(run.action) }) : wordsOf(run.query)}
              </span>
              <span className="line-clamp-1 text-quiet">
                {run.status === "FAILED" ? failureText(run.error_code, run.error_message) : lineOf(run.answer ?? "")}
              </span>
            </>
          ),
        },
        {
          head: "admin.assistant",
          cell: (run) => (
            <>
              {titleOf(run.assistant)} {run.kind !== "ask" && <span title={run.kind}>{nameOfKind(run.kind)}</span>}
            </>
          ),
        },
        {
          head: "admin.user",
          isLeftOut: isOfOne,
          cell: (run) => <UserLink id={run.user_id} name={run.user_name} />,
        },
        { head: "trace.time", isNumber: true, cell: (run) => formatMs(run.ms) },
        { head: "trace.tokens", isNumber: true, cell: (run) => formatNumber(run.tokens) },
        {
          head: "trace.price",
          isNumber: true,
          cell: (run) => (run.dollars === null ? "–" : formatDollars(run.dollars)),
        },
        { head: "admin.model", className: "max-w-40", cell: (run) => run.models.map(visible).join(", ") },
      ]}
    />
  );
}

/** What a request is in words: a question, an approved action, a step of a task. */
export function nameOfKind(kind: string): string {
  return sayOr(`kind.${kind}`, kind);
}
