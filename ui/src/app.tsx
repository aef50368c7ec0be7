// The frame: conversations and pages on the left, the page in the middle.

import { QueryClient, QueryClientProvider, useQueryClient } from "@tanstack/react-query";
import { Menu as MenuIcon, X } from "lucide-react";
import { lazy, Suspense, useCallback, useEffect, useRef, useState } from "react";
import { Link, Redirect, Route, Router, Switch, useLocation } from "wouter";

import { ApiError } from "./api/error";
import { useUserEvents } from "./api/user_events";
import { useOutbox } from "./chat/outbox";
import { ChatPage, isWriting } from "./pages/chat";
import { Sidebar } from "./pages/sidebar";
import { Boundary } from "./parts/boundary";
import { HeaderPlace } from "./parts/header";
import { EmptyPage, ErrorNotice, Skeleton } from "./parts/notice";
import { askToLeave } from "./parts/unsaved";
import { WaitingBadge } from "./parts/waiting_badge";
import { useIsOnline, waitForServer } from "./session/connection";
import { keep, kept } from "./session/kept";
import { session, useSession, useUser } from "./session/session";
import { say, useLanguage, withTexts } from "./texts";

const SharedPage = lazy(() => import("./pages/shared"));
const SignInPage = lazy(() => import("./pages/sign_in").then((page) => ({ default: page.SignInPage })));
const AdminPage = lazy(() => withTexts(import("./admin/admin")));
const AdsPage = lazy(() => withTexts(import("./pages/ads"), "ads"));
const ConnectPage = lazy(() => import("./pages/connect").then((page) => ({ default: page.ConnectPage })));
const rest = () => withTexts(import("./pages/rest"));
const ActionsPage = lazy(() => rest().then((pages) => ({ default: pages.ActionsPage })));
const HistoryPage = lazy(() => rest().then((pages) => ({ default: pages.HistoryPage })));
const ImportedPage = lazy(() => rest().then((pages) => ({ default: pages.ImportedPage })));
const MemoryPage = lazy(() => rest().then((pages) => ({ default: pages.MemoryPage })));
const Palette = lazy(() => rest().then((pages) => ({ default: pages.Palette })));
const ProfilePage = lazy(() => rest().then((pages) => ({ default: pages.ProfilePage })));
const RunPage = lazy(() => rest().then((pages) => ({ default: pages.RunPage })));
const SchedulesPage = lazy(() => rest().then((pages) => ({ default: pages.SchedulesPage })));
const WebhooksPage = lazy(() => rest().then((pages) => ({ default: pages.WebhooksPage })));
const RETRIES = 2;
const LOCAL_HIDDEN = "local-only-hidden"; // that this machine alone is served has been read

export function App() {
  useLanguage(); // everything is said again in another language
  if (window.location.pathname !== "/ui/shared") return <SignedIn />;
  return (
    <Suspense fallback={<PageSkeleton />}>
      <SharedPage />
    </Suspense>
  );
}

function SignedIn() {
  const state = useSession();
  useEffect(() => void session.start(), []);
  switch (state.kind) {
    case "loading":
      return (
        <main className="mx-auto max-w-[72ch] p-6">
          <Skeleton lines={6} />
        </main>
      );
    case "unreachable":
      return (
        <main className="mx-auto max-w-[72ch] p-6">
          <ErrorNotice
            error={new Error(say("app.unreachable"))}
            onRetry={() => void waitForServer().then(() => session.start())}
          />
        </main>
      );
    case "anonymous":
      return (
        <Suspense>
          <SignInPage config={state.config} why={state.why} />
        </Suspense>
      );
    case "open":
      return (
        <Router base="/ui" aroundNav={askToLeave}>
          <Person key={state.userId} />
        </Router>
      );
  }
}

/** The page of one person: what was read for somebody goes with them. */
function Person() {
  const [queries] = useState(newQueries);
  useEffect(() => () => queries.clear(), [queries]);
  return (
    <QueryClientProvider client={queries}>
      <Frame />
    </QueryClientProvider>
  );
}

function newQueries(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 5000,
        refetchOnWindowFocus: false, // events of the user say when something has changed
        retry: (count, error) =>
          count < RETRIES && !(error instanceof ApiError && error.status >= 400 && error.status < 500),
      },
    },
  });
}

