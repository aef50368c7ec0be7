// A conversation that somebody has shared, to be read by anybody who has its link.

import { QueryClient, QueryClientProvider, useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";

import { ApiError } from "../api/error";
import { post } from "../api/http";
import { keys } from "../api/keys";
import type { SharedMessage } from "../api/types";
import { UserMessage } from "../chat/question";
import { titleWithAgent } from "../parts/assistants";
import { Logo } from "../parts/logo";
import { Markdown } from "../parts/markdown";
import { EmptyPage, ErrorNotice, errorText, Skeleton } from "../parts/notice";
import { Time } from "../parts/time";
import { useTitle } from "../parts/title";
import { visible } from "../parts/visible";
import { say } from "../texts";

const TOKEN = /^[\w-]{22}$/;

export default function SharedPage() {
  const [queries] = useState(() => new QueryClient({ defaultOptions: { queries: { retry: false } } }));
  return (
    <QueryClientProvider client={queries}>
      <Shared token={window.location.hash.slice(1)} />
    </QueryClientProvider>
  );
}

function Shared({ token }: { token: string }) {
  const isToken = TOKEN.test(token);
  const pages = useInfiniteQuery({
    queryKey: keys.shared(token),
    queryFn: ({ pageParam }) => post("/v1/shared", { token, after: pageParam }),
    initialPageParam: 0,
    getNextPageParam: (page) => page.next,
    staleTime: Infinity,
    enabled: isToken,
  });
  const first = pages.data?.pages[0];
  useTitle(first?.title ?? "");
  if (!isToken || (pages.error && !first)) {
    const isGone = !isToken || (pages.error instanceof ApiError && pages.error.status === 404);
    return (
      <main className="mx-auto max-w-[72ch] p-6">
        <Name />
        <EmptyPage why={isGone ? say("shared.gone") : errorText(pages.error)}>
          {isGone && say("shared.askAgain")}
        </EmptyPage>
      </main>
    );
  }
  return (
    <main className="mx-auto flex max-w-[72ch] flex-col gap-6 p-6">
      <Name />
      {!first ? (
        <Skeleton lines={8} />
      ) : (
        <>
          <header>
            <h1 className="text-title font-semibold">{visible(first.title ?? say("nav.untitled"))}</h1>
            <p className="text-small text-quiet">
              {visible(first.assistant_title)} · {say("shared.as")} <Time at={first.shared_at} isExact /> ·{" "}
              {say("share.until")} <Time at={first.expires_at} isExact />
            </p>
          </header>
          {pages
            .data!.pages.flatMap((page) => page.messages)
            .map((message, index) => (
              <Message key={index} message={message} title={first.assistant_title} />
            ))}
          <ErrorNotice error={pages.error} />
          {pages.hasNextPage && (
            <button
              type="button"
              className="button self-start"
              disabled={pages.isFetchingNextPage}
              onClick={() => void pages.fetchNextPage()}
            >
              {say("app.more")}
            </button>
          )}
        </>
      )}
    </main>
  );
}

/** Whose page this is: who follows a link may never have seen it. */
function Name() {
  return (
    <p className="flex items-center gap-2 font-semibold">
      <Logo className="size-6" /> {say("app.name")}
    </p>
  );
}

function Message({ message, title }: { message: SharedMessage; title: string }) {
  const images = message.images > 0 ? say("shared.images", { n: message.images }) : undefined;
  if (message.role === "user")
    return (
      <UserMessage
        text={message.content}
        at={message.created_at}
        images={[]}
        note={images}
        who={say("shared.person")}
      />
    );
  return (
    <article>
      <p className="text-small text-quiet">
        {titleWithAgent(title, message.agent)}, <Time at={message.created_at} />
      </p>
      <Markdown text={message.content} />
      {images && <p className="text-small text-quiet">{images}</p>}
      {message.evidence.length > 0 && (
        <details className="mt-2 text-small">
          <summary>{say("shared.evidence", { n: message.evidence.length })}</summary>
          <ul className="mt-2 flex flex-col gap-2 border-l-4 border-line pl-3">
            {message.evidence.map((one, index) => (
              <li key={index}>
                <span className="text-quiet">
                  {one.number !== null && `[${one.number}] `}
                  {one.speaker === "user"
                    ? say("shared.person")
                    : one.speaker === "assistant"
                      ? visible(title)
                      : visible(one.speaker ?? "")}
                  {", "}
                  <Time at={one.said_at} />
                </span>
                <p className="whitespace-pre-wrap">{visible(one.text)}</p>
              </li>
            ))}
          </ul>
        </details>
      )}
    </article>
  );
}
