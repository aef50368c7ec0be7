// A question, which can be asked again in other words, and the versions that it had.

import { skipToken, useQuery } from "@tanstack/react-query";
import { ChevronLeft, ChevronRight } from "lucide-react";
import { type ReactNode, useEffect, useEffectEvent, useRef, useState } from "react";

import { keys } from "../api/keys";
import type { Message, Run } from "../api/types";
import { ErrorNotice, Failure, Skeleton } from "../parts/notice";
import { Time } from "../parts/time";
import { visible } from "../parts/visible";
import { say } from "../texts";
import { isSendable, MAX_BYTES } from "./composer";
import { AssistantMessage, Images, type ShowPanel, useRunState } from "./turns";

/** A question that takes the place of one before. */
export interface AskedAgain {
  text: string;
  attachmentIds: string[];
  replaces: string;
}

interface Props {
  message: Message;
  shown: string | null; // the run of the version that is shown; null: the newest
  onShown: (runId: string | null) => void;
  onAgain: ((question: AskedAgain) => void) | null; // null: something is being answered, or was done since
  isLast: boolean; // of the conversation
}

export function Question({ message, shown, onShown, onAgain, isLast }: Props) {
  const [isEdited, setEdited] = useState(false);
  const edit = useRef<HTMLButtonElement>(null);
  const newest = useKnownRun(message.run_id);
  const earlier = useRunState(shown);
  const versions = [...(newest?.replaced ?? []), message.run_id ?? ""];
  const close = () => {
    setEdited(false);
    requestAnimationFrame(() => edit.current?.focus());
  };
  if (isEdited && message.run_id) {
    const replaces = message.run_id;
    return (
      <EditForm
        text={message.content}
        isLast={isLast}
        onClose={close}
        onSend={
          onAgain &&
          ((text) => {
            setEdited(false);
            onAgain({ text, attachmentIds: message.attachment_ids, replaces });
          })
        }
      />
    );
  }
  return (
    <div className="flex flex-col items-end gap-1">
      <UserMessage
        text={earlier.data?.query ?? message.content}
        at={earlier.data?.timings.created_at ?? message.created_at}
        images={earlier.data?.attachment_ids ?? message.attachment_ids}
      />
      <div className="flex flex-wrap items-center justify-end gap-x-3 text-small text-quiet">
        {shown && <span>{say("version.earlier")}</span>}
        {versions.length > 1 && (
          <Versions ids={versions} shown={shown ?? message.run_id ?? ""} newest={message.run_id} onShown={onShown} />
        )}
        {onAgain && !shown && message.run_id && (
          <button ref={edit} type="button" className="quiet-button" onClick={() => setEdited(true)}>
            {say("chat.edit")}
          </button>
        )}
      </div>
    </div>
  );
}

/** The answer of a version that another one took the place of. */
export function EarlierAnswer({ runId, assistant, onShow }: { runId: string; assistant: string; onShow: ShowPanel }) {
  const { data: run, error, refetch } = useRunState(runId);
  if (error) return <ErrorNotice error={error} onRetry={() => void refetch()} />;
  if (!run) return <Skeleton />;
  if (run.final_answer === null) return <Failure code={run.error_code ?? ""} message={run.error_message ?? ""} />;
  return <AssistantMessage message={answerOf(run)} assistant={assistant} actions={[]} onShow={onShow} />;
}

export function UserMessage({
  text,
  at,
  images,
  note,
  who = say("chat.you"),
}: {
  text: string;
  at: string | null;
  images: string[];
  note?: string;
  who?: string; // has written it
}) {
  return (
    <article className="ml-auto w-fit max-w-[85%] rounded bg-raised px-4 py-3">
      <p className="text-small text-quiet">
        {who}
        {at && (
          <>
            , <Time at={at} />
          </>
        )}
      </p>
      <p className="whitespace-pre-wrap">{visible(text)}</p>
      <Images ids={images} label="chat.photoOf" />
      {note && (
        <p role="status" className="text-small text-warn">
          {note}
        </p>
      )}
    </article>
  );
}

function Versions({
  ids,
  shown,
  newest,
  onShown,
}: {
  ids: string[];
  shown: string;
  newest: string | null;
  onShown: (runId: string | null) => void;
}) {
  const at = ids.indexOf(shown);
  const step = (by: number, sign: ReactNode, name: string) => (
    <button
      type="button"
      className="quiet-button px-2 no-underline! pointer-coarse:min-h-11 pointer-coarse:min-w-11"
      aria-label={name}
      title={name}
      disabled={ids[at + by] === undefined}
      onClick={() => onShown(ids[at + by] === newest ? null : (ids[at + by] ?? null))}
    >
      {sign}
    </button>
  );
  return (
    <span
      className="tabular flex items-center"
      role="group"
      aria-label={say("version.of", { n: at + 1, all: ids.length })}
    >
      {step(-1, <ChevronLeft className="inline" />, say("version.before"))}
      <span role="status">{say("version.of", { n: at + 1, all: ids.length })}</span>
      {step(1, <ChevronRight className="inline" />, say("version.after"))}
    </span>
  );
}

function EditForm({
  text,
  isLast,
  onSend,
  onClose,
}: {
  text: string;
  isLast: boolean;
  onSend: ((text: string) => void) | null; // null: not yet
  onClose: () => void;
}) {
  const [edited, setEdited] = useState(text);
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => void form.current?.scrollIntoView?.({ block: "nearest" }), []);
  const [isWanted, setWanted] = useState(false);
  const submit = () => isSendable(edited) && setWanted(true);
  const isDue = isWanted && onSend !== null;
  const send = useEffectEvent(() => onSend?.(edited));
  useEffect(() => {
    if (isDue) send();
  }, [isDue]);
  return (
    <form
      ref={form}
      className="flex flex-col gap-2 rounded bg-raised p-4"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <textarea
        className="field-sizing-content max-h-[40dvh] w-full"
        rows={3}
        aria-label={say("chat.editWhat")}
        value={edited}
        maxLength={MAX_BYTES}
        autoFocus
        onChange={(event) => setEdited(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") {
            event.stopPropagation(); // which closes the panel beside it, too
            onClose();
          } else if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) {
            event.preventDefault();
            submit();
          }
        }}
      />
      <p className="text-small text-quiet">{say(isLast ? "chat.editMeans" : "chat.editMeansMore")}</p>
      <div className="flex justify-end gap-2">
        <button type="button" className="button small" onClick={onClose}>
          {say("app.cancel")}
        </button>
        <button type="submit" className="button small primary" disabled={isWanted || !isSendable(edited)}>
          {say("chat.send")}
        </button>
      </div>
    </form>
  );
}

/** What is known of a run without a request. */
function useKnownRun(runId: string | null): Run | undefined {
  return useQuery<Run>({ queryKey: keys.run(runId), queryFn: skipToken }).data;
}

function answerOf(run: Run): Message {
  return {
    id: run.request_id,
    run_id: run.request_id,
    role: "assistant",
    content: run.final_answer ?? "",
    agent: null,
    attachment_ids: run.attachments,
    action_id: null,
    created_at: run.timings.completed_at ?? "",
  };
}
