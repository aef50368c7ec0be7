// One user as an operator sees them: who they are, what they spend, and what there is of theirs.

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { Link, useParams } from "wouter";
import { get, post, put, remove, send } from "../api/http";
import { keys } from "../api/keys";
import { refresh } from "../api/refresh";
import type { Item } from "../api/route";
import { Apps } from "../parts/apps";
import { useTitleOf } from "../parts/assistants";
import { ConfirmButton } from "../parts/confirm";
import { CopyButton } from "../parts/copy_button";
import { Dialog } from "../parts/dialog";
import { pollOfReading } from "../parts/documents";
import { download } from "../parts/download";
import { ErrorNotice, Skeleton } from "../parts/notice";
import { OwnKeys } from "../parts/own_keys";
import { Receipt } from "../parts/receipt";
import { Time } from "../parts/time";
import { Totals } from "../parts/totals";
import { useMore } from "../parts/use_more";
import { visible } from "../parts/visible";
import { useUser } from "../session/session";
import { formatDollars, formatNumber, say } from "../texts";
import { Budget } from "./budget";
import { DocumentsTable } from "./documents";
import { Pause } from "./pauses";
import { RunsTable } from "./runs_table";
import { Sheet } from "./sheet";
import { Table } from "./table";
import { knownName, nameOf, usePerson } from "./users";

const SHOWN = 10;

type Person = Item<"/v1/admin/users">;

export function UserPage() {
  const { id } = useParams<{ id: string }>();
  const { config } = useUser();
  const user = usePerson(id);
  const person = user.data;
  return (
    <Sheet title={person ? nameOf(person) : say("admin.user")} note={say("trace.audited")}>
      <ErrorNotice error={user.error} onRetry={() => void user.refetch()} />
      {user.isPending && <Skeleton lines={4} />}
      {person === null && (
        <p role="status">
          {say("admin.userGone")} <Link href="/admin/users">{say("admin.users")}</Link>
        </p>
      )}
      {person && (
        <>
          <p className="flex flex-wrap items-center gap-2 text-small text-quiet">
            <span className="font-mono">{person.user_id}</span>
            <CopyButton text={person.user_id} label={say("admin.copyId")} />
          </p>
          <Acts person={person} />
          <Facts person={person} />
          <Budget userId={person.user_id} />
          <Requests id={person.user_id} />
          <Conversations id={person.user_id} />
          <Documents id={person.user_id} />
          <Keys id={person.user_id} />
          {config.auth === "local" && (
            <>
              <Sessions person={person} />
              <section>
                <h2 className="mb-2 text-lead font-semibold">{say("apps.title")}</h2>
                <Apps userId={person.user_id} />
              </section>
            </>
          )}
        </>
      )}
    </Sheet>
  );
}

