import { formatDate, formatFullDate } from "../texts";

/** A time as people say it, with the full stamp on hover. */
export function Time({ at }: { at: string }) {
  return (
    <time dateTime={at} title={formatFullDate(at)}>
      {formatDate(at)}
    </time>
  );
}
