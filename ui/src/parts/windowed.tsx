// A list that grows: up to a hundred rows are whole; of more only those near the screen are rendered, in their order.

import { useVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, useLayoutEffect, useMemo, useRef, useState } from "react";

const WHOLE = 100; // rows that a browser lays out at once without effort
const OVERSCAN = 8;

export interface Group<T> {
  key: string;
  region?: string; // what the group is called as a landmark
  heading?: ReactNode;
  rows: T[];
}

interface Line<T> {
  key: string;
  group: number;
  place: number; // of the row in its group; -1: the heading
  row?: T;
}

interface Props<T> {
  groups: Group<T>[];
  keyOf: (row: T) => string;
  rowPx: number; // the height of a row that was not measured yet
  hasMore: boolean; // whether there are rows that were not read yet
  children: (row: T) => ReactNode;
}

export function Windowed<T>({ groups, keyOf, rowPx, hasMore, children }: Props<T>) {
  const box = useRef<HTMLDivElement>(null);
  const heights = useRef(new Map<string, number>()); // of lines while all were rendered
  const [top, setTop] = useState(0); // of the list within what is scrolled, px
  const [focused, setFocused] = useState<string | null>(null);
  const lines = useMemo(() => linesOf(groups, keyOf), [groups, keyOf]);
  const isWhole = lines.length <= WHOLE;
  const first = lines.find((line) => line.row !== undefined)?.key;
  const firstBefore = useRef(first);
  const isRead = (scrollerOf(box.current)?.scrollTop ?? 0) > top;
  const list = useVirtualizer({
    count: lines.length,
    enabled: !isWhole,
    getScrollElement: () => scrollerOf(box.current),
    estimateSize: (index) => heights.current.get(lines[index]!.key) ?? rowPx,
    getItemKey: (index) => lines[index]!.key,
    scrollMargin: top,
    // What is read stays in its place when rows come before it; who is at the beginning sees them.
    anchorTo: isRead && firstBefore.current !== first ? "end" : "start",
    scrollEndThreshold: -1, // nobody is held at the end
    rangeExtractor: ({ startIndex, endIndex, count }) => {
      const shown = between(startIndex - OVERSCAN, endIndex + OVERSCAN, count);
      const at = focused === null ? -1 : lines.findIndex((line) => line.key === focused);
      if (at < 0) return shown;
      return [...new Set([...shown, ...between(at - 1, at + 1, count)])].sort((left, right) => left - right);
    },
  });
  useLayoutEffect(() => {
    firstBefore.current = first;
  });
  useLayoutEffect(() => {
    if (!isWhole || !box.current) return;
    for (const line of box.current.querySelectorAll<HTMLElement>("[data-line]"))
      heights.current.set(line.dataset.line!, line.getBoundingClientRect().height);
  });
  useLayoutEffect(() => {
    const scroller = scrollerOf(box.current);
    if (isWhole || !scroller) return;
    const measure = () => setTop(Math.round(topOf(box.current!) - topOf(scroller) + scroller.scrollTop));
    measure();
    const observer = new ResizeObserver(measure); // what stands above grows and shrinks
    observer.observe(scroller.firstElementChild!);
    return () => observer.disconnect();
  }, [isWhole]);

  const shown = isWhole ? lines.map((_, index) => ({ index, start: 0, end: 0 })) : list.getVirtualItems();
  const below = list.getTotalSize() + top - (shown.at(-1)?.end ?? top);
  const attributesOf = (at: number) => {
    const { index, start } = shown[at]!;
    return {
      ref: isWhole ? undefined : list.measureElement,
      "data-line": lines[index]!.key,
      "data-index": index,
      style: isWhole ? undefined : { marginTop: start - (shown[at - 1]?.end ?? top) }, // for those left out before it
    };
  };
  return (
    <div
      ref={box}
      style={isWhole ? undefined : { paddingBottom: below, overflowAnchor: "none" }}
      onFocus={(event) => setFocused(event.target.closest<HTMLElement>("[data-line]")?.dataset.line ?? null)}
      onBlur={() => setFocused(null)}
    >
      {groups.map(({ key, region, heading, rows }, number) => {
        const members = shown.flatMap(({ index }, at) => (lines[index]!.group === number ? [at] : []));
        if (!members.length) return null;
        const isLast = number === groups.length - 1;
        const lineAt = (at: number) => lines[shown[at]!.index]!;
        return (
          <section key={key} aria-label={region} className="flex flex-col">
            {lineAt(members[0]!).place < 0 && <div {...attributesOf(members[0]!)}>{heading}</div>}
            <ul className="flex flex-col">
              {members
                .filter((at) => lineAt(at).place >= 0)
                .map((at) => (
                  <li
                    key={lineAt(at).key}
                    aria-posinset={isWhole ? undefined : lineAt(at).place + 1}
                    aria-setsize={isWhole ? undefined : hasMore && isLast ? -1 : rows.length}
                    {...attributesOf(at)}
                  >
                    {children(lineAt(at).row!)}
                  </li>
                ))}
            </ul>
          </section>
        );
      })}
    </div>
  );
}

function linesOf<T>(groups: Group<T>[], keyOf: (row: T) => string): Line<T>[] {
  return groups.flatMap(({ key, heading, rows }, group) => [
    ...(heading ? [{ key: `heading ${key}`, group, place: -1 }] : []),
    ...rows.map((row, place) => ({ key: keyOf(row), group, place, row })),
  ]);
}

function between(first: number, last: number, count: number): number[] {
  const from = Math.max(0, first);
  return Array.from({ length: Math.max(0, Math.min(count - 1, last) - from + 1) }, (_, index) => from + index);
}

function scrollerOf(box: HTMLElement | null): HTMLElement | null {
  return box?.closest<HTMLElement>(".scrolls") ?? null;
}

function topOf(element: HTMLElement): number {
  return element.getBoundingClientRect().top;
}