function Acts({ person }: { person: Person }) {
  const { userId, config } = useUser();
  const queries = useQueryClient();
  const [erased, setErased] = useState<Record<string, number> | null>(null);
  const id = person.user_id;
  const name = nameOf(person);
  const word = knownName(person) ?? id; // what is typed before what cannot be taken back
  const setRoles = (roles: { is_admin: boolean } | { is_blocked: boolean }) =>
    put(`/v1/admin/users/${id}/roles`, roles).then(() => refresh(queries, ["users"]));
  const reset = useMutation({ mutationFn: () => post(`/v1/admin/users/${id}/reset`) });
  const exporting = useMutation({
    mutationFn: async () => download(`maas-${id}.ndjson`, await (await send("GET", `/v1/users/${id}/export`)).blob()),
  });
  return (
    <div className="flex flex-wrap gap-2">
      <Link href={`/admin/memories?user=${id}`} className="button small">
        {say("admin.memories")}
      </Link>
      <button type="button" className="button small" disabled={exporting.isPending} onClick={() => exporting.mutate()}>
        {say("memory.export")}
      </button>
      {config.auth === "local" && person.email && (
        <button type="button" className="button small" disabled={reset.isPending} onClick={() => reset.mutate()}>
          {say("admin.resetLink")}
        </button>
      )}
      {person.is_admin ? (
        <ConfirmButton
          label={say("admin.dropAdmin")}
          title={say("admin.dropAdminAsk", { name })}
          what={say("admin.dropAdminWhat")}
          disabled={id === userId}
          onConfirm={() => setRoles({ is_admin: false })}
        />
      ) : (
        <ConfirmButton
          label={say("admin.makeAdmin")}
          title={say("admin.makeAdminAsk", { name })}
          what={say("admin.makeAdminWhat")}
          word={word}
          onConfirm={() => setRoles({ is_admin: true })}
        />
      )}
      {config.auth !== "none" && (
        <ConfirmButton
          label={say(person.is_blocked ? "admin.unblock" : "admin.block")}
          title={say(person.is_blocked ? "admin.unblockAsk" : "admin.blockAsk", { name })}
          what={say(person.is_blocked ? "admin.unblockWhat" : "admin.blockWhat")}
          className={person.is_blocked ? "button small" : "button small danger"}
          disabled={id === userId}
          onConfirm={() => setRoles({ is_blocked: !person.is_blocked })}
        />
      )}
      <Pause subject="user" name={id} title={name} />
      <ConfirmButton
        label={say("memory.erase")}
        title={say("admin.eraseAsk", { name })}
        what={say("admin.eraseWhat")}
        word={word}
        className="button small danger"
        disabled={id === userId}
        onConfirm={() => remove(`/v1/users/${id}`).then((receipt) => setErased(receipt.erased))}
      />
      <ErrorNotice error={reset.error ?? exporting.error} />
      {reset.data && (
        <Dialog title={say("admin.resetLink")} onClose={() => reset.reset()}>
          <p className="mb-2">{say("admin.resetOnce")}</p>
          <pre className="whitespace-pre-wrap rounded bg-raised p-3">
            {window.location.origin + reset.data.url_path}
          </pre>
          <CopyButton text={window.location.origin + reset.data.url_path} className="button mt-3" />
        </Dialog>
      )}
      {erased && (
        <Dialog
          title={say("memory.erase")}
          onClose={() => {
            setErased(null);
            void queries.invalidateQueries();
          }}
        >
          <Receipt rows={erased} />
        </Dialog>
      )}
    </div>
  );
}

function Facts({ person }: { person: Person }) {
  const id = person.user_id;
  const spending = useQuery({
    queryKey: keys.spending(id),
    queryFn: ({ signal }) => get(`/v1/users/${id}/spending`, {}, signal),
  });
  const profile = useQuery({
    queryKey: keys.profile(id),
    queryFn: ({ signal }) => get(`/v1/users/${id}/profile`, {}, signal),
  });
  const { data: spent } = spending;
  const budgets = spent
    ? [
        spent.daily_tokens === null ? null : say("profile.tokens", { n: spent.daily_tokens }),
        spent.daily_dollars === null ? null : formatDollars(spent.daily_dollars),
      ].filter((one) => one !== null)
    : [];
  return (
    <section>
      <ErrorNotice error={spending.error ?? profile.error} />
      <dl className="grid max-w-2xl grid-cols-[auto_1fr] gap-x-6 gap-y-1">
        <Fact name={say("admin.names")}>
          {visible([person.email, ...person.names].filter(Boolean).join(", ")) || "–"}
        </Fact>
        <Fact name={say("admin.created")}>{person.created_at ? <Time at={person.created_at} isExact /> : "–"}</Fact>
        <Fact name={say("admin.requests")}>
          <Link href={`/admin/runs?user=${id}`}>{formatNumber(person.runs)}</Link>
          {person.errors > 0 && (
            <>
              {" · "}
              <Link href={`/admin/runs?status=FAILED&user=${id}`}>
                {say("admin.failed")}: {formatNumber(person.errors)}
              </Link>
            </>
          )}
        </Fact>
        <Fact name={say("nav.memory")}>
          <Totals userId={id} />
        </Fact>
        <Fact name={say("admin.isAdmin")}>{say(person.is_admin ? "app.yes" : "app.no")}</Fact>
        {person.is_blocked && (
          <Fact name={say("admin.state")}>
            <b className="text-bad">{say("admin.blocked")}</b>
          </Fact>
        )}
        {profile.data && (
          <Fact name={say("profile.title")}>
            {visible(
              [
                profile.data.name,
                profile.data.position,
                profile.data.department,
                profile.data.language,
                profile.data.timezone,
              ]
                .filter(Boolean)
                .join(", "),
            ) || "–"}
          </Fact>
        )}
        {spent && (
          <Fact name={say("profile.spending")}>
            <p>{say("profile.today", { tokens: spent.tokens_today, dollars: formatNumber(spent.dollars_today, 5) })}</p>
            <p>{say("profile.total", { tokens: spent.tokens, dollars: formatNumber(spent.dollars, 5) })}</p>
            <p className={spent.is_spent ? "text-bad" : ""}>
              {say("profile.budget", { budget: budgets.join(", ") || say("profile.none") })}
            </p>
          </Fact>
        )}
      </dl>
    </section>
  );
}

