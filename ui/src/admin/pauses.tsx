// What an operator has stopped for a while: assistants, models, keys and users.

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { get, post } from "../api/http";
import { keys } from "../api/keys";
import { refresh } from "../api/refresh";
import type { Body } from "../api/route";
import { ConfirmButton } from "../parts/confirm";
import { ErrorNotice } from "../parts/notice";
import { visible } from "../parts/visible";
import { formatDate, say } from "../texts";

const MAX_REASON = 500;

type Subject = Body<"post", "/v1/admin/pauses">["subject"];

function usePauses() {
  return useQuery({ queryKey: keys.pauses(), queryFn: ({ signal }) => get("/v1/admin/pauses", {}, signal) });
}

/** Pauses something, or says since when and why it is paused, and has it go on. `title` is what people call it. */
export function Pause({ subject, name, title = name }: { subject: Subject; name: string; title?: string }) {
  const queries = useQueryClient();
  const pauses = usePauses();
  const [reason, setReason] = useState("");
  const paused = pauses.data?.results.find((one) => one.subject === subject && one.name === name);
  const readAgain = () => refresh(queries, ["pauses", "runs", "metrics"]);
  if (!paused)
    return (
      <ConfirmButton
        label={say("pause.do")}
        title={say("pause.ask", { name: visible(title) })}
        what={
          <div className="flex flex-col gap-3">
            <p>{say(subject === "model" ? "pause.whatModel" : "pause.what")}</p>
            <label className="field">
              <span>{say("pause.reason")}</span>
              <input maxLength={MAX_REASON} value={reason} onChange={(event) => setReason(event.target.value)} />
            </label>
          </div>
        }
        disabled={!pauses.data}
        onConfirm={() => post("/v1/admin/pauses", { subject, name, reason: reason.trim() || null }).then(readAgain)}
      />
    );
  return (
    <div className="flex flex-wrap items-center gap-2">
      <span className="text-small">
        <b className="text-warn">{say("pause.since", { when: formatDate(paused.since) })}</b>
        {paused.reason && <> {visible(paused.reason)}</>}
      </span>
      <ConfirmButton
        label={say("pause.end")}
        title={say("pause.endAsk", { name: visible(title) })}
        what={say("pause.endWhat")}
        onConfirm={() => post("/v1/admin/pauses/end", { subject, name }).then(readAgain)}
      />
    </div>
  );
}

/** All that is paused; nothing where nothing is. */
export function Pauses() {
  const pauses = usePauses();
  if (pauses.error) return <ErrorNotice error={pauses.error} />;
  if (!pauses.data?.results.length) return null;
  return (
    <section>
      <h2 className="mb-2 text-lead font-semibold">{say("pause.title")}</h2>
      <ul className="flex flex-col gap-2">
        {pauses.data.results.map(({ subject, name }) => (
          <li key={`${subject} ${name}`} className="flex flex-wrap items-center gap-3">
            <span>
              {say(`pause.${subject}`)} <span className="font-mono text-small">{visible(name)}</span>
            </span>
            <Pause subject={subject} name={name} />
          </li>
        ))}
      </ul>
    </section>
  );
}
