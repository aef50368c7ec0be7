import { Empty, ErrorNotice, Skeleton } from "../parts/notice";
import { Time } from "../parts/time";
import { unique, useMore } from "../parts/use_more";
import { visible } from "../parts/visible";
import { formatPeriod, say, sayOr } from "../texts";
import { Filter, isPart, useFilters, wholeId } from "./filters";
import { Sheet } from "./sheet";
import { Table } from "./table";
import { UserFilter } from "./user_filter";
import { UserLink } from "./users";

const PAGE = 50;

const nameOfLevel = (level: string) => sayOr(`memory.level.${level}`, level);

export function MemoriesPage() {
  const [filters, setFilter] = useFilters(["user", "tag", "level"]);
  const list = useMore(
    "storedMemories",
    "/v1/admin/memories",
    {
      user_id: wholeId(filters.user),
      tag: filters.tag.trim(),
      level: filters.level,
      limit: PAGE,
    },
    !isPart(filters.user),
  );
  const memories = unique(list.items, (memory) => memory.id);
  return (
    <Sheet title={say("admin.memories")} note={say("trace.audited")}>
      <div className="filters">
        <UserFilter value={filters.user} onChange={(value) => setFilter("user", value)} />
        <Filter label={say("admin.tag")} value={filters.tag} onChange={(value) => setFilter("tag", value)} />
        <Filter
          label={say("admin.level")}
          value={filters.level}
          options={["0", "1", "2", "3"]}
          nameOf={nameOfLevel}
          all={say("app.all")}
          onChange={(value) => setFilter("level", value)}
        />
      </div>
      <ErrorNotice error={list.error} />
      {list.isLoading && <Skeleton lines={8} />}
      {list.isSuccess && !memories.length && <Empty>{say("app.empty")}</Empty>}
      {memories.length > 0 && (
        <Table
          label="admin.memories"
          rows={memories}
          idOf={(memory) => memory.id}
          columns={[
            { head: "admin.period", className: "min-w-40", cell: (memory) => formatPeriod(memory.period) },
            {
              head: "admin.level",
              cell: (memory) => (
                <>
                  {nameOfLevel(String(memory.level))}
                  {memory.superseded_by && <span className="text-quiet"> ({say("admin.superseded")})</span>}
                </>
              ),
            },
            { head: "admin.user", cell: (memory) => <UserLink id={memory.user_id} name={memory.user_name} /> },
            { head: "admin.tag", cell: (memory) => memory.tags.map(visible).join(", ") },
            { head: "admin.messages", isNumber: true, cell: (memory) => memory.messages },
            {
              head: "admin.summary",
              className: "max-w-lg",
              cell: (memory) => (
                <details>
                  <summary className="ml-4 list-outside">
                    <span className="line-clamp-2">{visible(memory.memory)}</span>
                  </summary>
                  <p className="whitespace-pre-wrap">{visible(memory.memory)}</p>
                </details>
              ),
            },
            { head: "admin.created", cell: (memory) => <Time at={memory.created_at} /> },
          ]}
        />
      )}
      <div ref={list.mark} className="h-8" />
    </Sheet>
  );
}
