import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "wouter";

import { get } from "../api/http";
import { keys } from "../api/keys";
import { ExecutedAction } from "../chat/executed_action";
import { UserMessage } from "../chat/question";
import { useTitleOf } from "../parts/assistants";
import { Markdown } from "../parts/markdown";
import { ErrorNotice, Skeleton } from "../parts/notice";
import { Time } from "../parts/time";
import { unique, useMore } from "../parts/use_more";
import { visible } from "../parts/visible";
import { say } from "../texts";
import { Sheet } from "./sheet";
import { nameOf, usePerson } from "./users";

const PAGE = 50;

/** The messages of anybody's conversation, to be read: the last ones, and earlier ones above them on demand. */
export function AdminConversationPage() {
  const { id } = useParams<{ id: string }>();
  const titleOf = useTitleOf();
  const conversation = useQuery({
    queryKey: keys.conversation(id),
    queryFn: ({ signal }) => get(`/v1/conversations/${id}`, {}, signal),
  });
  const list = useMore("dialogue", `/v1/conversations/${id}/messages`, { limit: PAGE });
  const messages = unique(list.items, (message) => message.id).reverse();
  const owner = conversation.data?.user_id;
  const { data: person } = usePerson(owner);
  const name = person ? nameOf(person) : (owner ?? "");
  return (
    <Sheet title={visible(conversation.data?.title ?? say("nav.untitled"))} note={say("trace.audited")}>
      <ErrorNotice error={conversation.error ?? list.error} />
      {conversation.data && (
        <p className="text-small">
          {titleOf(conversation.data.assistant)} · <Link href={`/admin/users/${owner}`}>{name}</Link>
        </p>
      )}
      {list.isPending && <Skeleton lines={6} />}
      {list.hasNextPage && (
        <button
          type="button"
          className="button small self-start"
          disabled={list.isFetchingNextPage}
          onClick={() => void list.fetchNextPage()}
        >
          {say("imported.earlier")}
        </button>
      )}
      <div className="flex max-w-[72ch] flex-col gap-6">
        {messages.map((message) => (
          <div key={message.id}>
            {message.role !== "user" ? (
              <article>
                <p className="text-small text-quiet">
                  {titleOf(conversation.data?.assistant ?? "", message.agent)}, <Time at={message.created_at} isExact />
                  {message.run_id && (
                    <>
                      {" · "}
                      <Link href={`/admin/runs/${message.run_id}`}>{say("trace.title")}</Link>
                    </>
                  )}
                </p>
                <Markdown text={message.content} />
              </article>
            ) : message.action_id && owner ? (
              <ExecutedAction id={message.action_id} userId={owner} />
            ) : (
              <UserMessage text={message.content} at={message.created_at} images={[]} who={name} />
            )}
          </div>
        ))}
      </div>
    </Sheet>
  );
}
