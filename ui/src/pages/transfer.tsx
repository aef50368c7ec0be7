// A whole memory in and out, and its erasure.

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useEffectEvent, useState } from "react";

import { get, remove, send } from "../api/http";
import { keys } from "../api/keys";
import { refresh } from "../api/refresh";
import type { Imported } from "../api/types";
import { Dialog } from "../parts/dialog";
import { download } from "../parts/download";
import { ErrorNotice } from "../parts/notice";
import { Receipt } from "../parts/receipt";
import { keep, keptList } from "../session/kept";
import { session, useUser } from "../session/session";
import { say } from "../texts";

const IMPORTS = "imports"; // runs of unfinished imports, so that a reload finds them
const POLL_MS = 1500;

/** Export, import and erasure of all that is remembered. */
export function Transfer() {
  const { userId } = useUser();
  const queries = useQueryClient();
  const [isErasing, setErasing] = useState(false);
  const [runIds, setRunIds] = useState(() => keptList<string>(userId, IMPORTS));
  const watch = (ids: string[]) => {
    keep(userId, IMPORTS, ids.length ? JSON.stringify(ids) : "");
    setRunIds(ids);
  };
  const exporting = useMutation({
    mutationFn: async () => {
      download(`maas-${userId}.ndjson`, await (await send("GET", `/v1/users/${userId}/export`)).blob());
    },
  });
  const upload = useMutation({
    mutationFn: async (file: File) => {
      const type = file.name.toLowerCase().endsWith(".json") ? "application/json" : "application/x-ndjson";
      const body = new Blob([file], { type });
      return (
        await send("POST", `/v1/users/${userId}/import`, body, undefined, { "content-type": type })
      ).json() as Promise<Imported>;
    },
    onSuccess: (result) => {
      watch([...runIds, ...result.run_ids].slice(-1000));
      return refresh(queries, ["memory"]);
    },
  });
  return (
    <div className="flex flex-wrap items-center gap-2 sm:justify-end">
      <button type="button" className="button small" disabled={exporting.isPending} onClick={() => exporting.mutate()}>
        {say("memory.export")}
      </button>
      <label className="button small cursor-pointer focus-within:outline-2" title={say("memory.importHelp")}>
        {say("memory.import")}
        <input
          type="file"
          className="sr-only"
          accept=".json,.jsonl,.ndjson"
          disabled={upload.isPending}
          onChange={(event) => {
            const file = event.target.files?.[0];
            event.target.value = "";
            if (file) upload.mutate(file);
          }}
        />
      </label>
      <button type="button" className="button small danger" onClick={() => setErasing(true)}>
        {say("memory.erase")}
      </button>
      <div className="basis-full text-small" role="status">
        {upload.isPending && say("app.loading")}
        {upload.data && say("memory.imported", { n: upload.data.added, known: upload.data.known })}{" "}
        {runIds.length > 0 && <ImportProgress runIds={runIds} onDone={() => watch([])} />}
      </div>
      <ErrorNotice error={upload.error ?? exporting.error} />
      {isErasing && <Erase onClose={() => setErasing(false)} />}
    </div>
  );
}

function ImportProgress({ runIds, onDone }: { runIds: string[]; onDone: () => void }) {
  const queries = useQueryClient();
  const [done, setDone] = useState<Set<string>>(new Set());
  const next = runIds.find((id) => !done.has(id)) ?? null;
  const run = useQuery({
    queryKey: keys.importRun(next),
    queryFn: ({ signal }) => get(`/v1/runs/${next}`, {}, signal),
    enabled: next !== null,
    refetchInterval: POLL_MS,
    retry: false,
  });
  const isEnded =
    run.error !== null || (run.data && ["ARCHIVED", "SKIPPED", "FAILED"].includes(run.data.archive_status));
  useEffect(() => {
    if (next !== null && isEnded) setDone((before) => new Set(before).add(next));
  }, [next, isEnded]);
  const end = useEffectEvent(() => {
    void refresh(queries, ["memory"]);
    const timer = window.setTimeout(onDone, 3000);
    return () => window.clearTimeout(timer);
  });
  useEffect(() => (next === null ? end() : undefined), [next]);
  return next === null ? say("memory.importDone") : say("memory.importing", { done: done.size, all: runIds.length });
}

function Erase({ onClose }: { onClose: () => void }) {
  const { userId, config } = useUser();
  const queries = useQueryClient();
  const [word, setWord] = useState("");
  const wanted = say("memory.eraseWord");
  const close = () => {
    onClose();
    if (!erase.data) return;
    if (config.auth === "local")
      void session.signOut(); // the account is gone, too
    else window.location.assign("/ui/");
  };
  const erase = useMutation({
    mutationFn: () => remove(`/v1/users/${userId}`),
    onSuccess: () => queries.removeQueries({ queryKey: keys.allMessages() }),
  });
  return (
    <Dialog title={say("memory.erase")} onClose={close}>
      {erase.data ? (
        <div role="status">
          <Receipt rows={erase.data.erased} />
        </div>
      ) : (
        <form
          className="flex flex-col gap-3"
          onSubmit={(event) => {
            event.preventDefault();
            erase.mutate();
          }}
        >
          <p>{say("memory.eraseWhat")}</p>
          <label className="field">
            <span>{say("memory.eraseConfirm", { word: wanted })}</span>
            <input value={word} onChange={(event) => setWord(event.target.value)} autoComplete="off" />
          </label>
          <ErrorNotice error={erase.error} />
          <button
            type="submit"
            className="button danger self-start"
            disabled={word.trim().toLowerCase() !== wanted || erase.isPending}
          >
            {say("memory.erase")}
          </button>
        </form>
      )}
    </Dialog>
  );
}
