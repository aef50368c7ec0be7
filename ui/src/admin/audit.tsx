import { Empty, ErrorNotice, Skeleton } from "../parts/notice";
import { Time } from "../parts/time";
import { unique, useMore } from "../parts/use_more";
import { visible } from "../parts/visible";
import { say } from "../texts";
import { Filter, isPart, useFilters, wholeId } from "./filters";
import { Sheet, Table } from "./sheet";
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
          columns={[
            say("admin.when"),
            say("admin.actor"),
            say("admin.action"),
            say("admin.user"),
            say("admin.details"),
          ]}
        >
          {entries.map((entry) => (
            <tr key={entry.id}>
              <td className="whitespace-nowrap">
                <Time at={entry.at} />
              </td>
              <td title={entry.actor}>{visible(entry.actor_name ?? entry.actor)}</td>
              <td>{entry.action}</td>
              <td>{entry.user_id ? <UserLink id={entry.user_id} name={entry.user_name} /> : "–"}</td>
              <td className="font-mono">{visible(JSON.stringify(entry.details)).slice(0, 500)}</td>
            </tr>
          ))}
        </Table>
      )}
      <div ref={list.mark} className="h-8" />
    </Sheet>
  );
}
