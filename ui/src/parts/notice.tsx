import type { ReactNode } from "react";

import { ApiError } from "../api/error";
import { say } from "../texts";

/** What went wrong, what to do, and the id that an operator can look for. */
export function ErrorNotice({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  if (!error) return null;
  const isUnreachable = error instanceof ApiError && error.status === 0;
  const message = isUnreachable ? say("app.unreachable") : error instanceof Error ? error.message : String(error);
  return (
    <div role="alert" className="card border-bad! text-small">
      <p className="text-bad">{message}</p>
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
