// What stands in a conversation: messages that are stored, and runs that are still being answered.

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useEffectEvent, useState } from "react";
import { get, post } from "../api/http";
import { keys } from "../api/keys";
import { refresh } from "../api/refresh";
import { type ToolCall, useRun } from "../api/run";
import { useTrace } from "../api/trace";
import type { Action, Button, Message, Run, TaskStep } from "../api/types";
import { useTitleOf } from "../parts/assistants";
import { CopyButton } from "../parts/copy_button";
import { FORGOTTEN } from "../parts/forgotten";
import { Image } from "../parts/image";
import { Markdown } from "../parts/markdown";
import { formatMs } from "../parts/measured";
import { ErrorNotice, Failure, failureText } from "../parts/notice";
import { Time } from "../parts/time";
import { visible } from "../parts/visible";
import { useUser } from "../session/session";
import { say, sayOr } from "../texts";
import { ActionCard } from "./action_card";
import { titleOf } from "./action_words";
import { DecideAll } from "./decide_all";
import { CitedWords } from "./evidence";
import { Notes } from "./notes";
import { notifyOfAnswer } from "./notification";
import { Stages } from "./stages";

export type Panel = "evidence" | "trace" | "logs";
export type ShowPanel = (runId: string, panel: Panel, mark?: number) => void;

/** The state of a run; with `isPolled` until it is archived, where no event of the user says that. */
export function useRunState(runId: string | null, isPolled = false) {
  return useQuery({
    queryKey: keys.run(runId),
    queryFn: ({ signal }) => get(`/v1/runs/${runId}`, {}, signal),
    enabled: runId !== null,
    staleTime: 60_000,
    refetchInterval: ({ state }) =>
      isPolled && state.data?.status === "COMPLETED" && ["PENDING", "ARCHIVING"].includes(state.data.archive_status)
        ? 1000
        : false,
  });
}

export function AssistantMessage({
  message,
  assistant,
  actions,
  onShow,
  onAgain,
}: {
  message: Message;
  assistant: string;
  actions: Action[];
  onShow: ShowPanel;
  onAgain?: ((run: Run) => void) | undefined; // asks for another answer
}) {
  const run = useRunState(message.isRunGone ? null : message.run_id);
  const titleOf = useTitleOf();
  const text = withoutImages(message.content, message.attachment_ids);
  return (
    <article className="group" id={message.run_id ? `run-${message.run_id}` : undefined}>
      {run.data?.query === FORGOTTEN && (
        <p className="mb-3 text-right text-small text-quiet">{say("chat.questionForgotten")}</p>
      )}
      <Footer
        run={run.data}
        name={titleOf(assistant, message.agent)}
        at={message.created_at}
        text={text}
        onShow={onShow}
        onAgain={onAgain}
      />
      <Answer text={text} runId={message.run_id} onShow={onShow} />
      <Images ids={message.attachment_ids} label="chat.image" />
      {run.data && <Notes run={run.data} />}
      <Actions actions={actions} />
      {run.data && <Buttons runId={run.data.request_id} buttons={run.data.buttons} />}
    </article>
  );
}

