// Forget a memory, or say what is right instead.

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { post, remove } from "../api/http";
import { refresh } from "../api/refresh";
import { useUser } from "../session/session";
import { say } from "../texts";
import { Dialog } from "./dialog";
import { ErrorNotice } from "./notice";

export function MemoryActions({ id, text, onGone }: { id: string; text: string; onGone?: () => void }) {
  const [open, setOpen] = useState<"forget" | "correct" | null>(null);
  return (
    <>
      <button type="button" className="quiet-button" onClick={() => setOpen("forget")}>
        {say("evidence.forget")}
      </button>
      <button type="button" className="quiet-button" onClick={() => setOpen("correct")}>
        {say("evidence.wrong")}
      </button>
      {open === "forget" && <Forget id={id} text={text} onClose={() => setOpen(null)} onGone={onGone} />}
      {open === "correct" && <Correct id={id} text={text} onClose={() => setOpen(null)} />}
    </>
  );
}

function Forget({ id, text, onClose, onGone }: { id: string; text: string; onClose: () => void; onGone?: () => void }) {
  const { userId } = useUser();
  const queries = useQueryClient();
  const forget = useMutation({
    mutationFn: (doubtful: boolean) => remove(`/v1/memories/${id}`, { user_id: userId, doubtful: doubtful || null }),
  });
  const receipt = forget.data;
  const close = () => {
    onClose();
    if (!receipt) return;
    onGone?.();
    void refresh(queries, ["memory", "messages", "runs"]);
  };
  return (
    <Dialog title={say("forget.title")} onClose={close}>
      <blockquote className="border-l-4 border-line pl-3">{text.slice(0, 500)}</blockquote>
      {!receipt && <p className="my-4 text-small text-quiet">{say("forget.what")}</p>}
      <ErrorNotice error={forget.error} />
      {receipt ? (
        <div role="status" className="mt-4 flex flex-col items-start gap-3">
          <p>{say("forget.receipt", { logs: receipt.logs, records: receipt.records, answers: receipt.answers })}</p>
          {receipt.doubtful_runs > 0 && (
            <>
              <p className="text-small">{say("forget.doubtful", { n: receipt.doubtful_runs })}</p>
              <button type="button" className="button danger" onClick={() => forget.mutate(true)}>
                {say("forget.doubtfulToo")}
              </button>
            </>
          )}
        </div>
      ) : (
        <button
          type="button"
          className="button danger"
          disabled={forget.isPending}
          onClick={() => forget.mutate(false)}
        >
          {say("forget.do")}
        </button>
      )}
    </Dialog>
  );
}

function Correct({ id, text, onClose }: { id: string; text: string; onClose: () => void }) {
  const { userId } = useUser();
  const queries = useQueryClient();
  const [words, setWords] = useState("");
  const correct = useMutation({
    mutationFn: () => post(`/v1/memories/${id}/correct`, { user_id: userId, memory: words }),
    onSuccess: () => refresh(queries, ["memory"]),
  });
  return (
    <Dialog title={say("correct.title")} onClose={onClose}>
      <blockquote className="border-l-4 border-line pl-3">{text.slice(0, 500)}</blockquote>
      {correct.data ? (
        <p role="status" className="mt-4">
          {say("correct.done")}
        </p>
      ) : (
        <form
          className="mt-4 flex flex-col gap-3"
          onSubmit={(event) => {
            event.preventDefault();
            correct.mutate();
          }}
        >
          <label className="field">
            <span>{say("correct.what")}</span>
            <textarea
              required
              rows={3}
              maxLength={10000}
              value={words}
              onChange={(event) => setWords(event.target.value)}
            />
          </label>
          <ErrorNotice error={correct.error} />
          <button type="submit" className="button primary self-start" disabled={correct.isPending || !words.trim()}>
            {say("correct.do")}
          </button>
        </form>
      )}
    </Dialog>
  );
}
