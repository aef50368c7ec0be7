// One prompt: its text, what any earlier version said, and what it would have answered.

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense, useState } from "react";
import { useParams } from "wouter";

import { ApiError } from "../api/error";
import { get, post, put } from "../api/http";
import { keys } from "../api/keys";
import { refresh } from "../api/refresh";
import { useRun } from "../api/run";
import type { Prompt, PromptVersion } from "../api/types";
import { Stages } from "../chat/stages";
import { useTitleOf } from "../parts/assistants";
import { wordsOf } from "../parts/forgotten";
import { Markdown } from "../parts/markdown";
import { ErrorNotice, Failure, Skeleton } from "../parts/notice";
import { Time } from "../parts/time";
import { useUnsaved } from "../parts/unsaved";
import { useMore } from "../parts/use_more";
import { visible } from "../parts/visible";
import { formatDate, say } from "../texts";
import { Difference } from "./difference";
import { wholeId } from "./filters";
import { Sheet } from "./sheet";
import { TrialSets } from "./trial_set";
import { unknownOf } from "./variables";

const Editor = lazy(() => import("./editor"));
const MAX_CHARS = 100_000;
const OFFERED = 20; // requests to try a text on

const pathOf = (role: string) => `/v1/admin/prompts/${encodeURIComponent(role)}` as const;

export function PromptPage() {
  const role = decodeURIComponent(useParams<{ role: string }>().role);
  const path = pathOf(role);
  const prompt = useQuery({ queryKey: keys.prompt(role), queryFn: ({ signal }) => get(path, {}, signal) });
  const history = useQuery({
    queryKey: keys.promptHistory(role),
    queryFn: ({ signal }) => get(`${path}/history`, {}, signal),
  });
  return (
    <Sheet title={role}>
      <ErrorNotice error={prompt.error} />
      {prompt.isPending && <Skeleton lines={6} />}
      {prompt.data && <PromptEditor key={role} newest={prompt.data} versions={history.data?.results ?? []} />}
    </Sheet>
  );
}

/** What somebody else saves meanwhile takes the place of what is shown, not of what is being written. */
function PromptEditor({ newest, versions }: { newest: Prompt; versions: PromptVersion[] }) {
  const queries = useQueryClient();
  const [prompt, setPrompt] = useState(newest);
  const [text, setText] = useState(prompt.text);
  const [isActive, setActive] = useState(prompt.is_active);
  const [compared, setCompared] = useState<number | null>(null);
  const others = versions.filter((version) => version.version !== prompt.version);
  const original =
    compared === null
      ? null
      : compared === prompt.version
        ? prompt.text
        : (versions.find((one) => one.version === compared)?.text ?? "");
  const isOther = (one: Prompt) => text !== one.text || isActive !== one.is_active;
  const isChanged = isOther(prompt);
  if (newest.version !== prompt.version && !(isChanged && isOther(newest))) {
    setPrompt(newest);
    setText(newest.text);
    setActive(newest.is_active);
    setCompared(null);
  }
  useUnsaved(isChanged);
  const save = useMutation({
    mutationFn: () => put(pathOf(prompt.role), { text, is_active: isActive, version: prompt.version }),
    onSuccess: () => refresh(queries, ["prompts"]),
  });
  const refused = save.error instanceof ApiError && save.error.status === 409 ? save.error : null;
  const isConflict = refused !== null || newest.version !== prompt.version;
  return (
    <>
      <div className="flex flex-wrap items-end gap-3">
        <label className="field">
          <span>{say("admin.compare")}</span>
          <select
            value={compared ?? ""}
            onChange={(event) => setCompared(event.target.value ? Number(event.target.value) : null)}
          >
            <option value="">{say("admin.noCompare")}</option>
            <option value={prompt.version}>{prompt.version}</option>
            {others.map((one) => (
              <option key={one.version} value={one.version}>
                {one.version} · {formatDate(one.valid_from)} · {visible(one.changed_by ?? "–")}
              </option>
            ))}
          </select>
        </label>
        {original !== null && compared !== prompt.version && (
          <button type="button" className="button" onClick={() => setText(original)}>
            {say("admin.restore")}
          </button>
        )}
        <label className="flex min-h-11 items-center gap-2">
          <input
            type="checkbox"
            className="min-h-0!"
            checked={isActive}
            onChange={(event) => setActive(event.target.checked)}
          />{" "}
          {say("admin.active")}
        </label>
        <button
          type="button"
          className="button primary"
          disabled={!isChanged || save.isPending}
          onClick={() => save.mutate()}
        >
          {say("app.save")}
        </button>
        {isChanged && <span className="text-small text-warn">{say("admin.unsaved")}</span>}
        <span className="text-small text-quiet">
          {say("admin.version")} {prompt.version}
        </span>
      </div>
      {isConflict ? (
        <div role="alert">
          <p className="text-bad">{say("admin.conflict")}</p>
          <p lang="en" className="text-small text-quiet">
            {visible(refused?.message ?? "")}
          </p>
        </div>
      ) : (
        <ErrorNotice error={save.error} />
      )}
      <Variables text={text} known={prompt.variables} />
      <div className={original === null ? "" : "grid gap-4 lg:grid-cols-2"}>
        <div className="h-[60dvh] min-h-64 min-w-0">
          <Suspense fallback={<Skeleton lines={1} className="h-64" />}>
            <Editor label={prompt.role} value={text} known={prompt.variables} maxChars={MAX_CHARS} onChange={setText} />
          </Suspense>
        </div>
        {original !== null && <Difference before={original} after={text} />}
      </div>
      <Trial role={prompt.role} text={text} />
      <TrialSets role={prompt.role} text={text} />
    </>
  );
}

