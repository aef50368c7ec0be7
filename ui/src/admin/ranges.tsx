// The last days that figures are of.

import { say } from "../texts";

const RANGES = [1, 7, 30, 90];

/** The number of days that the URL names, 7 if it names none of ours. */
export function rangeOf(text: string): number {
  return RANGES.includes(Number(text)) ? Number(text) : 7;
}

/** The first of the last days, today included, in the zone of the browser: `2026-05-06`. */
export function firstDay(days: number, now = new Date()): string {
  const first = new Date(now.getFullYear(), now.getMonth(), now.getDate() - days + 1);
  const two = (value: number) => String(value).padStart(2, "0");
  return `${first.getFullYear()}-${two(first.getMonth() + 1)}-${two(first.getDate())}`;
}

export function Ranges({ value, onChange }: { value: number; onChange: (days: number) => void }) {
  return (
    <div role="group" aria-label={say("admin.range")} className="flex flex-wrap gap-2">
      {RANGES.map((one) => (
        <button
          key={one}
          type="button"
          aria-pressed={value === one}
          className={`button small ${value === one ? "primary" : ""}`}
          onClick={() => onChange(one)}
        >
          {say("admin.days", { n: one })}
        </button>
      ))}
    </div>
  );
}
