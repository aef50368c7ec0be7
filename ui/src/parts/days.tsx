import { useQuery } from "@tanstack/react-query";
import { ChevronLeft, ChevronRight } from "lucide-react";
import { useState } from "react";

import { get } from "../api/http";
import { keys } from "../api/keys";
import { formatDayOfYear, formatMonth, say } from "../texts";

const CELL = 8;
const GAP = 1.5;
const WEEKS = 54; // a year touches as many at most
const WIDTH = WEEKS * CELL - GAP;
const DAY_MS = 86_400_000;
const SHADES = [
  "var(--line)",
  ...[35, 55, 78, 100].map((part) => `color-mix(in srgb, var(--accent) ${part}%, var(--page))`),
];

/** How much was said on each day of a year: a column is a week, which begins on Monday. */
export function Days({ userId }: { userId: string }) {
  const thisYear = new Date().getFullYear();
  const [year, setYear] = useState(thisYear);
  const totals = useQuery({
    queryKey: keys.totals(userId),
    queryFn: ({ signal }) => get(`/v1/users/${userId}/memory`, {}, signal),
  });
  const { data } = useQuery({
    queryKey: keys.days(userId, year),
    queryFn: ({ signal }) => get(`/v1/users/${userId}/memory/days`, { year }, signal),
    placeholderData: (before) => before,
  });
  if (!totals.data?.since || !data) return null;
  const days = daysOf(data.year);
  const counts = new Map(data.results.map((one) => [one.day, one.messages]));
  const [busiest, most] = [...counts].reduce((left, right) => (right[1] > left[1] ? right : left), ["", 0]);
  const text = busiest
    ? say("memory.days", { n: counts.size }) + say("memory.busiest", { day: formatDayOfYear(busiest), n: most })
    : say("memory.noDays", { year: String(data.year) });
  const step = (by: number, name: string, isThere: boolean) => (
    <button
      type="button"
      className="quiet-button px-2 pointer-coarse:min-h-11 pointer-coarse:min-w-11"
      aria-label={name}
      title={name}
      disabled={!isThere}
      onClick={() => setYear(year + by)}
    >
      {by < 0 ? <ChevronLeft className="inline" /> : <ChevronRight className="inline" />}
    </button>
  );
  return (
    <figure className="max-w-xl">
      <div aria-hidden="true" className="relative h-5 text-small text-quiet">
        {days
          .filter(({ day }) => day.endsWith("-01"))
          .map(({ day, week }) => (
            <span
              key={day}
              className="absolute whitespace-nowrap max-sm:even:hidden" // a phone has room for each second one
              style={{ left: `${(100 * week * CELL) / WIDTH}%` }}
            >
              {formatMonth(day)}
            </span>
          ))}
      </div>
      <svg
        viewBox={`0 0 ${WIDTH} ${7 * CELL - GAP}`}
        className="block w-full"
        role="img"
        aria-label={`${data.year}: ${text}`}
        data-days={data.year}
      >
        {days.map(({ day, week, weekday }) => {
          const n = counts.get(day) ?? 0;
          return (
            <rect
              key={day}
              x={week * CELL}
              y={weekday * CELL}
              width={CELL - GAP}
              height={CELL - GAP}
              rx="1"
              style={{ fill: SHADES[n ? shadeOf(n, most) : 0] }}
            >
              {n > 0 && <title>{say("memory.day", { day: formatDayOfYear(day), n })}</title>}
            </rect>
          );
        })}
      </svg>
      <figcaption className="flex items-center gap-1 pt-1 text-small text-quiet">
        {step(-1, say("memory.yearBefore"), year > new Date(totals.data.since).getFullYear())}
        <span className="tabular shrink-0 whitespace-nowrap">{year}</span>
        {step(1, say("memory.yearAfter"), year < thisYear)}
        <span role="status">{text}</span>
      </figcaption>
    </figure>
  );
}

/** The days of a year with their places: the number of the week, and 0 for Monday to 6. */
export function daysOf(year: number): { day: string; week: number; weekday: number }[] {
  const first = new Date(0);
  first.setUTCFullYear(year, 0, 1);
  const shift = (first.getUTCDay() + 6) % 7;
  const days: { day: string; week: number; weekday: number }[] = [];
  for (let at = first.getTime(); new Date(at).getUTCFullYear() === year; at += DAY_MS) {
    const place = shift + days.length;
    days.push({ day: new Date(at).toISOString().slice(0, 10), week: Math.floor(place / 7), weekday: place % 7 });
  }
  return days;
}

/** 1 to 4, by the logarithm: one busy day leaves the others their shades. */
export function shadeOf(n: number, most: number): number {
  return Math.max(1, Math.ceil((4 * Math.log1p(n)) / Math.log1p(most)));
}
