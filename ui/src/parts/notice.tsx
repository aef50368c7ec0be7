import type { ReactNode } from "react";

import { ApiError } from "../api/error";
import { language, say, sayOr } from "../texts";
import { visible } from "./visible";

/** The sentence of an error in the language of the page; the server's own, where its code is not known. */
export function errorText(error: unknown): string {
  if (!(error instanceof ApiError)) return error instanceof Error ? error.message : String(error);
  return error.status === 0 ? say("app.unreachable") : sayOr(`error.${error.code}`, visible(error.message));
}

/** Why a request or a step of one has failed, in the language of the page; `words` where its code is not known. */
export function failureText(code: string | null, words: string | null = code): string {
  return sayOr(`failed.${code}`, sayOr(`error.${code}`, say("chat.failed", { cause: visible(words ?? "") })));
}

/** Why a request has failed, and what the server said. */
export function Failure({ code, message }: { code: string | null; message: string | null }) {
  const text = failureText(code, message ?? code);
  const detail = visible(message ?? "");
  return (
    <div role="alert">
      <p className="text-bad">{text}</p>
      {detail && !isSaidIn(text, detail) && (
        <p lang="en" className="text-small text-quiet">
          {detail}
        </p>
      )}
    </div>
  );
}

/** Whether a sentence holds what the server said, however each of them begins and ends. */
function isSaidIn(text: string, detail: string): boolean {
  return text.toLowerCase().includes(detail.toLowerCase().replace(/\.$/, ""));
}

/** What went wrong, what to do, what the server said, and the id that an operator can look for. */
export function ErrorNotice({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  if (!error) return null;
  const text = errorText(error);
  const said = error instanceof ApiError && language() === "ru" ? error.said : null; // assistants say it in Russian
  const detail = said ? visible(said) : error instanceof ApiError && error.status > 0 ? visible(error.message) : "";
  return (
    <div role="alert" className="card border-bad! text-small">
      <p className="text-bad">{text}</p>
      {detail && !isSaidIn(text, detail) && (
        <p lang={said ? "ru" : "en"} className="text-quiet">
          {detail}
        </p>
      )}
      {error instanceof ApiError && error.requestId && (
        <p className="text-quiet">{say("app.requestId", { id: error.requestId })}</p>
      )}
      {onRetry && (
        <button type="button" className="button small mt-2" onClick={onRetry}>
          {say("app.retry")}
        </button>
      )}
    </div>
  );
}

export function Empty({ children }: { children: ReactNode }) {
  return <p className="py-8 text-center text-quiet">{children}</p>;
}

/** A page on which there is nothing: why is its heading, and below it is a way on. */
export function EmptyPage({ why, children }: { why: string; children?: ReactNode }) {
  return (
    <div className="flex flex-col items-center gap-2 px-4 py-8 text-center text-quiet">
      <h1>{why}</h1>
      {children}
    </div>
  );
}

/** Lines of the shape of what is being loaded. */
export function Skeleton({ lines = 3, className = "h-12" }: { lines?: number; className?: string }) {
  return (
    <div role="status" aria-label={say("app.loading")} className="flex flex-col gap-3 py-2">
      {Array.from({ length: lines }, (_, line) => (
        <div key={line} className={`skeleton ${className}`} />
      ))}
    </div>
  );
}