function Variables({ text, known }: { text: string; known: string[] }) {
  const unknown = unknownOf(text, known);
  return (
    <p className="text-small text-quiet">
      {known.length > 0 && (
        <>
          {say("admin.variables")}: {known.join(", ")}{" "}
        </>
      )}
      {unknown.length > 0 && (
        <span role="alert" className="text-bad">
          {say("admin.unknownVariables", { names: unknown.join(", ") })}
        </span>
      )}
    </p>
  );
}

/** Answer a recorded request once more with the text that is being edited; both answers stand side by side. */
function Trial({ role, text }: { role: string; text: string }) {
  const [id, setId] = useState("");
  const [isChoosing, setChoosing] = useState(false);
  const titleOf = useTitleOf();
  const newest = useMore("runs", "/v1/admin/runs", { kind: "ask", status: "COMPLETED", limit: OFFERED }, isChoosing);
  const recorded = useQuery({
    queryKey: keys.run(wholeId(id)),
    queryFn: ({ signal }) => get(`/v1/runs/${wholeId(id)}`, {}, signal),
    enabled: wholeId(id) !== null,
    retry: false,
  });
  const attempt = useMutation({ mutationFn: () => post(`${pathOf(role)}/try`, { run_id: wholeId(id)!, text }) });
  const live = useRun(attempt.data?.request_id ?? null);
  return (
    <section className="flex flex-col gap-3">
      <h2 className="text-lead font-semibold">{say("admin.tryRun")}</h2>
      <div className="flex flex-wrap items-end gap-3">
        <label className="field max-w-full">
          <span>{say("admin.tryId")}</span>
          <input
            className="w-96 max-w-full font-mono"
            value={id}
            maxLength={36}
            onChange={(event) => setId(event.target.value)}
          />
        </label>
        <button
          type="button"
          className="button"
          disabled={!recorded.data || attempt.isPending}
          onClick={() => attempt.mutate()}
        >
          {say("admin.tryDo")}
        </button>
      </div>
      <details onToggle={(event) => setChoosing(event.currentTarget.open)}>
        <summary className="text-small">{say("admin.tryChoose")}</summary>
        {newest.isLoading && <Skeleton lines={3} className="h-6" />}
        <ul>
          {newest.items.map((run) => (
            <li key={run.request_id}>
              <button
                type="button"
                className="row-link w-full truncate text-left text-small"
                aria-pressed={run.request_id === id}
                onClick={() => setId(run.request_id)}
              >
                <Time at={run.created_at} /> · {titleOf(run.assistant)} · {wordsOf(run.query).slice(0, 200)}
              </button>
            </li>
          ))}
        </ul>
      </details>
      <ErrorNotice error={attempt.error ?? recorded.error ?? newest.error} />
      {recorded.data && (
        <div className="grid gap-4 md:grid-cols-2">
          <div className="card min-w-0">
            <h3 className="text-small text-quiet">{say("admin.before")}</h3>
            <Markdown text={recorded.data.final_answer ?? ""} />
          </div>
          {attempt.data && (
            <div className="card min-w-0">
              <h3 className="text-small text-quiet">{say("admin.now")}</h3>
              {live.error ? (
                <Failure code={live.error.code} message={live.error.message} />
              ) : live.isOver ? (
                <Markdown text={live.answer ?? ""} />
              ) : (
                <>
                  <Markdown text={live.text} />
                  <Stages status={live.status} />
                </>
              )}
            </div>
          )}
        </div>
      )}
    </section>
  );
}
