import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";

import { get } from "../api/http";
import { keys } from "../api/keys";
import { Chart } from "../parts/chart";
import { Empty, ErrorNotice, Skeleton } from "../parts/notice";
import { visible } from "../parts/visible";
import { formatDistance, formatNumber, say } from "../texts";
import { useFilters } from "./filters";
import { Sheet, Table } from "./sheet";

const RANGES = [1, 7, 30, 90];
const DAY_MS = 86_400_000;
const REFRESH_MS = 10_000;

export function Dashboard() {
  const [{ days }, setFilter] = useFilters(["days"]);
  const range = RANGES.includes(Number(days)) ? Number(days) : 7;
  const metrics = useQuery({
    queryKey: keys.metrics(range),
    queryFn: ({ signal }) =>
      get(
        "/v1/admin/metrics",
        { from: `${new Date(Date.now() - (range - 1) * DAY_MS).toISOString().slice(0, 10)}T00:00:00Z` },
        signal,
      ),
    refetchInterval: REFRESH_MS,
  });
  const data = metrics.data;
  const dates = data?.days.map((day) => day.day) ?? [];
  return (
    <Sheet title={say("admin.dashboard")}>
      <div role="group" aria-label={say("admin.range")} className="flex flex-wrap gap-2">
        {RANGES.map((one) => (
          <button
            key={one}
            type="button"
            aria-pressed={range === one}
            className={`button small ${range === one ? "primary" : ""}`}
            onClick={() => setFilter("days", String(one))}
          >
            {say("admin.days", { n: one })}
          </button>
        ))}
      </div>
      <ErrorNotice error={metrics.error} onRetry={() => void metrics.refetch()} />
      {!data && !metrics.error && <Skeleton lines={2} className="h-56" />}
      {data && (
        <>
          {!data.total.requests ? (
            <Empty>{say("admin.noData")}</Empty>
          ) : (
            <div className="grid gap-4 md:grid-cols-2">
              <Chart
                title={say("admin.requestsADay")}
                value={formatNumber(data.total.requests)}
                days={dates}
                values={data.days.map((day) => day.requests)}
              />
              <Chart
                title={`${say("admin.average")} · ${say("admin.p95")} ${milliseconds(data.total.p95_ms)}`}
                value={milliseconds(data.total.average_ms)}
                days={dates}
                values={data.days.map((day) => day.average_ms)}
              />
              <Chart
                title={say("admin.failed")}
                value={formatNumber(data.total.failed)}
                days={dates}
                values={data.days.map((day) => day.failed)}
              />
              <Chart
                title={say("admin.cost")}
                value={formatNumber(data.total.dollars, 4)}
                days={dates}
                values={data.days.map((day) => day.dollars)}
              />
            </div>
          )}
          <section>
            <h2 className="mb-2 text-lead font-semibold">{say("admin.queue")}</h2>
            <dl className="flex flex-wrap gap-4">
              {Object.entries(data.queue).map(([name, count]) => (
                <div key={name} className="card p-3!">
                  <dt className="text-small text-quiet">{name}</dt>
                  <dd className="tabular text-lead">{formatNumber(count)}</dd>
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
              <Table columns={Object.keys(data.engines[0]!)}>
                {data.engines.map((engine, index) => (
                  <tr key={index}>
                    {Object.entries(engine).map(([name, value]) => (
                      <td key={name}>
                        {name.endsWith("_at") && typeof value === "string"
                          ? formatDistance(value)
                          : visible(String(value ?? "–"))}
                      </td>
                    ))}
                  </tr>
                ))}
              </Table>
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
                    <Link href={`/runs/${run.request_id}`}>{run.status}</Link>: {visible(run.why)}
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

function milliseconds(value: number | null): string {
  return value === null ? "–" : formatNumber(value, 0);
}
