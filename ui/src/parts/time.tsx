import { formatDate, formatFullDate, formatMoment } from "../texts";

/** A time as people say it, with the full stamp on hover; `isExact`: to the minute. */
export function Time({ at, isExact = false }: { at: string; isExact?: boolean }) {
  return (
    <time dateTime={at} title={formatFullDate(at)}>
      {isExact ? formatMoment(at) : formatDate(at)}
    </time>
  );
}
