// A tool call that waits for a decision, and afterwards who decided and what came of it.

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useEffect, useMemo, useState } from "react";

import { ApiError } from "../api/error";
import { patch, post } from "../api/http";
import { refresh } from "../api/refresh";
import type { Action } from "../api/types";
import { ErrorNotice } from "../parts/notice";
import { visible } from "../parts/visible";
import { useUser } from "../session/session";
import { formatDate, formatDuration, say, sayOr } from "../texts";
import { inWords, labelOf, phrase, titleOf } from "./action_words";
import { fieldsOf, readFields } from "./argument_fields";
import { ArgumentForm } from "./argument_form";

/** The texts of the fields that were changed, and of which action. */
interface Edit {
  fingerprint: string;
  texts: Record<string, string>;
}

export function ActionCard({ action }: { action: Action }) {
  return action.status === "pending" ? <WaitingCard action={action} /> : <DecidedCard action={action} />;
}

function DecidedCard({ action }: { action: Action }) {
  const { userId } = useUser();
  return (
    <div className="card text-small">
      <details>
        <summary>
          <b>{titleOf(action)}</b>
          {action.object && ` · ${visible(action.object)}`}
          {": "}
          {action.decided_at && action.decided_by === "replaced"
            ? say("action.withdrawn", { when: formatDate(action.decided_at) })
            : action.decided_at
              ? say("action.decided", {
                  status: say(`action.${action.status}`),
                  by: nameOf(action.decided_by, userId),
                  when: formatDate(action.decided_at),
                })
              : say(`action.${action.status}`)}
        </summary>
        <Facts action={action} />
        {action.result && (
          <pre className="scrolls mt-2 max-h-48 whitespace-pre-wrap rounded bg-raised p-2">
            {visible(JSON.stringify(action.result, null, 2))}
          </pre>
        )}
      </details>
    </div>
  );
}

function WaitingCard({ action }: { action: Action }) {
  const { userId } = useUser();
  const queries = useQueryClient();
  const [isPutOff, setPutOff] = useState(false);
  const [edit, setEdit] = useState<Edit | null>(null);
  const edited = edit?.fingerprint === action.fingerprint ? edit.texts : null; // of what stands here now
  const [reviewed, setReviewed] = useState(""); // fingerprint of what was looked up after an edit
  const [wrong, setWrong] = useState<string[]>([]);
  const fields = useMemo(() => fieldsOf(action), [action]);
  const tick = useTick();
  const isLate = Date.parse(action.expires_at) <= Date.now();
  useEffect(() => {
    if (isLate) void refresh(queries, ["actions"]); // no event tells that nobody has decided in time
  }, [isLate, tick, queries]);
  const decide = useMutation({
    mutationFn: async ({ word, values }: { word: "approve" | "reject"; values?: Record<string, unknown> }) => {
      let { fingerprint } = action; // of what stands here; the server refuses to decide on anything else
      if (values) {
        const changed = await patch(`/v1/actions/${action.id}`, { user_id: userId, arguments: values });
        ({ fingerprint } = changed);
        if (isLookedUp(changed, values)) return setReviewed(fingerprint); // one decides on what one has seen
      }
      return post(`/v1/actions/${action.id}/${word}`, { user_id: userId, fingerprint });
    },
    onError: (error) => isChange(error) && setEdit(null),
    onSettled: () => refresh(queries, ["actions", "runs", "messages"]),
  });
  const setTexts = (texts: Record<string, string>) => setEdit({ fingerprint: action.fingerprint, texts });
  const approve = () => {
    const read = readFields(fields, edited ?? {}, action.arguments);
    setWrong(read.wrong);
    if (!read.wrong.length)
      decide.mutate({ word: "approve", values: edited && Object.keys(edited).length ? read.values : undefined });
  };
  const title = titleOf(action);
  return (
    <section className="card flex flex-col gap-3" aria-label={say("action.title", { tool: title })}>
      <h3 className="font-semibold">
        {say("action.title", { tool: title })}
        {title !== visible(action.tool) && (
          <span className="ml-2 font-mono text-small font-normal text-quiet">{visible(action.tool)}</span>
        )}
      </h3>
      {typeof action.title === "string" && <p className="text-small">{phrase(action.title)}</p>}
      {edited === null ? (
        <Facts action={action} />
      ) : (
        <ArgumentForm
          fields={fields}
          texts={edited}
          wrong={wrong}
          onChange={(name, text) => setTexts({ ...edited, [name]: text })}
        />
      )}
      <p className={action.effect === "dangerous" ? "font-semibold text-bad" : "text-quiet"}>
        {sayOr(`action.${action.effect}`, action.effect)}
      </p>
      {action.reason && <p>{phrase(action.reason)}</p>}
      {reviewed === action.fingerprint && edited === null && (
        <p role="status" className="font-semibold">
          {say("action.reviewed")}
        </p>
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
            onClick={() => decide.mutate({ word: "reject" })}
          >
            {say("action.reject")}
          </button>
          <button type="button" className="button" onClick={() => setPutOff(true)}>
            {say("action.later")}
          </button>
          {edited === null && action.parameters && fields.length > 0 && (
            <button type="button" className="quiet-button" onClick={() => setTexts({})}>
              {say("action.edit")}
            </button>
          )}
          {edited !== null && (
            <button type="button" className="quiet-button" onClick={() => setEdit(null)}>
              {say("action.editNot")}
            </button>
          )}
          <span className="tabular text-small text-quiet">
            {say("action.timeLeft", { time: formatDuration(Date.parse(action.expires_at) - Date.now()) })}
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

/** To what it is done, what it changes, and the arguments, in the order of the tool. */
function Facts({ action }: { action: Action }) {
  const values = Object.entries(action.arguments);
  if (!values.length && !action.object && !action.changes.length) return null;
  return (
    <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1 text-small">
      {action.object && <Fact name={say("action.object")}>{visible(action.object)}</Fact>}
      {action.changes.map((change, index) => (
        <Fact key={index} name={phrase(change.name)}>
          <del className="text-quiet">{inWords(change.old)}</del> → <b>{inWords(change.new)}</b>
        </Fact>
      ))}
      {values.map(([name, value]) => (
        <Fact key={name} name={labelOf(name)}>
          {inWords(value)}
        </Fact>
      ))}
    </dl>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="contents">
      <dt className="text-quiet">{name}</dt>
      <dd className="whitespace-pre-wrap">{children}</dd>
    </div>
  );
}

/** Who has decided: the person at this page, a typed yes or no, or a program by its name. */
function nameOf(by: string | null, userId: string): string {
  if (by === "http" || by === `jwt:${userId}`) return say("chat.you");
  return by === "words" ? say("action.byWords") : visible(by ?? "–");
}

/** Whether the tool has looked up what the changed arguments would do, so that there is more to see than was written. */
function isLookedUp(action: Action, values: Record<string, unknown>): boolean {
  const isOther = Object.entries(values).some(([name, value]) => inWords(action.arguments[name]) !== inWords(value));
  return isOther || action.object !== null || action.changes.length > 0;
}

/** Whether the server says that the action is not any more what was shown. */
function isChange(error: unknown): boolean {
  return error instanceof ApiError && error.status === 409 && error.code === "changed";
}

/** Render again every ten seconds, for the time that is left. */
function useTick(): number {
  const [tick, setTick] = useState(0);
  useEffect(() => {
    const timer = window.setInterval(() => setTick((before) => before + 1), 10_000);
    return () => window.clearInterval(timer);
  }, []);
  return tick;
}
