// Documents on their way to the server: how much of each has gone, and what came of it.

import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { sendForm } from "../api/http";
import { refresh } from "../api/refresh";
import { useUser } from "../session/session";
import { say } from "../texts";
import { errorText } from "./notice";
import { newUuid } from "./uuid";
import { visible } from "./visible";

interface Upload {
  id: string;
  name: string;
  share: number; // of its bytes that have gone, 0 to 1
  state: "sending" | "done" | "failed";
  error?: string;
}

const READING_MS = 2000; // between two looks at documents that are being read

/** When a list of documents is to be read again: soon, while some of them cannot be searched yet. */
export function pollOfReading(documents: { status: string }[]): number | false {
  return documents.some(({ status }) => status === "pending" || status === "processing") ? READING_MS : false;
}

/** Keep documents for the person who is signed in, one after another. */
export function useDocuments() {
  const { userId } = useUser();
  const queries = useQueryClient();
  const [uploads, setUploads] = useState<Upload[]>([]);
  const change = (id: string, changes: Partial<Upload>) =>
    setUploads((all) => all.map((one) => (one.id === id ? { ...one, ...changes } : one)));
  const add = async (files: File[]) => {
    const begun = files.map((file) => ({ file, id: newUuid() }));
    setUploads((all) => [
      ...all.filter((one) => one.state === "sending"),
      ...begun.map(({ file, id }): Upload => ({ id, name: file.name, share: 0, state: "sending" })),
    ]);
    for (const { file, id } of begun) {
      const form = new FormData();
      form.append("user_id", userId);
      form.append("name", file.name);
      form.append("file", file);
      try {
        await sendForm("/v1/knowledge", form, (share) => change(id, { share }));
        change(id, { state: "done", share: 1 });
      } catch (error) {
        change(id, { state: "failed", error: errorText(error) });
      }
      await refresh(queries, ["documents"]);
    }
  };
  return { uploads, add, clear: () => setUploads((all) => all.filter((one) => one.state === "sending")) };
}

export function Uploads({ uploads, onClear }: { uploads: Upload[]; onClear: () => void }) {
  if (!uploads.length) return null;
  return (
    <div className="flex items-start gap-2 text-small">
      <ul className="flex min-w-0 flex-1 flex-col gap-1" role="status">
        {uploads.map((one) => (
          <li key={one.id} className="flex flex-wrap items-center gap-x-3">
            <span className="min-w-0 truncate font-semibold">{visible(one.name)}</span>
            {one.state === "sending" ? (
              one.share < 1 ? (
                <progress max={1} value={one.share} aria-label={say("file.sending", { name: visible(one.name) })} />
              ) : (
                <span className="text-quiet">{say("file.reading")}</span>
              )
            ) : (
              <span className={one.error ? "text-bad" : "text-good"}>{one.error ?? say("file.kept")}</span>
            )}
          </li>
        ))}
      </ul>
      {uploads.every((one) => one.state !== "sending") && (
        <button type="button" className="quiet-button" onClick={onClear}>
          {say("app.close")}
        </button>
      )}
    </div>
  );
}
