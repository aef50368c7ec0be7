import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";

import { post, put } from "../api/http";
import { refresh } from "../api/refresh";
import type { Item } from "../api/route";
import { ConfirmButton } from "../parts/confirm";
import { CopyButton } from "../parts/copy_button";
import { Dialog } from "../parts/dialog";
import { Empty, ErrorNotice, Skeleton } from "../parts/notice";
import { Time } from "../parts/time";
import { unique, useMore } from "../parts/use_more";
import { visible } from "../parts/visible";
import { useUser } from "../session/session";
import { formatNumber, say } from "../texts";
import { Filter, useFilters } from "./filters";
import { Sheet, Table } from "./sheet";

type Person = Item<"/v1/admin/users">;

export function UsersPage() {
  const { userId, config } = useUser();
  const queries = useQueryClient();
  const [filters, setFilter] = useFilters(["q"]);
  const [link, setLink] = useState<string | null>(null);
  const list = useMore("users", "/v1/admin/users", { q: filters.q.trim(), limit: 50 });
  const people = unique(list.items, (person) => person.user_id);
  const setRole = (id: string, isAdmin: boolean) =>
    put(`/v1/admin/users/${id}/roles`, { is_admin: isAdmin }).then(() => refresh(queries, ["users"]));
  const reset = useMutation({
    mutationFn: (id: string) => post(`/v1/admin/users/${id}/reset`),
    onSuccess: ({ url_path }) => setLink(window.location.origin + url_path),
  });
  return (
    <Sheet title={say("admin.users")} note={say("trace.audited")}>
      <Filter label={say("app.search")} type="search" value={filters.q} onChange={(value) => setFilter("q", value)} />
      <ErrorNotice error={list.error ?? reset.error} />
      {list.isPending && <Skeleton lines={6} />}
      {list.isSuccess && !people.length && <Empty>{say("app.empty")}</Empty>}
      {people.length > 0 && (
        <Table
          columns={[
            say("admin.names"),
            say("admin.user"),
            say("admin.requests"),
            say("admin.lastRun"),
            say("admin.isAdmin"),
            "",
          ]}
        >
          {people.map((person) => (
            <tr key={person.user_id}>
              <td>{visible([person.name, person.email, ...person.names].filter(Boolean).join(", ")) || "–"}</td>
              <td className="font-mono">
                <Link href={`/admin/runs?user=${person.user_id}`}>{person.user_id}</Link>
              </td>
              <td className="text-right">{formatNumber(person.runs)}</td>
              <td>{person.last_run_at && <Time at={person.last_run_at} />}</td>
              <td>{say(person.is_admin ? "app.yes" : "app.no")}</td>
              <td className="whitespace-nowrap">
                {person.is_admin ? (
                  <ConfirmButton
                    label={say("admin.dropAdmin")}
                    title={say("admin.dropAdminAsk", { name: nameOf(person) })}
                    what={say("admin.dropAdminWhat")}
                    disabled={person.user_id === userId}
                    onConfirm={() => setRole(person.user_id, false)}
                  />
                ) : (
                  <ConfirmButton
                    label={say("admin.makeAdmin")}
                    title={say("admin.makeAdminAsk", { name: nameOf(person) })}
                    what={say("admin.makeAdminWhat")}
                    word={nameOf(person)}
                    onConfirm={() => setRole(person.user_id, true)}
                  />
                )}{" "}
                {config.auth === "local" && person.email && (
                  <button type="button" className="button small" onClick={() => reset.mutate(person.user_id)}>
                    {say("admin.resetLink")}
                  </button>
                )}
              </td>
            </tr>
          ))}
        </Table>
      )}
      <div ref={list.mark} className="h-8" />
      {link && (
        <Dialog title={say("admin.resetLink")} onClose={() => setLink(null)}>
          <p className="mb-2">{say("admin.resetOnce")}</p>
          <pre className="whitespace-pre-wrap rounded bg-raised p-3">{link}</pre>
          <CopyButton text={link} className="button mt-3" />
        </Dialog>
      )}
    </Sheet>
  );
}

/** What one calls a person: the first name that is known, else the id. */
export function nameOf({ name, email, names, user_id }: Person): string {
  return visible(name || email || names[0] || user_id);
}
