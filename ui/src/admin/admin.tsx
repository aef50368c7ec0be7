// The pages of administrators.

import { lazy, Suspense, type ReactNode } from "react";
import { Link, Route, Switch, useLocation } from "wouter";

import { Empty, Skeleton } from "../parts/notice";
import { useUser } from "../session/session";
import { say } from "../texts";
import { AuditPage } from "./audit";
import { Dashboard } from "./dashboard";
import { KeysPage } from "./keys";
import { MemoriesPage } from "./memories";
import { PromptsPage } from "./prompts";
import { RunsPage } from "./runs";
import { UsersPage } from "./users";

const PromptPage = lazy(() => import("./prompt")); // it brings the editor
const PAGES = ["dashboard", "runs", "prompts", "memories", "users", "keys", "audit"] as const;

export default function AdminPage() {
  const { isAdmin } = useUser();
  const [place] = useLocation();
  if (!isAdmin) return <Empty>{say("app.noRights")}</Empty>;
  return (
    <div className="flex h-full flex-col">
      <nav aria-label={say("nav.admin")} className="scrolls flex shrink-0 gap-1 border-b border-line p-2">
        {PAGES.map((page) => {
          const path = page === "dashboard" ? "/admin" : `/admin/${page}`;
          const isHere = page === "dashboard" ? place === path : place.startsWith(path);
          return (
            <Link
              key={page}
              href={path}
              className="row-link whitespace-nowrap"
              aria-current={isHere ? "page" : undefined}
            >
              {say(`admin.${page}`)}
            </Link>
          );
        })}
      </nav>
      <Switch>
        <Route path="/admin" component={Dashboard} />
        <Route path="/admin/runs" component={RunsPage} />
        <Route path="/admin/prompts" component={PromptsPage} />
        <Route path="/admin/prompts/:role">
          <Suspense fallback={<Skeleton lines={6} />}>
            <PromptPage />
          </Suspense>
        </Route>
        <Route path="/admin/memories" component={MemoriesPage} />
        <Route path="/admin/users" component={UsersPage} />
        <Route path="/admin/keys" component={KeysPage} />
        <Route path="/admin/audit" component={AuditPage} />
        <Route>
          <Empty>{say("app.notFound")}</Empty>
        </Route>
      </Switch>
    </div>
  );
}

export function Sheet({ title, note, children }: { title: string; note?: string; children: ReactNode }) {
  return (
    <div className="scrolls min-h-0 flex-1 p-4" tabIndex={0}>
      <div className="mx-auto flex max-w-6xl flex-col gap-4">
        <h1 className="text-title font-semibold">{title}</h1>
        {note && <p className="text-small text-quiet">{note}</p>}
        {children}
      </div>
    </div>
  );
}

/** A table that scrolls by itself on a narrow screen. */
export function Table({ columns, children }: { columns: string[]; children: ReactNode }) {
  return (
    <div className="scrolls" tabIndex={0}>
      <table className="data">
        <thead>
          <tr>
            {columns.map((column, index) => (
              <th key={index} scope="col">
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}