function Frame() {
  const { config, userId } = useUser();
  const queries = useQueryClient();
  const [outbox] = useOutbox();
  const isOnline = useIsOnline();
  const [isMenuOpen, setMenuOpen] = useState(false);
  const [isPaletteOpen, setPaletteOpen] = useState(false);
  const [place] = useLocation();
  const [isLocalHidden, setLocalHidden] = useState(() => kept(userId, LOCAL_HIDDEN) !== null);
  const [header, setHeader] = useState<HTMLElement | null>(null);
  const menuButton = useRef<HTMLButtonElement>(null);
  const closeMenu = useCallback(() => {
    setMenuOpen(false);
    menuButton.current?.focus();
  }, []);
  useUserEvents(userId);
  useEffect(() => void rest().catch(() => undefined), []); // before they are needed, and while there is a network
  useEffect(() => setMenuOpen(false), [place]);
  useEffect(() => void outbox.flush(() => void queries.invalidateQueries()), [outbox, queries]);
  useEffect(() => {
    if (isOnline) void queries.invalidateQueries();
    else void waitForServer();
  }, [isOnline, queries]);
  useShortcuts(useCallback(() => setPaletteOpen(true), []));
  return (
    <div className="flex h-dvh flex-col">
      <a href="#main" className="sr-only focus:not-sr-only focus:p-2">
        {say("app.skip")}
      </a>
      <header>
        {config.auth === "none" && !isLocalHidden && (
          <p className="flex items-center justify-center gap-3 bg-raised px-4 py-1 text-small text-quiet" data-local>
            <span>{say("app.localOnly")}</span>
            <button
              type="button"
              className="quiet-button shrink-0 pointer-coarse:min-h-11 pointer-coarse:min-w-11"
              aria-label={say("app.gotIt")}
              title={say("app.gotIt")}
              onClick={() => {
                keep(userId, LOCAL_HIDDEN, "yes");
                setLocalHidden(true);
              }}
            >
              <X className="inline sm:hidden" />
              <span className="max-sm:hidden">{say("app.gotIt")}</span>
            </button>
          </p>
        )}
        {!isOnline && (
          <p role="status" data-offline className="bg-warn px-4 py-1 text-center text-small text-page">
            {say("app.offline")}
          </p>
        )}
      </header>
      <p id="announcement" role="status" aria-live="polite" className="sr-only" />
      <div className="flex min-h-0 flex-1">
        <Boundary>
          <Sidebar isOpen={isMenuOpen} onClose={closeMenu} onPalette={() => setPaletteOpen(true)} />
        </Boundary>
        <main id="main" tabIndex={-1} className="flex min-w-0 flex-1 flex-col outline-none">
          <header className="flex lg:has-[>div:empty]:hidden h-14 shrink-0 items-center gap-2 sm:gap-3 border-b border-line px-4">
            <button
              ref={menuButton}
              type="button"
              className="button small lg:hidden"
              aria-label={say("app.menu")}
              aria-expanded={isMenuOpen}
              onClick={() => setMenuOpen(true)}
            >
              <MenuIcon /> <span className="max-sm:hidden">{say("app.menu")}</span>
            </button>
            <div ref={setHeader} className="flex min-w-0 flex-1 items-center gap-2 sm:gap-3" />
            <WaitingBadge className="button small shrink-0 lg:hidden" isShort />
          </header>
          <div className="min-h-0 flex-1">
            <HeaderPlace value={header}>
              <Boundary place={place}>
                <Suspense fallback={<PageSkeleton />}>
                  <Switch>
                    <Route path="/" component={ChatPage} />
                    <Route path="/c/:id" component={ChatPage} />
                    <Route path="/actions" component={ActionsPage} />
                    <Route path="/history" component={HistoryPage} />
                    <Route path="/runs/:id" component={RunPage} />
                    <Route path="/imported" component={ImportedPage} />
                    <Route path="/memory/:page?" component={MemoryPage} />
                    <Route path="/profile" component={ProfilePage} />
                    <Route path="/schedules" component={SchedulesPage} />
                    <Route path="/webhooks" component={WebhooksPage} />
                    <Route path="/connect" component={ConnectPage} />
                    <Route path="/ads">
                      <AdsPage />
                    </Route>
                    <Route path="/admin/*?">
                      <AdminPage />
                    </Route>
                    <Route path="/sign-in">
                      <Redirect to="/" />
                    </Route>
                    <Route path="/reset">
                      <Redirect to="/" />
                    </Route>
                    <Route>
                      <EmptyPage why={say("app.notFound")}>
                        <Link href="/">{say("app.toStart")}</Link>
                      </EmptyPage>
                    </Route>
                  </Switch>
                </Suspense>
              </Boundary>
            </HeaderPlace>
          </div>
        </main>
      </div>
      {isPaletteOpen && (
        <Boundary>
          <Suspense>
            <Palette onClose={() => setPaletteOpen(false)} />
          </Suspense>
        </Boundary>
      )}
    </div>
  );
}

function PageSkeleton() {
  return (
    <div className="mx-auto max-w-[72ch] p-4">
      <Skeleton lines={6} />
    </div>
  );
}

/** Ctrl-K opens the palette, `/` goes to the search of the page. */
function useShortcuts(onPalette: () => void) {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        onPalette();
      } else if (event.key === "/" && !isWriting(event.target)) {
        const search = document.querySelector<HTMLInputElement>("[data-search]");
        if (search) {
          event.preventDefault();
          search.focus();
        }
      }
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, [onPalette]);
}
