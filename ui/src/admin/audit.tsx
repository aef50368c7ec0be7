import { Empty, ErrorNotice, Skeleton } from "../parts/notice";
import { Time } from "../parts/time";
import { unique, useMore } from "../parts/use_more";
import { visible } from "../parts/visible";
import { say } from "../texts";
import { Filter, isPart, useFilters, wholeId } from "./filters";
import { Sheet } from "./sheet";
import { Table } from "./table";
import { UserFilter } from "./user_filter";
import { UserLink } from "./users";

export function AuditPage() {
  const [filters, setFilter] = useFilters(["user", "action"]);
  const list = useMore(
    "audit",
    "/v1/admin/audit",
    {
      user_id: wholeId(filters.user),
      action: filters.action.trim(),
      limit: 50,
    },
    !isPart(filters.user),
  );
  const entries = unique(list.items, (entry) => String(entry.id));
  return (
    <Sheet title={say("admin.audit")}>
      <div className="filters">
        <UserFilter value={filters.user} onChange={(value) => setFilter("user", value)} />
        <Filter label={say("admin.action")} value={filters.action} onChange={(value) => setFilter("action", value)} />
      </div>
      <ErrorNotice error={list.error} />
      {list.isLoading && <Skeleton lines={6} />}
      {list.isSuccess && !entries.length && <Empty>{say("app.empty")}</Empty>}
      {entries.length > 0 && (
        <Table
          label="admin.audit"
          rows={entries}
          idOf={(entry) => String(entry.id)}
          columns={[
            {
              head: "admin.when",

              cell: (entry) => <Time at={entry.at} />,
            },
            {
              head: "admin.actor",
              cell: (entry) => <span title={entry.actor}>{visible(entry.actor_name ?? entry.actor)}</span>,
            },
            { head: "admin.action", cell: (entry) => entry.action },
            {
              head: "admin.user",
              cell: (entry) => (entry.user_id ? <UserLink id={entry.user_id} name={entry.user_name} /> : "–"),
            },
            {
              head: "admin.details",
              className: "min-w-60 font-mono wrap-anywhere",
              cell: (entry) => visible(JSON.stringify(entry.details)).slice(0, 500),
            },
          ]}
        />
      )}
      <div ref={list.mark} className="h-8" />
    </Sheet>
  );
}
