import { useEffect, useEffectEvent, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { Link } from "wouter";

import { formatDay, formatNumber, language, say } from "../texts";

const HEIGHT = 160;
const DAY_S = 86_400;
const COUNTS = [1, 2, 5].flatMap((n) => Array.from({ length: 9 }, (_, zeros) => n * 10 ** zeros)).sort((a, b) => a - b);
const TICKS_S = [1, 2, 4, 7, 14, 30, 90].map((days) => days * DAY_S);

/** One measure by day, its number above; the values can be read as a table, in which each leads to what it counts. */
export function Chart({
  title,
  value,
  days,
  values,
  href,
  hrefOf,
  format = formatNumber,
}: {
  title: string;
  value: string;
  days: string[];
  values: (number | null)[];
  href: string; // what the number counts
  hrefOf: (day: string) => string; // what that of a day counts
  format?: (value: number) => string; // says a value with its unit; none: it is a count
}) {
  const place = useRef<HTMLDivElement>(null);
  const shown = JSON.stringify([days, values]);
  const draw = useEffectEvent(() => {
    const element = place.current;
    if (!element || !days.length) return;
    const style = getComputedStyle(element);
    const [accent, quiet, line] = ["--accent", "--quiet", "--line"].map((name) =>
      resolve(element, style.getPropertyValue(name)),
    );
    const axis = { stroke: quiet!, grid: { stroke: line!, width: 1 }, ticks: { show: false }, font: "12px system-ui" };
    const dates = new Intl.DateTimeFormat(language(), { day: "numeric", month: "short", timeZone: "UTC" });
    const times = days.map((day) => Date.parse(day) / 1000);
    const margin = times.length > 1 ? 0 : DAY_S; // a single day is in the middle
    const span: [number, number] = [times[0]! - margin, times[times.length - 1]! + margin];
    const plot = new uPlot(
      {
        width: element.clientWidth,
        height: HEIGHT,
        legend: { show: false },
        cursor: { y: false },
        scales: { x: { range: () => span }, y: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : 1] } },
        axes: [
          { ...axis, incrs: TICKS_S, values: (_, ticks) => ticks.map((tick) => dates.format(tick * 1000)), space: 70 },
          {
            ...axis,
            size: 56,
            values: (_, ticks) => ticks.map((tick) => format(tick)),
            ...(format === formatNumber && { incrs: COUNTS }),
          },
        ],
        series: [{}, { stroke: accent!, width: 2, points: { show: days.length < 40 } }],
      },
      [times, values],
      element,
    );
    const observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: HEIGHT }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.destroy();
    };
  });
  useEffect(() => draw(), [shown]);
  return (
    <figure className="card relative min-w-0 overflow-hidden">
      <figcaption>
        <span className="text-small text-quiet">{title}</span>
        <span className="tabular block text-title font-semibold">
          <Link href={href}>{value}</Link>
        </span>
      </figcaption>
      <div ref={place} className="mt-2 h-40 min-w-0" aria-hidden="true" />
      <details className="text-small">
        <summary>{say("admin.byDay")}</summary>
        <table className="data">
          <caption className="sr-only">{title}</caption>
          <tbody>
            {days.map((day, index) => (
              <tr key={day}>
                <th scope="row">{formatDay(day)}</th>
                <td className="tabular text-right">
                  {values[index] == null ? "–" : <Link href={hrefOf(day)}>{format(values[index]!)}</Link>}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </figure>
  );
}

/** The colour that a CSS value such as light-dark(…) has here; a canvas does not know such values. */
function resolve(element: HTMLElement, value: string): string {
  const probe = document.createElement("span");
  probe.style.color = value;
  element.append(probe);
  const color = getComputedStyle(probe).color;
  probe.remove();
  return color;
}
