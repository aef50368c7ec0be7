import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";

import { get } from "../api/http";
import { keys } from "../api/keys";
import { useTitleOf } from "../parts/assistants";
import { Empty, ErrorNotice, Skeleton } from "../parts/notice";
import { visible } from "../parts/visible";
import { formatDollars, formatNumber, say, sayOr } from "../texts";
import { Budget } from "./budget";
import { useFilters } from "./filters";
import { Prices } from "./prices";
import { firstDay, Ranges, rangeOf } from "./ranges";
import { Sheet } from "./sheet";
import { Table } from "./table";
import { UserLink } from "./users";

const KEYS = ["day", "user", "assistant", "model", "stage"] as const;
const SHOWN = 100;

/** What model calls cost, by day, user, assistant, model or stage. */
export function SpendingPage() {
  const [filters, setFilter] = useFilters(["days", "by"]);
  const range = rangeOf(filters.days);
  const by = KEYS.find((key) => key === filters.by) ?? "day";
  const spending = useQuery({
    queryKey: keys.costs(by, range),
    queryFn: ({ signal }) => get("/v1/admin/spending", { by, from: firstDay(range), limit: SHOWN }, signal),
  });
  const { data } = spending;
  const titleOf = useTitleOf();
  return (
    <Sheet title={say("admin.spending")}>
      <div className="flex flex-wrap gap-6">
        <Ranges value={range} onChange={(value) => setFilter("days", String(value))} />
        <div role="group" aria-label={say("admin.spendingBy")} className="flex flex-wrap gap-2">
          {KEYS.map((key) => (
            <button
              key={key}
              type="button"
              aria-pressed={by === key}
              className={`button small ${by === key ? "primary" : ""}`}
              onClick={() => setFilter("by", key)}
            >
              {say(`admin.by.${key}`)}
            </button>
          ))}
        </div>
      </div>
      <ErrorNotice error={spending.error} onRetry={() => void spending.refetch()} />
      {spending.isPending && <Skeleton lines={6} />}
      {data && !data.results.length && <Empty>{say("admin.noData")}</Empty>}
      {data && data.results.length > 0 && (
        <>
          <p>
            <b className="tabular text-lead">{formatDollars(data.dollars)}</b>{" "}
            {data.keys > data.results.length && (
              <span className="text-quiet">{say("admin.dearest", { n: data.results.length, all: data.keys })}</span>
            )}
          </p>
          <Table
            label="admin.spending"
            rows={data.results}
            idOf={(row) => row.key}
            columns={[
              {
                head: `admin.by.${by}`,
                className: by === "day" ? "whitespace-nowrap" : "",
                cell: (row) =>
                  isErased(by, row.key) ? (
                    say("admin.erasedUsers")
                  ) : by === "user" ? (
                    <UserLink id={row.key} name={row.user_name} />
                  ) : by === "assistant" ? (
                    <Link href={runsOf(by, row.key, firstDay(range))}>{titleOf(row.key)}</Link>
                  ) : by === "stage" ? (
                    sayOr(`stage.${row.key}`, visible(row.key))
                  ) : (
                    visible(row.key)
                  ),
              },
              {
                head: "trace.price",
                isNumber: true,
                sortBy: (row) => row.dollars,
                cell: (row) => formatDollars(row.dollars),
              },
              {
                head: "admin.requests",
                isNumber: true,
                sortBy: (row) => row.runs,
                cell: (row) =>
                  by === "model" || by === "stage" || isErased(by, row.key) ? (
                    formatNumber(row.runs)
                  ) : (
                    <Link href={runsOf(by, row.key, firstDay(range))}>{formatNumber(row.runs)}</Link>
                  ),
              },
              {
                head: "admin.calls",
                isNumber: true,
                sortBy: (row) => row.calls,
                cell: (row) => formatNumber(row.calls),
              },
              {
                head: "trace.tokens",
                isNumber: true,
                sortBy: (row) => row.tokens_in + row.tokens_out,
                cell: (row) => `${formatNumber(row.tokens_in)} → ${formatNumber(row.tokens_out)}`,
              },
              {
                head: "admin.unpriced",
                isNumber: true,
                sortBy: (row) => row.unpriced,
                cell: (row) => (row.unpriced ? formatNumber(row.unpriced) : "–"),
              },
            ]}
          />
        </>
      )}
      <Budget userId={null} />
      <Prices />
    </Sheet>
  );
}

/** Whether a row is what all users cost who were erased. */
function isErased(by: (typeof KEYS)[number], key: string): boolean {
  return by === "user" && key === "erased";
}

/** The requests that a row counts. */
function runsOf(by: (typeof KEYS)[number], key: string, since: string): string {
  if (by === "day") return `/admin/runs?from=${key}&to=${key}`;
  return `/admin/runs?${by}=${encodeURIComponent(key)}&from=${since}`;
}
