// A finished request once more: as a new one, or on trial from a stage on, beside what was answered then.

import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link, useLocation } from "wouter";

import { get, post } from "../api/http";
import { keys } from "../api/keys";
import type { Body } from "../api/route";
import { useRun } from "../api/run";
import type { Run } from "../api/types";
import { Stages } from "../chat/stages";
import { ConfirmButton } from "../parts/confirm";
import { Markdown } from "../parts/markdown";
import { ErrorNotice, Failure } from "../parts/notice";
import { visible } from "../parts/visible";
import { say } from "../texts";
import { placeOfComparison } from "./compare";

const STAGES = ["final_responder", "assembler", "analyzer"] as const;
const MAX_PROMPT = 100_000;

/** Sends the request once more, as its user would. */
export function SendAgain({ run }: { run: Run }) {
  const [, navigate] = useLocation();
  return (
    <ConfirmButton
      label={say("again.send")}
      title={say("again.sendAsk")}
      what={say("again.sendWhat")}
      onConfirm={() =>
        post(`/v1/runs/${run.request_id}/again`).then(({ request_id }) => navigate(`/admin/runs/${request_id}`))
      }
    />
  );
}

/** Answers it on trial: with another model or prompt of a stage, and never remembered. */
export function Replay({ run }: { run: Run }) {
  const [stage, setStage] = useState<(typeof STAGES)[number]>("final_responder");
  const [model, setModel] = useState("");
  const [prompt, setPrompt] = useState("");
  const [isOpen, setOpen] = useState(false);
  const inventory = useQuery({
    queryKey: keys.inventory(),
    queryFn: ({ signal }) => get("/v1/admin/inventory", {}, signal),
    enabled: isOpen,
  });
  const models = [...new Set(inventory.data?.models.map((one) => one.model))];
  const attempt = useMutation({
    mutationFn: () => {
      const body: Body<"post", `/v1/runs/${string}/replay`> = {
        stage,
        model: model.trim() || null,
        prompt: prompt.trim() || null,
      };
      return post(`/v1/runs/${run.request_id}/replay`, body);
    },
  });
  const live = useRun(attempt.data?.request_id ?? null);
  return (
    <details className="card" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{say("again.replay")}</summary>
      <form
        className="mt-3 flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          attempt.mutate();
        }}
      >
        <p className="text-small text-quiet">{say("again.replayWhat")}</p>
        <div className="flex flex-wrap items-end gap-3">
          <label className="field">
            <span>{say("again.from")}</span>
            <select value={stage} onChange={(event) => setStage(event.target.value as (typeof STAGES)[number])}>
              {STAGES.map((one) => (
                <option key={one} value={one}>
                  {say(`stage.${one}`)}
                </option>
              ))}
            </select>
          </label>
          <label className="field">
            <span>{say("again.model")}</span>
            <input
              list="models"
              value={model}
              maxLength={200}
              placeholder={say("again.same")}
              onChange={(event) => setModel(event.target.value)}
            />
            <datalist id="models">
              {models.map((one) => (
                <option key={one} value={one} />
              ))}
            </datalist>
          </label>
          <button type="submit" className="button" disabled={attempt.isPending}>
            {say("admin.tryDo")}
          </button>
        </div>
        {stage !== "analyzer" && (
          <label className="field">
            <span>{say("again.prompt")}</span>
            <textarea
              rows={3}
              className="w-full font-mono text-small"
              maxLength={MAX_PROMPT}
              placeholder={say("again.same")}
              value={prompt}
              onChange={(event) => setPrompt(event.target.value)}
            />
          </label>
        )}
        <ErrorNotice error={attempt.error} />
      </form>
      {attempt.data && (
        <div className="mt-3 grid gap-4 md:grid-cols-2">
          <div className="min-w-0">
            <h3 className="text-small text-quiet">{say("admin.before")}</h3>
            {run.final_answer === null ? (
              <Failure code={run.error_code} message={run.error_message} />
            ) : (
              <Markdown text={run.final_answer} />
            )}
          </div>
          <div className="min-w-0">
            <h3 className="text-small text-quiet">
              {say("again.now")}{" "}
              <Link href={`/admin/runs/${attempt.data.request_id}`}>{visible(say("trace.title"))}</Link>{" "}
              {live.isOver && (
                <Link href={placeOfComparison(run.request_id, attempt.data.request_id)}>{say("compare.title")}</Link>
              )}
            </h3>
            {live.error ? (
              <Failure code={live.error.code} message={live.error.message} />
            ) : (
              <Markdown text={live.answer ?? live.text} />
            )}
            {!live.isOver && <Stages status={live.status} />}
          </div>
        </div>
      )}
    </details>
  );
}
