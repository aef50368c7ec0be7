// What one text says and another does not, line by line.

import { diffLines } from "diff";
import { useMemo } from "react";

import { visible } from "../parts/visible";
import { say } from "../texts";

const CONTEXT_LINES = 3; // that are shown around a change
const MAX_EDITS = 1000; // of texts that differ more, one is shown as a whole after the other

interface DiffLine {
  kind: "same" | "added" | "removed" | "folded";
  text: string; // of folded lines their number
}

/** The lines of both texts in their order; those far from any change are folded. */
export function diffOf(before: string, after: string): DiffLine[] {
  const parts = diffLines(withEnd(before), withEnd(after), { maxEditLength: MAX_EDITS }) ?? [
    { value: withEnd(before), removed: true, added: false },
    { value: withEnd(after), removed: false, added: true },
  ];
  return parts.flatMap((part, index): DiffLine[] => {
    const lines = part.value.split("\n").slice(0, -1);
    if (part.added || part.removed) return lines.map((text) => ({ kind: part.added ? "added" : "removed", text }));
    const head = index === 0 ? 0 : CONTEXT_LINES;
    const tail = index === parts.length - 1 ? 0 : CONTEXT_LINES;
    const folded = lines.length - head - tail;
    const same = lines.map((text): DiffLine => ({ kind: "same", text }));
    if (folded <= 1) return same;
    return [...same.slice(0, head), { kind: "folded", text: String(folded) }, ...same.slice(lines.length - tail)];
  });
}

export function Difference({ before, after }: { before: string; after: string }) {
  const lines = useMemo(() => diffOf(before, after), [before, after]);
  const isSame = lines.every(({ kind }) => kind === "same" || kind === "folded");
  if (isSame) return <p className="text-small text-quiet">{say("admin.same")}</p>;
  return (
    <pre
      className="scrolls max-h-[60dvh] whitespace-pre-wrap rounded border border-line p-2 text-small"
      tabIndex={0}
      role="region"
      aria-label={say("admin.difference")}
    >
      {lines.map(({ kind, text }, index) =>
        kind === "added" ? (
          <ins key={index} className="block bg-mark no-underline">
            + {visible(text)}
          </ins>
        ) : kind === "removed" ? (
          <del key={index} className="block text-bad">
            − {visible(text)}
          </del>
        ) : (
          <span key={index} className="block text-quiet">
            {kind === "folded" ? say("admin.sameLines", { n: Number(text) }) : `  ${visible(text)}`}
          </span>
        ),
      )}
    </pre>
  );
}

function withEnd(text: string): string {
  return text.endsWith("\n") || !text ? text : `${text}\n`;
}
