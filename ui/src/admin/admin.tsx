// The pages of administrators.

import { lazy, Suspense } from "react";
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
