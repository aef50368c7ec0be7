// The stages of an unfinished answer in words, over a thin bar; after a while, what it waits for.

import { useEffect, useState } from "react";

import type { Status } from "../api/types";
import { say } from "../texts";

const ORDER: Status[] = ["NEW", "ANALYZING", "ANALYZED", "ASSEMBLING", "READY", "RESPONDING", "COMPLETED"];
const SLOW_MS = 3000;

export function Stages({ status, isSaving = false }: { status: Status; isSaving?: boolean }) {
  const [isSlow, setSlow] = useState(false);
  useEffect(() => {
    setSlow(false);
    const timer = window.setTimeout(() => setSlow(true), SLOW_MS);
    return () => window.clearTimeout(timer);
  }, [status]);
  const part = (ORDER.indexOf(status) + 1) / ORDER.length;
  return (
    <div className="text-small text-quiet" data-stage={status}>
      <p role="status">{isSaving ? say("stage.saving") : say(`stage.${status}`)}</p>
      <div className="relative mt-1 h-0.5 w-40 overflow-hidden rounded bg-line" aria-hidden="true">
        <div
          className="absolute h-full bg-accent transition-[width] duration-[120ms]"
          style={{ width: `${part * 100}%` }}
        />
        <div className="absolute h-full w-1/4 animate-[slide_1.4s_linear_infinite] bg-page/60" />
      </div>
      {isSlow && !isSaving && <p className="mt-1">{say(status === "NEW" ? "stage.slow.NEW" : "stage.slow.other")}</p>}
    </div>
  );
}
