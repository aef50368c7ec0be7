// All requests that match the filters at once: counted first, then cancelled or tried again.

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { post } from "../api/http";
import { refresh } from "../api/refresh";
import type { Body } from "../api/route";
import { ConfirmForm } from "../parts/confirm";
import { Dialog } from "../parts/dialog";
import { ErrorNotice } from "../parts/notice";
import { say } from "../texts";

const SETTLED_MS = 2000; // after which what was marked has ended, as a rule

type Cancelled = Body<"post", "/v1/admin/runs/cancel">;
type Retried = Body<"post", "/v1/admin/runs/retry">;
type Change = (expected: number | null) => Promise<{ matched: number; changed: number }>;

/** Cancels those that are not finished; null: the filters name what this cannot choose by. */
export function CancelAll({ only }: { only: Cancelled | null }) {
  return (
    <ChangeAll
      label="bulk.cancel"
      ask="bulk.cancelAsk"
      what="bulk.cancelWhat"
      change={only && ((expected) => post("/v1/admin/runs/cancel", { ...only, expected }))}
    />
  );
}

/** Tries those again that have failed. */
export function RetryAll({ only }: { only: Retried | null }) {
  return (
    <ChangeAll
      label="bulk.retry"
      ask="bulk.retryAsk"
      what="bulk.retryWhat"
      change={only && ((expected) => post("/v1/admin/runs/retry", { ...only, expected }))}
    />
  );
}

function ChangeAll({
  label,
  ask,
  what,
  change,
}: {
  label: "bulk.cancel" | "bulk.retry";
  ask: "bulk.cancelAsk" | "bulk.retryAsk";
  what: "bulk.cancelWhat" | "bulk.retryWhat";
  change: Change | null;
}) {
  const queries = useQueryClient();
  const [matched, setMatched] = useState<number | null>(null);
  const [changed, setChanged] = useState<number | null>(null);
  const count = useMutation({
    mutationFn: (count: Change) => count(null),
    onSuccess: (found) => {
      setChanged(null);
      setMatched(found.matched);
    },
  });
  if (!change) return null;
  const changeAll = async () => {
    let done = 0;
    for (let rest = matched ?? 0; rest > 0; ) {
      const portion = await change(rest);
      if (!portion.changed) break;
      done += portion.changed;
      rest -= portion.changed;
    }
    setChanged(done);
    await refresh(queries, ["runs", "run"]);
    window.setTimeout(() => void refresh(queries, ["runs", "run"]), SETTLED_MS);
  };
  return (
    <>
      <button type="button" className="button small" disabled={count.isPending} onClick={() => count.mutate(change)}>
        {say(label)}
      </button>
      <ErrorNotice error={count.error} />
      {changed !== null && (
        <span role="status" className="text-small">
          {say("bulk.done", { n: changed })}
        </span>
      )}
      {matched !== null && (
        <Dialog title={say(matched ? ask : "bulk.none", { n: matched })} onClose={() => setMatched(null)}>
          {matched > 0 && (
            <ConfirmForm
              label={say(label)}
              what={say(what)}
              word={String(matched)}
              onConfirm={changeAll}
              onDone={() => setMatched(null)}
            />
          )}
        </Dialog>
      )}
    </>
  );
}
