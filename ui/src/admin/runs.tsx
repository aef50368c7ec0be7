import { useAssistants, useTitleOf } from "../parts/assistants";
import { Empty, ErrorNotice, Skeleton } from "../parts/notice";
import { unique, useMore } from "../parts/use_more";
import { say, sayOr } from "../texts";
import { CancelAll, RetryAll } from "./bulk";
import { dayToTime, Filter, Filters, isPart, useFilters, wholeId } from "./filters";
import { nameOfKind, RunsTable } from "./runs_table";
import { SavedFilters } from "./saved_filters";
import { Sheet } from "./sheet";
import { UserFilter } from "./user_filter";

const STATUSES = ["NEW", "ANALYZING", "ANALYZED", "ASSEMBLING", "READY", "RESPONDING", "COMPLETED", "FAILED"] as const;
const KINDS = ["ask", "action", "task", "archive", "trial"] as const;
const QUEUE = ["inbox", "waiting", "runnable", "deferred", "in_flight", "paused", "scheduled"];
const PAGE = 50;

export function RunsPage() {
  const [filters, setFilter] = useFilters(["status", "queue", "kind", "assistant", "user", "error", "q", "from", "to"]);
  const assistants = useAssistants();
  const titleOf = useTitleOf();
  const list = useMore(
    "runs",
    "/v1/admin/runs",
    {
      status: filters.status,
      queue: filters.queue,
      kind: filters.kind,
      assistant: filters.assistant,
      user_id: wholeId(filters.user),
      error_code: filters.error.trim(),
      q: filters.q.trim(),
      from: dayToTime(filters.from),
      to: dayToTime(filters.to, true),
      limit: PAGE,
    },
    !isPart(filters.user),
  );
  const runs = unique(list.items, (run) => run.request_id);
  const chosen = {
    user_id: wholeId(filters.user),
    kind: KINDS.find((kind) => kind === filters.kind) ?? null,
    assistant: filters.assistant || null,
    from: dayToTime(filters.from),
    to: dayToTime(filters.to, true),
  };
  const isOther = filters.queue !== "" || filters.q.trim() !== "" || isPart(filters.user); // by which none are changed
  const status = STATUSES.find((one) => one === filters.status) ?? null;
  const error = filters.error.trim();
  return (
    <Sheet title={say("admin.runs")} note={say("trace.audited")}>
      <Filters set={Object.values(filters).filter(Boolean).length}>
        <Filter
          label={say("admin.status")}
          value={filters.status}
          options={STATUSES}
          nameOf={(status) => sayOr(`stage.${status}`, status)}
          all={say("app.all")}
          onChange={(value) => setFilter("status", value)}
        />
        <Filter
          label={say("admin.queueState")}
          value={filters.queue}
          options={QUEUE}
          nameOf={(state) => sayOr(`queue.${state}`, state)}
          all={say("app.all")}
          onChange={(value) => setFilter("queue", value)}
        />
        <Filter
          label={say("admin.kind")}
          value={filters.kind}
          options={KINDS}
          nameOf={nameOfKind}
          all={say("app.all")}
          onChange={(value) => setFilter("kind", value)}
        />
        <Filter
          label={say("admin.assistant")}
          value={filters.assistant}
          options={assistants.data?.results.map((one) => one.name) ?? []}
          nameOf={titleOf}
          all={say("app.all")}
          onChange={(value) => setFilter("assistant", value)}
        />
        <UserFilter value={filters.user} onChange={(value) => setFilter("user", value)} />
        <Filter label={say("admin.errorCode")} value={filters.error} onChange={(value) => setFilter("error", value)} />
        <Filter label={say("app.search")} type="search" value={filters.q} onChange={(value) => setFilter("q", value)} />
        <Filter
          label={say("app.from")}
          type="date"
          value={filters.from}
          onChange={(value) => setFilter("from", value)}
        />
        <Filter label={say("app.to")} type="date" value={filters.to} onChange={(value) => setFilter("to", value)} />
      </Filters>
      <SavedFilters list="runs" />
      <div className="flex flex-wrap items-center gap-3">
        <CancelAll only={isOther || error ? null : { ...chosen, status }} />
        <RetryAll
          only={isOther || (status ?? "FAILED") !== "FAILED" ? null : { ...chosen, error_code: error || null }}
        />
      </div>
      <ErrorNotice error={list.error} />
      {list.isLoading && <Skeleton lines={8} />}
      {list.isSuccess && !runs.length && <Empty>{say("history.none")}</Empty>}
      {runs.length > 0 && <RunsTable runs={runs} />}
      <div ref={list.mark} className="h-8" />
    </Sheet>
  );
}
