import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";

import { get } from "../api/http";
import { keys } from "../api/keys";
import type { Item } from "../api/route";
import { Empty, ErrorNotice, Skeleton } from "../parts/notice";
import { Time } from "../parts/time";
import { unique, useMore } from "../parts/use_more";
import { visible } from "../parts/visible";
import { formatDollars, formatNumber, say } from "../texts";
import { Filter, useFilters } from "./filters";
import { Invite } from "./invite";
import { SavedFilters } from "./saved_filters";
import { Sheet } from "./sheet";
import { Table } from "./table";

const SHOWN_OF_ID = 8; // characters
const ORDERS = ["last_run", "spend", "errors"] as const;

export function UsersPage() {
  const [filters, setFilter] = useFilters(["q", "sort"]);
  const sort = ORDERS.find((order) => order === filters.sort) ?? "last_run";
  const list = useMore("users", "/v1/admin/users", { q: filters.q.trim(), sort, limit: 50 });
  const people = unique(list.items, (person) => person.user_id);
  const total = list.first?.total;
  return (
    <Sheet title={say("admin.users")} note={say("trace.audited")}>
      <Filter label={say("app.search")} type="search" value={filters.q} onChange={(value) => setFilter("q", value)} />
      <SavedFilters list="users" />
      <Invite />
      <ErrorNotice error={list.error} onRetry={() => void list.refetch()} />
      {total && (
        <p className="text-small">
          {say("admin.usersTotal", {
            n: total.users,
            errors: total.errors,
            dollars: formatDollars(total.dollars),
          })}
        </p>
      )}
      {list.isPending && <Skeleton lines={6} />}
      {list.isSuccess && !people.length && <Empty>{say("app.empty")}</Empty>}
      {people.length > 0 && (
        <Table
          label="admin.users"
          rows={people}
          idOf={(person) => person.user_id}
          sort={{ by: sort, onChange: (order) => setFilter("sort", order) }}
          columns={[
            {
              head: "admin.names",
              className: "min-w-44",
              cell: (person) => (
                <>
                  <Link href={`/admin/users/${person.user_id}`}>{nameOf(person)}</Link>
                  {person.email && person.name && <span className="text-quiet"> {visible(person.email)}</span>}
                </>
              ),
            },
            {
              head: "admin.requests",
              isNumber: true,
              cell: (person) => <Link href={`/admin/runs?user=${person.user_id}`}>{formatNumber(person.runs)}</Link>,
            },
            {
              head: "admin.lastRun",
              sortBy: "last_run",
              cell: (person) => (person.last_run_at ? <Time at={person.last_run_at} isExact /> : "–"),
            },
            { head: "admin.spent", isNumber: true, sortBy: "spend", cell: (person) => formatDollars(person.dollars) },
            {
              head: "admin.failed",
              isNumber: true,
              sortBy: "errors",
              cell: (person) =>
                person.errors ? (
                  <Link href={`/admin/runs?status=FAILED&user=${person.user_id}`}>{formatNumber(person.errors)}</Link>
                ) : (
                  "0"
                ),
            },
            { head: "admin.isAdmin", cell: (person) => say(person.is_admin ? "app.yes" : "app.no") },
          ]}
        />
      )}
      <div ref={list.mark} className="h-8" />
    </Sheet>
  );
}

/** One person, as the list of users tells of them; null if there is no such user. */
export function usePerson(id: string | undefined) {
  return useQuery({
    queryKey: keys.user(id),
    queryFn: async ({ signal }) => (await get("/v1/admin/users", { q: id }, signal)).results[0] ?? null,
    enabled: id !== undefined,
  });
}

/** The way to a person, by name where one is known. */
export function UserLink({ id, name }: { id: string; name: string | null }) {
  return (
    <Link href={`/admin/users/${id}`} title={id} className={name ? "" : "font-mono"}>
      {visible(name ?? id.slice(0, SHOWN_OF_ID))}
    </Link>
  );
}

/** What one calls a person: the first name that is known, else the beginning of the id. */
export function nameOf(person: Item<"/v1/admin/users">): string {
  return knownName(person) ?? say("admin.nameless", { id: person.user_id.slice(0, SHOWN_OF_ID) });
}

/** The first name of a person that is known; null if none is. */
export function knownName({ name, email, names }: Item<"/v1/admin/users">): string | null {
  return visible(name || email || names[0] || "") || null;
}