function Requests({ id }: { id: string }) {
  const list = useMore("runs", "/v1/admin/runs", { user_id: id, limit: SHOWN });
  return (
    <Part title={say("admin.runs")} list={list} more={`/admin/runs?user=${id}`}>
      <RunsTable runs={list.items} isOfOne />
    </Part>
  );
}

function Conversations({ id }: { id: string }) {
  const titleOf = useTitleOf();
  const list = useMore("conversations", "/v1/conversations", { user_id: id, limit: SHOWN });
  return (
    <Part title={say("admin.conversations")} list={list}>
      <Table
        label="admin.conversations"
        rows={list.items}
        idOf={(one) => one.id}
        columns={[
          {
            head: "admin.changed",

            cell: (one) => <Time at={one.updated_at} isExact />,
          },
          {
            head: "admin.assistant",
            cell: (one) => (
              <>
                {titleOf(one.assistant)}{" "}
                {one.source === "telegram" && <span className="text-quiet">{say("admin.telegram")}</span>}
              </>
            ),
          },
          {
            head: "admin.conversation",
            cell: (one) => (
              <Link href={`/admin/conversations/${one.id}`}>{visible(one.title ?? say("nav.untitled"))}</Link>
            ),
          },
        ]}
      />
    </Part>
  );
}

function Documents({ id }: { id: string }) {
  const list = useMore("documents", "/v1/knowledge", { user_id: id, limit: SHOWN }, true, pollOfReading);
  return (
    <Part title={say("admin.documents")} list={list}>
      <DocumentsTable documents={list.items} />
    </Part>
  );
}

function Keys({ id }: { id: string }) {
  return (
    <section>
      <h2 className="mb-2 text-lead font-semibold">{say("admin.keys")}</h2>
      <OwnKeys userId={id} />
    </section>
  );
}

function Sessions({ person }: { person: Person }) {
  const id = person.user_id;
  const queries = useQueryClient();
  const list = useMore("users", `/v1/admin/users/${id}/sessions`);
  return (
    <Part title={say("admin.sessions")} list={list}>
      <Table
        label="admin.sessions"
        rows={list.items}
        idOf={(one) => one.id}
        columns={[
          { head: "admin.since", cell: (one) => <Time at={one.created_at} isExact /> },
          { head: "admin.refreshed", cell: (one) => <Time at={one.refreshed_at} isExact /> },
          { head: "admin.expires", cell: (one) => <Time at={one.expires_at} isExact /> },
          { head: "admin.begunBy", cell: (one) => say(`admin.begunBy.${one.method}`) },
        ]}
      />
      <div className="mt-2">
        <ConfirmButton
          label={say("admin.endSessions")}
          title={say("admin.endSessionsAsk", { name: nameOf(person) })}
          what={say("admin.endSessionsWhat")}
          onConfirm={() => remove(`/v1/admin/users/${id}/sessions`).then(() => refresh(queries, ["users"]))}
        />
      </div>
    </Part>
  );
}

/** The newest of what there is of a kind, with the way to all of it. */
function Part({
  title,
  list,
  more,
  children,
}: {
  title: string;
  list: { isPending: boolean; error: unknown; items: unknown[]; hasNextPage: boolean; fetchNextPage: () => unknown };
  more?: string;
  children: ReactNode;
}) {
  return (
    <section>
      <h2 className="mb-2 text-lead font-semibold">{title}</h2>
      <ErrorNotice error={list.error} />
      {list.isPending ? <Skeleton lines={2} /> : list.items.length ? children : <p className="text-quiet">–</p>}
      {list.items.length > 0 && more && <Link href={more}>{say("app.all")}</Link>}
      {!more && list.hasNextPage && (
        <button type="button" className="button small mt-2" onClick={() => void list.fetchNextPage()}>
          {say("app.more")}
        </button>
      )}
    </section>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="contents">
      <dt className="text-quiet">{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
