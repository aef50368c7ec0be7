import { Link } from "wouter";

import { titleOf as actionTitle } from "../chat/action_words";
import { useTitleOf } from "../parts/assistants";
import { Empty, ErrorNotice, Skeleton } from "../parts/notice";
import { Time } from "../parts/time";
import { unique, useMore } from "../parts/use_more";
import { say } from "../texts";
import { isPart, useFilters, wholeId } from "./filters";
import { Sheet } from "./sheet";
import { Table } from "./table";
import { UserFilter } from "./user_filter";
import { UserLink } from "./users";

/** What waits for the decision of its user, of all users; each leads to its request, where it is not decided either. */
export function WaitingActionsPage() {
  const [filters, setFilter] = useFilters(["user"]);
  const titleOf = useTitleOf();
  const list = useMore(
    "actions",
    "/v1/admin/actions",
    { user_id: wholeId(filters.user), limit: 50 },
    !isPart(filters.user),
  );
  const actions = unique(list.items, (one) => one.id);
  return (
    <Sheet title={say("admin.actions")} note={say("admin.actionsNote")}>
      <div className="filters">
        <UserFilter value={filters.user} onChange={(value) => setFilter("user", value)} />
      </div>
      <ErrorNotice error={list.error} onRetry={() => void list.refetch()} />
      {list.isLoading && <Skeleton lines={6} />}
      {list.isSuccess && !actions.length && <Empty>{say("admin.noActions")}</Empty>}
      {actions.length > 0 && (
        <Table
          label="admin.actions"
          rows={actions}
          idOf={(one) => one.id}
          columns={[
            {
              head: "admin.action",
              className: "min-w-40 max-w-80",
              cell: (one) => (
                <>
                  <Link href={`/admin/runs/${one.run_id}`}>{actionTitle(one)}</Link>
                  {one.effect === "dangerous" && <span className="block text-bad">{say("action.dangerous")}</span>}
                </>
              ),
            },
            { head: "admin.user", cell: (one) => <UserLink id={one.user_id} name={one.user_name} /> },
            { head: "admin.assistant", cell: (one) => (one.assistant ? titleOf(one.assistant) : "–") },
            {
              head: "admin.waitsSince",

              cell: (one) => <Time at={one.created_at} />,
            },
            {
              head: "admin.waitsUntil",

              cell: (one) => <Time at={one.expires_at} isExact />,
            },
          ]}
        />
      )}
      <div ref={list.mark} className="h-8" />
    </Sheet>
  );
}
