import { say } from "../texts";

/** A measured time: milliseconds, seconds, or minutes. */
export function formatMs(ms: number | null): string {
  if (ms === null) return "–";
  if (ms < 1000) return say("time.ms", { n: Math.round(ms) });
  return ms < 120_000 ? say("time.s", { n: ms / 1000 }) : say("time.min", { n: ms / 60_000 });
}
