import {
  Archive,
  ArrowLeft,
  BookOpenText,
  CircleUser,
  Ellipsis,
  History,
  LogOut,
  Megaphone,
  Plus,
  SlidersHorizontal,
  X,
} from "lucide-react";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { Link, useLocation } from "wouter";
import { ConversationMenu } from "../chat/conversation_menu";
import { walkWithArrows } from "../parts/arrows";
import { useHasAds } from "../parts/assistants";
import { groupByDay } from "../parts/groups";
import { Logo } from "../parts/logo";
import { Empty, ErrorNotice, Skeleton } from "../parts/notice";
import { usePaused } from "../parts/paused";
import { unique, useMore } from "../parts/use_more";
import { visible } from "../parts/visible";
import { WaitingBadge } from "../parts/waiting_badge";
import { session, useUser } from "../session/session";
import { say } from "../texts";

interface Props {
  isOpen: boolean;
  onClose: () => void;
  onPalette: () => void;
}

export function Sidebar({ isOpen, onClose, onPalette }: Props) {
  const user = useUser();
  const hasAds = useHasAds();
  const [place] = useLocation();
  const nav = useRef<HTMLElement>(null);
  useEffect(() => {
    if (!isOpen) return;
    nav.current?.querySelector<HTMLElement>("a.button")?.focus();
    const press = (event: KeyboardEvent) => event.key === "Escape" && onClose();
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, [isOpen, onClose]);
  const [typed, setTyped] = useState("");
  const query = usePaused(typed);
  const [isArchive, setArchive] = useState(false);
  const list = useMore("conversations", "/v1/conversations", {
    user_id: user.userId,
    q: query || undefined,
    archived: isArchive || undefined,
    limit: 50,
  });
  const all = unique(list.items, (one) => one.id);
  const pinned = all.filter((one) => one.is_pinned);
  const groups = groupByDay(
    all.filter((one) => !one.is_pinned),
    (one) => one.updated_at,
  );
  if (pinned.length) groups.unshift([say("nav.pinned"), pinned]);
  const link = (path: string, icon: ReactNode, text: string) => (
    <Link
      href={path}
      className="row-link flex! items-center gap-2"
      aria-current={place === path || (path !== "/" && place.startsWith(path)) ? "page" : undefined}
    >
      {icon} <span className="min-w-0">{text}</span>
    </Link>
  );
  return (
    <>
      {isOpen && (
        <button
          type="button"
          aria-hidden="true"
          tabIndex={-1}
          className="fixed inset-0 z-20 bg-scrim lg:hidden"
          onClick={onClose}
        />
      )}
      <nav
        ref={nav}
        aria-label={say("nav.main")}
        onKeyDown={walkWithArrows}
        className={`${isOpen ? "fixed inset-y-0 left-0 z-30 flex w-72" : "hidden"} flex-col border-r border-line bg-raised lg:static lg:flex lg:w-64 lg:shrink-0`}
      >
        <div className="flex h-14 shrink-0 items-center justify-between gap-2 px-4">
          <Link href="/" className="plain flex items-center gap-2 text-lead font-semibold">
            <Logo /> {say("app.name")}
          </Link>
          {isOpen && (
            <button type="button" className="button small lg:hidden" onClick={onClose}>
              <X /> {say("app.close")}
            </button>
          )}
        </div>
        <div className="flex items-center gap-2 px-3 pb-3">
          <Link href="/" className="button small flex-1">
            <Plus /> {say("nav.new")}
          </Link>
          <button type="button" className="button small" title="Ctrl-K" onClick={onPalette}>
            {say("nav.palette")}
          </button>
        </div>
        <div className="px-3 pb-2">
          <input
            type="search"
            className="w-full"
            aria-label={say("nav.search")}
            placeholder={say("nav.search")}
            maxLength={200}
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
          />
        </div>
        <div className="scrolls min-h-0 flex-1 px-2" tabIndex={0}>
          <ErrorNotice error={list.error} />
          {list.isPending && <Skeleton lines={6} className="h-6" />}
          {list.isSuccess && !groups.length && (query || isArchive) && (
            <Empty>{say(query ? "nav.noConversation" : "nav.noneArchived")}</Empty>
          )}
          {groups.map(([title, conversations]) => (
            <div key={title}>
              <h2 className="px-2 pt-3 pb-1 text-small font-semibold text-quiet">{title}</h2>
              <ul>
                {conversations.map((one) => (
                  <li key={one.id} className="flex items-center">
                    <Link
                      href={`/c/${one.id}`}
                      className="row-link flex! min-w-0 flex-1 items-center gap-2"
                      aria-current={place === `/c/${one.id}` ? "page" : undefined}
                    >
                      {one.is_processing && <Ellipsis className="text-quiet" />}
                      <span className="truncate">{visible(one.title ?? say("nav.untitled"))}</span>
                      {!one.is_remembered && <span className="text-small text-quiet">{say("chat.temporary")}</span>}
                    </Link>
                    <ConversationMenu {...one} />
                  </li>
                ))}
              </ul>
            </div>
          ))}
          <div ref={list.mark} className="h-4" />
        </div>
        <div className="border-t border-line p-2">
          <button
            type="button"
            className="row-link flex! w-full items-center gap-2 text-left"
            aria-pressed={isArchive}
            onClick={() => setArchive(!isArchive)}
          >
            {isArchive ? <ArrowLeft /> : <Archive />} {say(isArchive ? "nav.leaveArchive" : "nav.archive")}
          </button>
          <WaitingBadge className="row-link flex! items-center gap-2 font-semibold" />
          {link("/history", <History />, say("nav.history"))}
          {link("/memory", <BookOpenText />, say("nav.memory"))}
          {hasAds && link("/ads", <Megaphone />, say("ads.title"))}
          {user.isAdmin && link("/admin", <SlidersHorizontal />, say("nav.admin"))}
          {link("/profile", <CircleUser />, user.name || user.email || say("nav.profile"))}
          {user.config.auth !== "none" && (
            <button
              type="button"
              className="row-link flex! w-full items-center gap-2 text-left"
              onClick={() => void session.signOut()}
            >
              <LogOut /> {say("nav.signOut")}
            </button>
          )}
        </div>
      </nav>
    </>
  );
}
