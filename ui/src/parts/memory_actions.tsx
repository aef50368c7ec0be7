// Forget a memory, or say what is right instead.

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { ApiError } from "../api/error";
import { post, remove } from "../api/http";
import { keys } from "../api/keys";
import { refresh } from "../api/refresh";
import type { ForgetResult } from "../api/types";
import { useUser } from "../session/session";
import { say } from "../texts";
import { Dialog } from "./dialog";
import { ErrorNotice, Skeleton } from "./notice";
import { Time } from "./time";
import { visible } from "./visible";

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
  const [chosen, setChosen] = useState<string[]>([]); // answers that may repeat it, and go with it
  const preview = useQuery({
    queryKey: keys.forgetting(id),
    queryFn: () => remove(`/v1/memories/${id}`, { user_id: userId, preview: true }),
    gcTime: 0,
  });
  const forget = useMutation({
    mutationFn: async () => {
      const receipts = [await remove(`/v1/memories/${id}`, { user_id: userId })];
      for (const one of chosen) {
        try {
          receipts.push(await remove(`/v1/memories/${one}`, { user_id: userId }));
        } catch (error) {
          if (!(error instanceof ApiError) || error.status !== 404) throw error; // it went with another one
        }
      }
      return {
        logs: sum(receipts.map((one) => one.logs)),
        records: sum(receipts.map((one) => one.records)),
        answers: sum(receipts.map((one) => one.answers)) + chosen.length,
      };
    },
  });
  const close = () => {
    onClose();
    if (!forget.data) return;
    onGone?.();
    void refresh(queries, ["memory", "messages", "runs"]);
  };
  return (
    <Dialog title={say("forget.title")} onClose={close}>
      <blockquote className="border-l-4 border-line pl-3">{text.slice(0, 500)}</blockquote>
      <ErrorNotice error={preview.error ?? forget.error} />
      {forget.data ? (
        <p role="status" className="mt-4">
          {say("forget.receipt", forget.data)}
        </p>
      ) : !preview.data ? (
        !preview.error && <Skeleton lines={3} className="mt-4 h-4" />
      ) : (
        <>
          <Consequences found={preview.data} chosen={chosen} onChoose={setChosen} />
          <button type="button" className="button danger" disabled={forget.isPending} onClick={() => forget.mutate()}>
            {say("forget.do")}
          </button>
        </>
      )}
    </Dialog>
  );
}

interface Choice {
  found: ForgetResult;
  chosen: string[];
  onChoose: (ids: string[]) => void;
}

/** What goes with a memory, and the answers of which a person decides. */
function Consequences({ found, chosen, onChoose }: Choice) {
  const doubtful = found.doubtful.flatMap(({ id, created_at, answer }) => (id ? [{ id, created_at, answer }] : []));
  const toggle = (id: string) => onChoose(chosen.includes(id) ? chosen.filter((one) => one !== id) : [...chosen, id]);
  return (
    <div className="my-4 flex flex-col gap-3 text-small">
      <p>{say("forget.goes", { logs: found.logs, records: found.records, answers: found.answers })}</p>
      {found.repeating.length > 0 && (
        <ul className="flex list-disc flex-col gap-1 pl-6">
          {found.repeating.map(({ id, created_at, answer }) => (
            <li key={id}>
              <Time at={created_at} />: {visible(answer)}
            </li>
          ))}
        </ul>
      )}
      {doubtful.length > 0 && (
        <fieldset className="flex flex-col gap-1">
          <legend>{say("forget.doubtful", { n: found.doubtful_runs })}</legend>
          {doubtful.map(({ id, created_at, answer }) => (
            <label key={id} className="flex items-start gap-2">
              <input type="checkbox" checked={chosen.includes(id)} onChange={() => toggle(id)} />
              <span>
                <Time at={created_at} />: {visible(answer ?? "")}
              </span>
            </label>
          ))}
        </fieldset>
      )}
      <p className="text-quiet">{say("forget.what")}</p>
    </div>
  );
}

function sum(numbers: number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
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
