import { Empty, ErrorNotice, Skeleton } from "../parts/notice";
import { Time } from "../parts/time";
import { unique, useMore } from "../parts/use_more";
import { visible } from "../parts/visible";
import { say, sayOr } from "../texts";
import { Filter, isPart, useFilters, wholeId } from "./filters";
import { ofNumbers, Sheet, Table } from "./sheet";
import { UserFilter } from "./user_filter";
import { UserLink } from "./users";

const PAGE = 50;

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
          all={say("app.all")}
          onChange={(value) => setFilter("level", value)}
        />
      </div>
      <ErrorNotice error={list.error} />
      {list.isLoading && <Skeleton lines={8} />}
      {list.isSuccess && !memories.length && <Empty>{say("app.empty")}</Empty>}
      {memories.length > 0 && (
        <Table
          columns={[
            say("admin.period"),
            say("admin.level"),
            say("admin.user"),
            say("admin.tag"),
            ofNumbers(say("admin.messages")),
            say("admin.summary"),
            say("admin.created"),
          ]}
        >
          {memories.map((memory) => (
            <tr key={memory.id}>
              <td className="whitespace-nowrap">{memory.period}</td>
              <td>
                {sayOr(`memory.level.${memory.level}`, String(memory.level))}
                {memory.superseded_by && <span className="text-quiet"> ({say("admin.superseded")})</span>}
              </td>
              <td>
                <UserLink id={memory.user_id} name={memory.user_name} />
              </td>
              <td>{memory.tags.map(visible).join(", ")}</td>
              <td className="text-right">{memory.messages}</td>
              <td className="max-w-lg">
                <details>
                  <summary>
                    <span className="line-clamp-2">{visible(memory.memory)}</span>
                  </summary>
                  <p className="whitespace-pre-wrap">{visible(memory.memory)}</p>
                </details>
              </td>
              <td className="whitespace-nowrap">
                <Time at={memory.created_at} />
              </td>
            </tr>
          ))}
        </Table>
      )}
      <div ref={list.mark} className="h-8" />
    </Sheet>
  );
}
