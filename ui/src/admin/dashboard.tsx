import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";

import { get } from "../api/http";
import { keys } from "../api/keys";
import { Chart } from "../parts/chart";
import { formatMs } from "../parts/measured";
import { Empty, ErrorNotice, Skeleton } from "../parts/notice";
import { visible } from "../parts/visible";
import { formatDistance, formatDollars, formatNumber, say, sayOr } from "../texts";
import { useFilters } from "./filters";
import { Pauses } from "./pauses";
import { firstDay, Ranges, rangeOf } from "./ranges";
import { Sheet } from "./sheet";
import { Table } from "./table";
import { UserLink } from "./users";

const REFRESH_MS = 10_000;

export function Dashboard() {
  const [{ days }, setFilter] = useFilters(["days"]);
  const range = rangeOf(days);
  const since = firstDay(range);
  const metrics = useQuery({
    queryKey: keys.metrics(range),
    queryFn: ({ signal }) => get("/v1/admin/metrics", { from: since }, signal),
    refetchInterval: REFRESH_MS,
  });
  const data = metrics.data;
  const dates = data?.days.map((day) => day.day) ?? [];
  const runs = `/admin/runs?kind=ask&from=${since}`;
  const runsOf = (day: string) => `/admin/runs?kind=ask&from=${day}&to=${day}`;
  return (
    <Sheet title={say("admin.dashboard")}>
      <Ranges value={range} onChange={(value) => setFilter("days", String(value))} />
      <ErrorNotice error={metrics.error} onRetry={() => void metrics.refetch()} />
      {!data && !metrics.error && <Skeleton lines={2} className="h-56" />}
      {data && (
        <>
          {!data.total.requests ? (
            <Empty>{say("admin.noData")}</Empty>
          ) : (
            <div className="grid gap-4 md:grid-cols-2">
              <Chart
                title={say("admin.requestsOf", { n: range, average: data.total.requests / range })}
                value={formatNumber(data.total.requests)}
                href={runs}
                hrefOf={runsOf}
                days={dates}
                values={data.days.map((day) => day.requests)}
              />
              <Chart
                title={say("admin.average", { p95: formatMs(data.total.p95_ms) })}
                value={formatMs(data.total.average_ms)}
                href={`${runs}&status=COMPLETED`}
                hrefOf={(day) => `${runsOf(day)}&status=COMPLETED`}
                days={dates}
                values={data.days.map((day) => day.average_ms)}
                format={formatMs}
              />
              <Chart
                title={say("admin.failed")}
                value={formatNumber(data.total.failed)}
                href={`${runs}&status=FAILED`}
                hrefOf={(day) => `${runsOf(day)}&status=FAILED`}
                days={dates}
                values={data.days.map((day) => day.failed)}
              />
              <Chart
                title={say("admin.cost")}
                value={formatDollars(data.total.dollars)}
                href={`/admin/spending?days=${range}`}
                hrefOf={runsOf}
                days={dates}
                values={data.days.map((day) => day.dollars)}
                format={formatDollars}
              />
            </div>
          )}
          <Pauses />
          <section>
            <h2 className="mb-2 text-lead font-semibold">{say("admin.queue")}</h2>
            <dl className="flex flex-wrap gap-4">
              {Object.entries(data.queue).map(([name, count]) => (
                <div key={name} className="card p-3!">
                  <dt className="text-small text-quiet">{sayOr(`queue.${name}`, name)}</dt>
                  <dd className="tabular text-lead">
                    <Link
                      href={`/admin/runs?queue=${name}`}
                      aria-label={`${sayOr(`queue.${name}`, name)}: ${formatNumber(count)}`}
                    >
                      {formatNumber(count)}
                    </Link>
                  </dd>
                </div>
              ))}
            </dl>
            {data.embedding?.waiting != null && (
              <p className="mt-2 text-small text-quiet">{say("admin.embedding", { n: data.embedding.waiting })}</p>
            )}
          </section>
          <section>
            <h2 className="mb-2 text-lead font-semibold">{say("admin.engines")}</h2>
            {data.engines.length ? (
              <Table
                label="admin.engines"
                rows={data.engines}
                idOf={(engine) => engine.name}
                columns={[
                  { head: "admin.engine", cell: (engine) => visible(engine.name) },
                  {
                    head: "admin.isAlive",
                    className: (engine) => (engine.is_alive ? "" : "text-bad"),
                    cell: (engine) => say(engine.is_alive ? "app.yes" : "app.no"),
                  },
                  { head: "admin.heartbeat", cell: (engine) => formatDistance(engine.heartbeat_at) },
                  {
                    head: "queue.in_flight",
                    cell: (engine) => `${formatNumber(engine.in_flight)} / ${formatNumber(engine.concurrency)}`,
                  },
                  {
                    head: "trace.stages",
                    cell: (engine) => engine.stages.map((stage) => sayOr(`stage.${stage}`, stage)).join(", "),
                  },
                ]}
              />
            ) : (
              <p className="text-bad">{say("admin.noEngines")}</p>
            )}
          </section>
          <section>
            <h2 className="mb-2 text-lead font-semibold">{say("admin.stuck")}</h2>
            {data.stuck.length ? (
              <ul>
                {data.stuck.map((run) => (
                  <li key={run.request_id}>
                    <Link href={`/admin/runs/${run.request_id}`} title={run.status}>
                      {sayOr(`stage.${run.status}`, run.status)}
                    </Link>
                    , <UserLink id={run.user_id} name={run.user_name} />, {formatDistance(run.since)}:{" "}
                    {visible(run.why)}
                  </li>
                ))}
              </ul>
            ) : (
              <p className="text-quiet">{say("admin.nothingStuck")}</p>
            )}
          </section>
        </>
      )}
    </Sheet>
  );
}
