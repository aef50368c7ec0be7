// The pages of administrators.

import { lazy, Suspense, useEffect, useRef } from "react";
import { Link, Route, Switch, useLocation } from "wouter";

import { useHasAds } from "../parts/assistants";
import { EmptyPage, Skeleton } from "../parts/notice";
import { useUser } from "../session/session";
import { say, withTexts } from "../texts";
import { WaitingActionsPage } from "./actions";
import { AuditPage } from "./audit";
import { ComparePage } from "./compare";
import { AdminConversationPage } from "./conversation";
import { Dashboard } from "./dashboard";
import { DocumentsPage } from "./documents";
import { InventoryPage } from "./inventory";
import { KeysPage } from "./keys";
import { LimitsPage } from "./limits";
import { MemoriesPage } from "./memories";
import { PAGES, placeOfPage } from "./pages";
import { PromptPage } from "./prompt";
import { PromptsPage } from "./prompts";
import { AdminRunPage } from "./run";
import { RunsPage } from "./runs";
import { SpendingPage } from "./spending";
import { UserPage } from "./user";
import { UsersPage } from "./users";
import { AdminWebhooksPage } from "./webhooks";

const AdminAdsPage = lazy(() => withTexts(import("./ads"), "ads").then((page) => ({ default: page.AdminAdsPage })));

export default function AdminPage() {
  const { isAdmin } = useUser();
  const [place] = useLocation();
  const hasAds = useHasAds();
  const nav = useRef<HTMLElement>(null);
  useEffect(() => {
    const show = () => {
      const here = nav.current?.querySelector<HTMLElement>("[aria-current]");
      if (here) nav.current!.scrollLeft = here.offsetLeft - (nav.current!.clientWidth - here.offsetWidth) / 2;
    };
    show();
    window.addEventListener("resize", show);
    return () => window.removeEventListener("resize", show);
  }, [place, hasAds]);
  if (!isAdmin) return <EmptyPage why={say("app.noRights")} />;
  return (
    <div className="flex h-full flex-col">
      <nav
        ref={nav}
        aria-label={say("nav.admin")}
        className="scrolls scroll-hint relative flex shrink-0 gap-1 border-b border-line p-2 sm:flex-wrap lg:text-small"
      >
        {PAGES.filter((page) => page !== "ads" || hasAds).map((page) => {
          const path = placeOfPage(page);
          const isHere = page === "dashboard" ? place === path : place.startsWith(path);
          return (
            <Link
              key={page}
              href={path}
              className="row-link flex items-center whitespace-nowrap"
              aria-current={isHere ? "page" : undefined}
            >
              {say(`admin.${page}`)}
            </Link>
          );
        })}
      </nav>
      <Suspense fallback={<Skeleton lines={6} />}>
        <Switch>
          <Route path="/admin" component={Dashboard} />
          <Route path="/admin/runs" component={RunsPage} />
          <Route path="/admin/runs/:id" component={AdminRunPage} />
          <Route path="/admin/compare" component={ComparePage} />
          <Route path="/admin/conversations/:id" component={AdminConversationPage} />
          <Route path="/admin/users/:id" component={UserPage} />
          <Route path="/admin/documents" component={DocumentsPage} />
          <Route path="/admin/spending" component={SpendingPage} />
          <Route path="/admin/limits" component={LimitsPage} />
          <Route path="/admin/inventory" component={InventoryPage} />
          <Route path="/admin/prompts" component={PromptsPage} />
          <Route path="/admin/prompts/:role" component={PromptPage} />
          <Route path="/admin/memories" component={MemoriesPage} />
          <Route path="/admin/users" component={UsersPage} />
          <Route path="/admin/keys" component={KeysPage} />
          <Route path="/admin/webhooks" component={AdminWebhooksPage} />
          <Route path="/admin/actions" component={WaitingActionsPage} />
          <Route path="/admin/ads" component={AdminAdsPage} />
          <Route path="/admin/audit" component={AuditPage} />
          <Route>
            <EmptyPage why={say("app.notFound")} />
          </Route>
        </Switch>
      </Suspense>
    </div>
  );
}
