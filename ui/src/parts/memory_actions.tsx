// Forget a memory, or say what is right instead.

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { post, remove } from "../api/http";
import { keys } from "../api/keys";
import { refresh } from "../api/refresh";
import type { ForgetResult } from "../api/types";
import { useUser } from "../session/session";
import { say } from "../texts";
import { Dialog } from "./dialog";
import { Forgetting, inNumbers, Repeating } from "./forgetting";
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

function countsOf({ logs, records, facts, answers }: Omit<ForgetResult, "id">) {
  return { messages: logs, records, facts, answers };
}

function Forget({ id, text, onClose, onGone }: { id: string; text: string; onClose: () => void; onGone?: () => void }) {
  const { userId } = useUser();
  const queries = useQueryClient();
  return (
    <Forgetting
      id={id}
      title={say("forget.title")}
      label={say("forget.do")}
      quote={text.slice(0, 500)}
      read={(preview) => remove(`/v1/memories/${id}`, { user_id: userId, preview })}
      goes={(found) => say("forget.goes", { what: inNumbers(countsOf(found)) })}
      went={({ answers, ...gone }) =>
        [
          say("forget.receipt", { what: inNumbers(countsOf({ ...gone, answers: 0 })) }),
          answers > 0 && say("forget.ofAnswers", { n: answers }),
        ]
          .filter(Boolean)
          .join(" ")
      }
      onClose={onClose}
      onGone={() => {
        onGone?.();
        void refresh(queries, ["memory", "messages", "runs"]);
      }}
    />
  );
}

function Correct({ id, text, onClose }: { id: string; text: string; onClose: () => void }) {
  const { userId } = useUser();
  const queries = useQueryClient();
  const [words, setWords] = useState("");
  const { data: found } = useQuery({
    queryKey: keys.forgetting(id),
    queryFn: () => remove(`/v1/memories/${id}`, { user_id: userId, preview: true }),
    gcTime: 0,
  });
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
          {found && found.records + found.answers > 0 && (
            <div className="flex flex-col gap-1 text-small">
              <p>{say("correct.stays", { what: inNumbers({ records: found.records, answers: found.answers }) })}</p>
              <Repeating found={found} />
            </div>
          )}
          <ErrorNotice error={correct.error} />
          <button type="submit" className="button primary self-start" disabled={correct.isPending || !words.trim()}>
            {say("correct.do")}
          </button>
        </form>
      )}
    </Dialog>
  );
}
