import { Link } from "wouter";

import type { Item } from "../api/route";
import { titleOf as actionTitle } from "../chat/action_words";
import { useTitleOf } from "../parts/assistants";
import { formatMs } from "../parts/measured";
import { failureText } from "../parts/notice";
import { Time } from "../parts/time";
import { visible } from "../parts/visible";
import { formatDollars, formatNumber, say } from "../texts";
import { ofNumbers, Table } from "./sheet";
import { UserLink } from "./users";

type AdminRun = Item<"/v1/admin/runs">;

/** Requests with what they took and cost; of one user without the column of users. */
export function RunsTable({ runs, isOfOne = false }: { runs: AdminRun[]; isOfOne?: boolean }) {
  const titleOf = useTitleOf();
  return (
    <Table
      columns={[
        say("admin.created"),
        say("admin.status"),
        say("admin.request"),
        say("admin.assistant"),
        ...(isOfOne ? [] : [say("admin.user")]),
        ofNumbers(say("trace.time")),
        ofNumbers(say("trace.tokens")),
        ofNumbers(say("trace.price")),
        say("admin.model"),
      ]}
    >
      {runs.map((run) => (
        <tr key={run.request_id} data-run={run.request_id}>
          <td className="whitespace-nowrap">
            <Link href={`/admin/runs/${run.request_id}`}>
              <Time at={run.created_at} isExact />
            </Link>
          </td>
          <td className={run.status === "FAILED" ? "text-bad" : ""}>
            {run.status}
            {run.error_code && (
              <>
                {" "}
                <Link href={`/admin/runs?error=${encodeURIComponent(run.error_code)}`}>{run.error_code}</Link>
              </>
            )}
          </td>
          <td className="min-w-40 max-w-80">
            <span className="line-clamp-2">
              {run.action ? say("history.executed", { action: actionTitle(run.action) }) : visible(run.query)}
            </span>
            <span className="line-clamp-1 text-quiet">
              {run.status === "FAILED" ? failureText(run.error_code, run.error_message) : visible(run.answer ?? "")}
            </span>
          </td>
          <td>
            {titleOf(run.assistant)} {run.kind !== "ask" && run.kind}
          </td>
          {!isOfOne && (
            <td>
              <UserLink id={run.user_id} name={run.user_name} />
            </td>
          )}
          <td className="whitespace-nowrap text-right">{formatMs(run.ms)}</td>
          <td className="text-right">{formatNumber(run.tokens)}</td>
          <td className="text-right">{run.dollars === null ? "–" : formatDollars(run.dollars)}</td>
          <td className="max-w-40">{run.models.map(visible).join(", ")}</td>
        </tr>
      ))}
    </Table>
  );
}