/** A run without a stored answer: it is being answered, or it has failed. */
export function LiveTurn({
  runId,
  isTask,
  assistant,
  actions,
  onShow,
}: {
  runId: string;
  isTask: boolean;
  assistant: string;
  actions: Action[];
  onShow: ShowPanel;
}) {
  const { userId } = useUser();
  const [tries, setTries] = useState<{ known?: number; followed: number }>({ followed: 0 });
  const live = useRun(runId, tries.followed);
  const titleOf = useTitleOf();
  const queries = useQueryClient();
  const run = useRunState(live.isOver && (isTask || live.error) ? runId : null); // an answer comes with the messages
  const retries = run.data?.retries;
  if (retries !== undefined && retries > (tries.known ?? -1))
    // what was tried again elsewhere is followed, too
    setTries(({ known, followed }) => ({ known: retries, followed: known === undefined ? followed : followed + 1 }));
  const retry = useMutation({
    mutationFn: () => post(`/v1/runs/${runId}/retry`),
    onSuccess: () => {
      setTries(({ known, followed }) => ({
        ...(known === undefined ? {} : { known: known + 1 }),
        followed: followed + 1,
      }));
      return refresh(queries, ["runs", "run", "messages", "trace"]);
    },
  });
  useEffect(() => {
    if (live.actionIds.length) void refresh(queries, ["actions"]);
  }, [live.actionIds.length, queries]);
  const end = useEffectEvent(() => {
    if (live.answer) notifyOfAnswer(userId, live.answer);
    void queries.invalidateQueries({ queryKey: keys.run(runId) });
  });
  useEffect(() => {
    if (live.isOver) end();
  }, [live.isOver]);
  const text = withoutImages(live.answer ?? live.text, live.images);
  return (
    <article className="group" id={`run-${runId}`} aria-busy={!live.isOver}>
      {live.isOver && run.data ? (
        <Footer
          run={run.data}
          name={titleOf(assistant)}
          at={run.data.timings.completed_at ?? run.data.timings.failed_at ?? run.data.timings.created_at ?? ""}
          text={text}
          onShow={onShow}
        />
      ) : (
        <p className="text-small text-quiet">{titleOf(assistant)}</p>
      )}
      {text && <Answer text={text} runId={runId} onShow={onShow} />}
      <Images ids={live.images} label="chat.image" />
      <Tools tools={live.tools} />
      {live.progress && (
        <p className="text-small text-quiet">
          {live.progress.ended}/{live.progress.total} {visible(live.progress.title)}
        </p>
      )}
      {run.data && <Steps steps={run.data.steps} />}
      {live.wantsPhoto && !text && <p>{say("chat.sendPhoto")}</p>}
      {!live.isOver && <Stages status={live.status} />}
      {live.error && (
        <div className="flex flex-col items-start gap-2">
          {live.error.code === "cancelled" ? (
            <p className="text-quiet">{say("chat.cancelled")}</p>
          ) : (
            <Failure code={live.error.code} message={live.error.message} />
          )}
          {run.data && live.error.code !== "cancelled" && <FailedStage run={run.data} error={live.error} />}
          <button type="button" className="button small" disabled={retry.isPending} onClick={() => retry.mutate()}>
            {say("chat.retry")}
          </button>
          <ErrorNotice error={retry.error} />
        </div>
      )}
      <Actions actions={actions} />
      {live.isOver && <Buttons runId={runId} buttons={live.buttons} />}
    </article>
  );
}

/** For administrators: which stage has failed, and what the provider of its model said. */
function FailedStage({ run, error }: { run: Run; error: { code: string; message: string } }) {
  const { isAdmin } = useUser();
  const trace = useTrace(run, isAdmin);
  const failed = trace.data?.stages.find((stage) => stage.state === "failed");
  if (!failed?.why) return null;
  const stage = sayOr(`stage.${failed.stage}`, failed.stage);
  const isSaid = failed.why === `${error.code}: ${error.message}`; // above
  return (
    <p className="text-small text-bad">
      {isSaid ? say("chat.failedAt", { stage }) : `${stage}: ${visible(failed.why)}`}
    </p>
  );
}

function Footer({
  run,
  name,
  at,
  text,
  onShow,
  onAgain,
}: {
  run: Run | undefined;
  name: string;
  at: string;
  text: string;
  onShow: ShowPanel;
  onAgain?: ((run: Run) => void) | undefined;
}) {
  const { isAdmin } = useUser();
  const took = run ? msOf(run) : null;
  const memories = new Set(run?.sources.map((one) => one.number ?? one.id)).size; // as Evidence counts them: by line
  const isSaving = run?.status === "COMPLETED" && ["PENDING", "ARCHIVING"].includes(run.archive_status);
  return (
    <div className="flex flex-wrap items-baseline gap-x-3 text-small text-quiet">
      <span>
        {name}, <Time at={at} />
        {run?.status === "COMPLETED" && (
          <> · {memories ? say("chat.memories", { n: memories }) : say("chat.noMemories")}</>
        )}
        {took !== null && (
          <>
            {" · "}
            <span className="tabular">{formatMs(took)}</span>
          </>
        )}
        {isSaving && <> · {say("stage.saving")}</>}
      </span>
      {run && (
        <span className="flex flex-wrap gap-x-3">
          <button type="button" className="quiet-button" onClick={() => onShow(run.request_id, "evidence")}>
            {say("chat.evidence")}
          </button>
          <button type="button" className="quiet-button" onClick={() => onShow(run.request_id, "trace")}>
            {say("trace.title")}
          </button>
          {isAdmin && (
            <button type="button" className="quiet-button" onClick={() => onShow(run.request_id, "logs")}>
              {say("chat.logs")}
            </button>
          )}
          {text && <CopyButton text={text} />}
          {onAgain && (
            <button type="button" className="quiet-button" onClick={() => onAgain(run)}>
              {say("chat.again")}
            </button>
          )}
        </span>
      )}
    </div>
  );
}

