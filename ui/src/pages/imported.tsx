// Conversations that files brought: their list on the memory page, and one of them, to be read.

import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, useSearch } from "wouter";

import { ApiError } from "../api/error";
import { get } from "../api/http";
import { keys } from "../api/keys";
import type { Answer } from "../api/route";
import { UserMessage } from "../chat/question";
import { placeOfImported } from "../parts/imported";
import { Markdown } from "../parts/markdown";
import { Empty, EmptyPage, ErrorNotice, Skeleton } from "../parts/notice";
import { Time } from "../parts/time";
import { useTitle } from "../parts/title";
import { unique, useMore } from "../parts/use_more";
import { visible } from "../parts/visible";
import { Windowed } from "../parts/windowed";
import { useUser } from "../session/session";
import { formatDay, say } from "../texts";

type Page = Answer<"get", `/v1/users/${string}/imported/messages`>;
type Place = { around?: string; before?: string; after?: string };

const MESSAGES = 50;
const ROW_PX = 60; // of most rows
const DAY = /^\d{4}-\d\d-\d\d$/; // what stands for a conversation whose source has none

export function Imported() {
  const { userId } = useUser();
  const list = useMore("memory", `/v1/users/${userId}/imported`, { limit: 50 });
  const found = unique(list.items, (one) => one.conversation);
  return (
    <>
      <ErrorNotice error={list.error} onRetry={() => void list.refetch()} />
      {list.isPending && <Skeleton lines={4} className="h-12" />}
      {list.isSuccess && !found.length && <Empty>{say("imported.none")}</Empty>}
      <Windowed
        groups={[{ key: "all", rows: found }]}
        keyOf={(one) => one.conversation}
        rowPx={ROW_PX}
        hasMore={list.hasNextPage}
      >
        {(one) => (
          <div className="border-b border-line py-1">
            <Link href={placeOfImported(one.conversation)} className="row-link">
              <span className="line-clamp-2">{nameOf(one.conversation, one.title) ?? visible(one.beginning)}</span>
              <span className="flex flex-wrap gap-x-3 text-small text-quiet">
                <span>{say("memory.messages", { n: one.messages })}</span>
                <Time at={one.last_at} />
              </span>
            </Link>
          </div>
        )}
      </Windowed>
      <div ref={list.mark} className="h-8">
        {list.isFetchingNextPage && <Skeleton lines={1} />}
      </div>
    </>
  );
}

function nameOf(conversation: string, title: string | null | undefined): string | null {
  return title ? visible(title) : DAY.test(conversation) ? formatDay(conversation) : null;
}

export function ImportedPage() {
  const { userId } = useUser();
  const asked = new URLSearchParams(useSearch());
  const conversation = asked.get("conversation") ?? "";
  const around = asked.get("around");
  const pages = useInfiniteQuery({
    queryKey: keys.imported(userId, conversation, around),
    queryFn: ({ pageParam, signal }): Promise<Page> =>
      get(`/v1/users/${userId}/imported/messages`, { conversation, limit: MESSAGES, ...pageParam }, signal),
    initialPageParam: (around ? { around } : {}) as Place,
    getPreviousPageParam: (page): Place | null => (page.before ? { before: page.before } : null),
    getNextPageParam: (page): Place | null => (page.after ? { after: page.after } : null),
  });
  const first = pages.data?.pages[0];
  const name = nameOf(conversation, pages.data?.pages.find((page) => page.title)?.title) ?? say("nav.untitled");
  useTitle(name);
  const gone = (
    <EmptyPage why={say("imported.gone")}>
      <Link href="/memory/imported">{say("imported.title")}</Link>
    </EmptyPage>
  );
  if (first?.results.length === 0) return gone;
  if (pages.error && !first) {
    const isGone = pages.error instanceof ApiError && [400, 404].includes(pages.error.status);
    return isGone ? gone : <ErrorNotice error={pages.error} />;
  }
  const more = (text: string, isLoading: boolean, load: () => void) => (
    <button type="button" className="button small self-center" disabled={isLoading} onClick={load}>
      {text}
    </button>
  );
  return (
    <div className="scrolls h-full p-4" tabIndex={0}>
      <div className="mx-auto flex max-w-[72ch] flex-col gap-6">
        <header>
          <h1 className="text-title font-semibold">{name}</h1>
          <p className="flex flex-wrap gap-x-3 text-small text-quiet">
            {say("imported.note")} <Link href="/memory/imported">{say("imported.title")}</Link>
          </p>
        </header>
        {!first && <Skeleton lines={6} className="h-16" />}
        {pages.hasPreviousPage &&
          more(say("imported.earlier"), pages.isFetchingPreviousPage, () => void pages.fetchPreviousPage())}
        {pages.data?.pages
          .flatMap((page) => page.results)
          .map((message) => (
            <Message key={message.id} message={message} isTarget={message.id === around} />
          ))}
        {pages.hasNextPage && more(say("imported.later"), pages.isFetchingNextPage, () => void pages.fetchNextPage())}
        <ErrorNotice error={pages.error} />
      </div>
    </div>
  );
}

function Message({ message, isTarget }: { message: Page["results"][number]; isTarget: boolean }) {
  const who = message.speaker ? visible(message.speaker) : undefined;
  return (
    <div
      data-message={message.id}
      className={isTarget ? "rounded bg-mark ring-8 ring-mark" : ""}
      ref={isTarget ? toMiddle : undefined}
    >
      {message.role === "user" ? (
        <div className="flex flex-col items-end">
          <UserMessage text={message.content} at={message.occurred_at} images={[]} who={who} />
        </div>
      ) : (
        <article>
          <p className="text-small text-quiet">
            {who ?? say("admin.assistant")}, <Time at={message.occurred_at} />
          </p>
          <Markdown text={message.content} />
        </article>
      )}
    </div>
  );
}

/** One function for all renderings: the page goes to the message once, not whenever others are loaded. */
function toMiddle(element: HTMLElement | null) {
  element?.scrollIntoView({ block: "center" });
}
