// What is to be forgotten: what goes with it is said before, and what went is said after.

import { useMutation, useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";

import { ApiError } from "../api/error";
import { remove } from "../api/http";
import { keys } from "../api/keys";
import type { ForgetResult } from "../api/types";
import { useUser } from "../session/session";
import { formatList, say } from "../texts";
import { Dialog } from "./dialog";
import { ErrorNotice, Skeleton } from "./notice";
import { Time } from "./time";
import { visible } from "./visible";

type Found = Omit<ForgetResult, "id">;

const BEGINNING_CHARS = 200; // of an answer, which the server gives
const MAX_WAITS = 60; // seconds until what was said last is in memory

type Kind = "messages" | "images" | "schedules" | "logs" | "records" | "facts" | "answers" | "elsewhere";

/** How many of what, in one sentence. What there is none of is left out. */
export function inNumbers(counts: Partial<Record<Kind, number>>): string {
  const found = Object.entries(counts).filter(([, n]) => n > 0);
  return found.length ? formatList(found.map(([kind, n]) => say(`goes.${kind as Kind}`, { n }))) : say("goes.none");
}

interface Props<Receipt extends Found> {
  id: string;
  title: string;
  label: string; // of the button that does it
  quote: ReactNode;
  read: (isPreview: boolean) => Promise<Receipt>; // delete it, or only say what would go
  goes: (found: Receipt) => string;
  went: (gone: Receipt) => string;
  onClose: () => void;
  onGone: () => void;
}

export function Forgetting<Receipt extends Found>({
  id,
  title,
  label,
  quote,
  read,
  goes,
  went,
  onClose,
  onGone,
}: Props<Receipt>) {
  const { userId } = useUser();
  const [chosen, setChosen] = useState<string[]>([]); // answers that may repeat it, and go with it
  const preview = useQuery({
    queryKey: keys.forgetting(id),
    queryFn: () => read(true),
    gcTime: 0,
    retry: (count, error) => isInUse(error) && count < MAX_WAITS,
    retryDelay: 1000,
  });
  const forget = useMutation({
    mutationFn: async () => {
      const gone = await read(false);
      const more: Found[] = [];
      for (const one of chosen) {
        try {
          more.push(await remove(`/v1/memories/${one}`, { user_id: userId }));
        } catch (error) {
          if (!(error instanceof ApiError) || error.status !== 404) throw error; // it went with another one
        }
      }
      const sum = (name: "logs" | "records" | "facts" | "answers") =>
        more.reduce((total, one) => total + one[name], gone[name]);
      return {
        ...gone,
        logs: sum("logs"),
        records: sum("records"),
        facts: sum("facts"),
        answers: sum("answers") + chosen.length,
      };
    },
  });
  const close = () => {
    onClose();
    if (forget.data) onGone();
  };
  return (
    <Dialog title={title} onClose={close}>
      <blockquote className="border-l-4 border-line pl-3">{quote}</blockquote>
      <ErrorNotice error={preview.error ?? forget.error} />
      {forget.data ? (
        <p role="status" className="mt-4">
          {went(forget.data)}
        </p>
      ) : !preview.data ? (
        !preview.error && (
          <>
            <Skeleton lines={3} className="mt-4 h-4" />
            {isInUse(preview.failureReason) && <p role="status">{say("forget.wait")}</p>}
          </>
        )
      ) : (
        <>
          <Consequences text={goes(preview.data)} found={preview.data} chosen={chosen} onChoose={setChosen} />
          <button type="button" className="button danger" disabled={forget.isPending} onClick={() => forget.mutate()}>
            {label}
          </button>
        </>
      )}
    </Dialog>
  );
}

function isInUse(error: unknown): boolean {
  return error instanceof ApiError && error.code === "in_use";
}

interface Choice {
  text: string;
  found: Found;
  chosen: string[];
  onChoose: (ids: string[]) => void;
}

/** What goes with a memory, and the answers of which a person decides. */
function Consequences({ text, found, chosen, onChoose }: Choice) {
  const doubtful = found.doubtful.flatMap(({ id, created_at, answer }) => (id ? [{ id, created_at, answer }] : []));
  const toggle = (id: string) => onChoose(chosen.includes(id) ? chosen.filter((one) => one !== id) : [...chosen, id]);
  return (
    <div className="my-4 flex flex-col gap-3 text-small">
      <p>{text}</p>
      <Repeating found={found} />
      {doubtful.length > 0 && (
        <fieldset className="flex flex-col gap-1">
          <legend>{say("forget.doubtful", { n: found.doubtful_runs })}</legend>
          {doubtful.map(({ id, created_at, answer }) => (
            <label key={id} className="flex items-start gap-2">
              <input type="checkbox" checked={chosen.includes(id)} onChange={() => toggle(id)} />
              <span>
                <Time at={created_at} />: {beginning(answer ?? "")}
              </span>
            </label>
          ))}
        </fieldset>
      )}
      <p className="text-quiet">{say("forget.what")}</p>
    </div>
  );
}

/** What is shown of an answer; a long one was cut by the server. */
function beginning(answer: string): string {
  return visible(answer) + (Array.from(answer).length >= BEGINNING_CHARS ? "…" : "");
}

/** The answers that repeat what is forgotten. */
export function Repeating({ found }: { found: Found }) {
  if (!found.repeating.length) return null;
  return (
    <ul className="flex list-disc flex-col gap-1 pl-6">
      {found.repeating.map(({ id, created_at, answer }) => (
        <li key={id}>
          <Time at={created_at} />: {beginning(answer)}
        </li>
      ))}
    </ul>
  );
}
