// One request by itself: question, answer, evidence and trace.

import { useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useEffect, useState } from "react";
import { useParams } from "wouter";

import { keys } from "../api/keys";
import { refresh } from "../api/refresh";
import { useLayers, useRun } from "../api/run";
import type { Run } from "../api/types";
import { Evidence } from "../chat/evidence";
import { ExecutedAction } from "../chat/executed_action";
import { Logs } from "../chat/logs";
import { UserMessage } from "../chat/question";
import { Stages } from "../chat/stages";
import { Trace } from "../chat/trace";
import { useRunState } from "../chat/turns";
import { wordsOf } from "../parts/forgotten";
import { Markdown } from "../parts/markdown";
import { ErrorNotice, Failure, Skeleton } from "../parts/notice";
import { useTitle } from "../parts/title";
import { useUser } from "../session/session";
import { say } from "../texts";

export function RunPage() {
  const { id } = useParams<{ id: string }>();
  useTitle(say("admin.request"));
  return (
    <div className="scrolls h-full p-4" tabIndex={0}>
      <div className="mx-auto flex max-w-[72ch] flex-col gap-6">
        <h1 className="text-title font-semibold">{say("admin.request")}</h1>
        <RunView id={id} />
      </div>
    </div>
  );
}

/** What is known of a request; `who` has sent it, and `actions` shows what may be done with it. */
export function RunView({ id, who, actions }: { id: string; who?: string; actions?: (run: Run) => ReactNode }) {
  const { userId, isAdmin } = useUser();
  const [mark, setMark] = useState<number | null>(null);
  const { data: run, error } = useRunState(id, true);
  const live = useRun(run ? id : null, run?.retries);
  const queries = useQueryClient();
  const layers = useLayers(isAdmin && run ? id : null, run?.retries);
  const isStale = live.isOver && run !== undefined && run.status !== "COMPLETED" && run.status !== "FAILED";
  useEffect(() => {
    if (isStale) void refresh(queries, [keys.run(id), keys.tracesOf(id)]);
  }, [isStale, id, queries]);
  if (error) return <ErrorNotice error={error} />;
  if (!run) return <Skeleton />;
  return (
    <>
      {actions?.(run)}
      {run.action ? (
        <ExecutedAction id={run.action.id} userId={run.user_id} />
      ) : (
        <UserMessage
          text={wordsOf(run.query)}
          at={run.timings.created_at ?? null}
          images={run.attachment_ids}
          who={run.user_id === userId ? undefined : (who ?? run.user_id.slice(0, 8))}
        />
      )}
      {live.isOver ? (
        <Markdown text={wordsOf(run.final_answer ?? live.answer ?? "")} onMark={setMark} />
      ) : (
        <Stages status={live.status} />
      )}
      {(run.error_code ?? live.error) && (
        <Failure
          code={run.error_code ?? live.error?.code ?? null}
          message={run.error_message ?? live.error?.message ?? null}
        />
      )}
      <section>
        <h2 className="mb-3 text-lead font-semibold">{say("trace.title")}</h2>
        <Trace run={run} />
      </section>
      <section>
        <h2 className="mb-3 text-lead font-semibold">{say("evidence.title")}</h2>
        <Evidence run={run} marked={mark} />
      </section>
      {isAdmin && (
        <section>
          <h2 className="mb-3 text-lead font-semibold">{say("logs.title", { n: layers.data?.length ?? 0 })}</h2>
          <Logs layers={layers.data ?? []} />
        </section>
      )}
    </>
  );
}
