// Everything that waits for a decision of the person, wherever it was proposed.

import { Link } from "wouter";
import { ActionCard } from "../chat/action_card";
import { useTitleOf } from "../parts/assistants";
import { Empty, ErrorNotice, Skeleton } from "../parts/notice";
import { Time } from "../parts/time";
import { useTitle } from "../parts/title";
import { unique, useMore } from "../parts/use_more";
import { useUser } from "../session/session";
import { say } from "../texts";

const PAGE = 50;
const REFRESH_MS = 60_000; // what is rejected elsewhere sends no event

export function ActionsPage() {
  const { userId } = useUser();
  useTitle(say("action.inbox"));
  const titleOf = useTitleOf();
  const list = useMore(
    "actions",
    "/v1/actions",
    { user_id: userId, status: "pending", limit: PAGE },
    true,
    () => REFRESH_MS,
  );
  const actions = unique(list.items, (one) => one.id);
  return (
    <div className="scrolls h-full p-4" tabIndex={0}>
      <div className="mx-auto flex max-w-[72ch] flex-col gap-4">
        <h1 className="text-title font-semibold">{say("action.inbox")}</h1>
        <ErrorNotice error={list.error} onRetry={() => void list.refetch()} />
        {list.isPending && <Skeleton lines={3} className="h-32" />}
        {list.isSuccess && !actions.length && <Empty>{say("action.noneWaits")}</Empty>}
        {actions.map((action) => (
          <div key={action.id} className="flex flex-col gap-1">
            <p className="text-small text-quiet">
              {action.assistant && `${titleOf(action.assistant)} · `}
              <Time at={action.created_at} /> ·{" "}
              <Link
                href={
                  action.conversation_id
                    ? `/c/${action.conversation_id}#run-${action.run_id}`
                    : `/runs/${action.run_id}`
                }
              >
                {say(action.conversation_id ? "evidence.context" : "admin.request")}
              </Link>
            </p>
            <ActionCard action={action} />
          </div>
        ))}
        <div ref={list.mark} className="h-8" />
      </div>
    </div>
  );
}
