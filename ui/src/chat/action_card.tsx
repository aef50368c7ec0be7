// A tool call that waits for a decision, and afterwards who decided and what came of it.

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";

import { ApiError } from "../api/error";
import { patch, post } from "../api/http";
import { refresh } from "../api/refresh";
import type { Action } from "../api/types";
import { ErrorNotice } from "../parts/notice";
import { visible } from "../parts/visible";
import { useUser } from "../session/session";
import { formatDate, formatDistance, say, sayOr } from "../texts";

export function ActionCard({ action }: { action: Action }) {
  const { userId } = useUser();
  const queries = useQueryClient();
  const [isPutOff, setPutOff] = useState(false);
  const [edited, setEdited] = useState<string | null>(null);
  const [isJson, setJson] = useState(true);
  useTick(action.status === "pending");
  const decide = useMutation({
    mutationFn: async (decision: "approve" | "reject") => {
      let { fingerprint } = action; // of what stands here; the server refuses to decide on anything else
      if (decision === "approve" && edited !== null) {
        ({ fingerprint } = await patch(`/v1/actions/${action.id}`, {
          user_id: userId,
          arguments: JSON.parse(edited),
        }));
      }
      return post(`/v1/actions/${action.id}/${decision}`, { user_id: userId, fingerprint });
    },
    onError: (error) => isChange(error) && setEdited(null),
    onSettled: () => refresh(queries, ["actions", "runs", "messages"]),
  });
  const approve = () => {
    const valid = edited === null || isObject(edited);
    setJson(valid);
    if (valid) decide.mutate("approve");
  };

  if (action.status !== "pending") {
    const by = action.decided_by ?? "–";
    return (
      <div className="card text-small">
        <details>
          <summary>
            <b>{visible(action.tool)}</b>
            {": "}
            {action.decided_at
              ? say("action.decided", {
                  status: say(`action.${action.status}`),
                  by: visible(by),
                  when: formatDate(action.decided_at),
                })
              : say(`action.${action.status}`)}
          </summary>
          <Arguments action={action} />
          {action.result && (
            <pre className="scrolls mt-2 max-h-48 whitespace-pre-wrap rounded bg-raised p-2">
              {visible(JSON.stringify(action.result, null, 2))}
            </pre>
          )}
        </details>
      </div>
    );
  }
  return (
    <section className="card flex flex-col gap-3" aria-label={say("action.title", { tool: action.tool })}>
      <h3 className="font-semibold">{say("action.title", { tool: visible(action.tool) })}</h3>
      <p className={action.effect === "dangerous" ? "font-semibold text-bad" : "text-quiet"}>
        {sayOr(`action.${action.effect}`, action.effect)}
      </p>
      {edited === null ? (
        <Arguments action={action} />
      ) : (
        <label className="field">
          <span>{say("action.edit")}</span>
          <textarea
            className="font-mono text-small"
            rows={Math.min(12, edited.split("\n").length + 1)}
            value={edited}
            onChange={(event) => setEdited(event.target.value)}
          />
          {!isJson && (
            <span role="alert" className="text-bad!">
              {say("action.notJson")}
            </span>
          )}
        </label>
      )}
      {isChange(decide.error) ? (
        <p role="alert" className="font-semibold text-warn">
          {say("action.changed")}
        </p>
      ) : (
        <ErrorNotice error={decide.error} />
      )}
      {!isPutOff ? (
        <div className="flex flex-wrap items-center gap-2">
          <button type="button" className="button primary" disabled={decide.isPending} onClick={approve}>
            {say("action.approve")}
          </button>
          <button
            type="button"
            className="button danger"
            disabled={decide.isPending}
            onClick={() => decide.mutate("reject")}
          >
            {say("action.reject")}
          </button>
          <button type="button" className="button" onClick={() => setPutOff(true)}>
            {say("action.later")}
          </button>
          {edited === null && (
            <button
              type="button"
              className="quiet-button"
              onClick={() => setEdited(JSON.stringify(action.arguments, null, 2))}
            >
              {say("action.edit")}
            </button>
          )}
          <span className="tabular text-small text-quiet">
            {say("action.timeLeft", { time: formatDistance(action.expires_at) })}
          </span>
        </div>
      ) : (
        <button type="button" className="quiet-button self-start" onClick={() => setPutOff(false)}>
          {say("action.pending")}
        </button>
      )}
    </section>
  );
}

function Arguments({ action }: { action: Action }) {
  const entries = Object.entries(action.arguments);
  if (!entries.length) return null;
  return (
    <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1 text-small">
      {entries.map(([name, value]) => (
        <div key={name} className="contents">
          <dt className="text-quiet">{visible(name)}</dt>
          <dd className="whitespace-pre-wrap">{visible(typeof value === "string" ? value : JSON.stringify(value))}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Whether the server says that the action is not any more what was shown. */
function isChange(error: unknown): boolean {
  return error instanceof ApiError && error.status === 409 && error.code === "changed";
}

function isObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

/** Render again every ten seconds, for the time that is left. */
function useTick(isOn: boolean) {
  const [, setTick] = useState(0);
  useEffect(() => {
    if (!isOn) return;
    const timer = window.setInterval(() => setTick((tick) => tick + 1), 10_000);
    return () => window.clearInterval(timer);
  }, [isOn]);
}