function Answer({ text, runId, onShow }: { text: string; runId: string | null; onShow: ShowPanel }) {
  const showMark = useCallback((number: number) => runId && onShow(runId, "evidence", number), [runId, onShow]);
  const wordsOf = useCallback(
    (number: number) => (runId ? <CitedWords runId={runId} number={number} /> : null),
    [runId],
  );
  return runId ? <Markdown text={text} onMark={showMark} wordsOf={wordsOf} /> : <Markdown text={text} />;
}

function Tools({ tools }: { tools: ToolCall[] }) {
  return (
    <ul className="text-small">
      {tools.map((call) => (
        <li key={call.id}>
          {call.isRunning ? (
            <span className="text-quiet" role="status">
              {say("tool.running", { tool: titleOf(call) })}…
            </span>
          ) : (
            <details>
              <summary>{say("tool.done", { tool: titleOf(call) })}</summary>
              <pre className="scrolls max-h-48 whitespace-pre-wrap rounded bg-raised p-2">
                {visible(JSON.stringify(call.result, null, 2))}
              </pre>
            </details>
          )}
        </li>
      ))}
    </ul>
  );
}

function Steps({ steps }: { steps: TaskStep[] }) {
  if (!steps.length) return null;
  return (
    <ol className="text-small">
      {steps.map((step) => (
        <li key={step.number}>
          {step.number}. {visible(step.title)}: {say(`step.${step.status}`)}
          {step.error_code && `. ${failureText(step.error_code)}`}
        </li>
      ))}
    </ol>
  );
}

function Actions({ actions }: { actions: Action[] }) {
  if (!actions.length) return null;
  return (
    <div className="mt-3 flex flex-col gap-3">
      {actions.map((action) => (
        <ActionCard key={action.id} action={action} />
      ))}
      <DecideAll actions={actions} />
    </div>
  );
}

function Buttons({ runId, buttons }: { runId: string; buttons: Button[] }) {
  const { userId } = useUser();
  const queries = useQueryClient();
  const press = useMutation({
    mutationFn: (button: string) => post(`/v1/runs/${runId}/press`, { user_id: userId, button }),
    onSettled: () => refresh(queries, ["runs", "run"]),
  });
  if (!buttons.length) return null;
  return (
    <div className="mt-3 flex flex-wrap gap-2">
      {buttons.map((button) => (
        <button
          key={button.id}
          type="button"
          className="button"
          disabled={press.isPending}
          onClick={() => press.mutate(button.id)}
        >
          {visible(button.label)}
        </button>
      ))}
      <ErrorNotice error={press.error} />
    </div>
  );
}

export function Images({ ids, label }: { ids: string[]; label: "chat.photoOf" | "chat.image" }) {
  if (!ids.length) return null;
  return (
    <div className="mt-2 flex flex-wrap gap-2">
      {ids.map((id, index) => (
        <Image key={id} id={id} alt={say(label, { n: index + 1 })} />
      ))}
    </div>
  );
}

function msOf(run: Run): number | null {
  const { created_at: from, completed_at: to } = run.timings;
  return from && to ? Date.parse(to) - Date.parse(from) : null;
}

/** An answer names a generated image by its id; here the image itself is shown. */
function withoutImages(text: string, images: string[]): string {
  return images.reduce((rest, id) => rest.replaceAll(`: ${id}`, "").replaceAll(id, ""), text);
}
