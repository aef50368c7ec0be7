import { useEffect, useState } from "react";

const PAUSE_MS = 250;

/** What was typed, once the person pauses: a search is one request and not one a letter. */
export function usePaused(typed: string): string {
  const [text, setText] = useState("");
  useEffect(() => {
    const timer = window.setTimeout(() => setText(typed.trim()), PAUSE_MS);
    return () => window.clearTimeout(timer);
  }, [typed]);
  return text;
}
