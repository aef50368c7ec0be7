import { useQueryClient } from "@tanstack/react-query";
import { Link, useParams } from "wouter";

import { post } from "../api/http";
import { refresh } from "../api/refresh";
import { useTrace } from "../api/trace";
import type { Run } from "../api/types";
import { useRunState } from "../chat/turns";
import { RunView } from "../pages/run";
import { ConfirmButton } from "../parts/confirm";
import { say } from "../texts";
import { Replay, SendAgain } from "./again";
import { CompareWith } from "./compare";
import { originOf } from "./run_difference";
import { Sheet } from "./sheet";
import { nameOf, usePerson } from "./users";

/** One request of anybody, and what an operator may do with it. */
export function AdminRunPage() {
  const { id } = useParams<{ id: string }>();
  const { data: run } = useRunState(id);
  const { data: person } = usePerson(run?.user_id);
  return (
    <Sheet title={say("admin.request")} note={id}>
      <RunView id={id} who={person ? nameOf(person) : undefined} actions={(run) => <RunActions run={run} />} />
    </Sheet>
  );
}

function RunActions({ run }: { run: Run }) {
  const queries = useQueryClient();
  const readAgain = () => refresh(queries, ["runs", "run", "trace"]);
  const isOver = run.status === "COMPLETED" || run.status === "FAILED";
  const acts = (
    <div className="flex flex-wrap gap-2">
      <Link href={`/admin/users/${run.user_id}`} className="button small">
        {say("admin.toUser")}
      </Link>
      {run.conversation_id && (
        <Link href={`/admin/conversations/${run.conversation_id}`} className="button small">
          {say("admin.toConversation")}
        </Link>
      )}
      {(run.status === "FAILED" || run.archive_status === "FAILED") && (
        <ConfirmButton
          label={say("chat.retry")}
          title={say("admin.retryAsk")}
          what={say("admin.retryWhat")}
          onConfirm={() => post(`/v1/runs/${run.request_id}/retry`).then(readAgain)}
        />
      )}
      {!isOver && (
        <ConfirmButton
          label={say("admin.cancel")}
          title={say("admin.cancelAsk")}
          what={say("admin.cancelWhat")}
          className="button small danger"
          onConfirm={() => post(`/v1/runs/${run.request_id}/cancel`).then(readAgain)}
        />
      )}
      {isOver && run.kind === "ask" && <SendAgain run={run} />}
    </div>
  );
  return (
    <>
      {acts}
      {isOver && run.kind === "ask" && <Replay run={run} />}
      {isOver && <Compare run={run} />}
    </>
  );
}

/** The way to its differences to another request: to the one that a trial answers again, or any. */
function Compare({ run }: { run: Run }) {
  const trace = useTrace(run, true);
  return trace.data ? <CompareWith key={run.request_id} id={run.request_id} origin={originOf(trace.data)} /> : null;
}
