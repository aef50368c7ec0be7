// One decision on all that waits of a request, each as it stands here: the calls of a step of a large task, mostly.

import { useMutation, useQueryClient } from "@tanstack/react-query";

import { post } from "../api/http";
import { refresh } from "../api/refresh";
import type { Action } from "../api/types";
import { ErrorNotice } from "../parts/notice";
import { useUser } from "../session/session";
import { say } from "../texts";

export function DecideAll({ actions }: { actions: Action[] }) {
  const { userId } = useUser();
  const queries = useQueryClient();
  const waiting = actions.filter((one) => one.status === "pending");
  const decide = useMutation({
    mutationFn: (decision: "approve" | "reject") =>
      post("/v1/actions/decide", {
        user_id: userId,
        decision,
        actions: waiting.map(({ id, fingerprint }) => ({ id, fingerprint })),
      }),
    onSettled: () => refresh(queries, ["actions", "runs", "messages"]),
  });
  if (waiting.length < 2) return null;
  return (
    <div className="flex flex-wrap items-center gap-2">
      <button
        type="button"
        className="button primary"
        disabled={decide.isPending}
        onClick={() => decide.mutate("approve")}
      >
        {say("action.approveAll", { n: waiting.length })}
      </button>
      <button
        type="button"
        className="button danger"
        disabled={decide.isPending}
        onClick={() => decide.mutate("reject")}
      >
        {say("action.rejectAll", { n: waiting.length })}
      </button>
      <ErrorNotice error={decide.error} />
    </div>
  );
}
