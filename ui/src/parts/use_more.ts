import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { useEffect, useRef } from "react";

import { get } from "../api/http";
import { keys } from "../api/keys";
import type { Answer, Item, Query, Route } from "../api/route";

interface Page<T> {
  results: T[];
  next?: string | null;
}

/**
 * The pages of a list, and a mark whose appearance on the screen loads the next one. `pollMs` says of what has been read when it is to be
 * read again, in ms, where no event tells of a change.
 */
export function useMore<Path extends Route<"get">>(
  kind: Parameters<typeof keys.list>[0],
  path: Path,
  query?: Query<"get", Path>,
  isWanted = true,
  pollMs: (items: Item<Path>[]) => number | false = () => false,
) {
  const list = useInfiniteQuery({
    queryKey: keys.list(kind, path, query),
    queryFn: ({ pageParam, signal }) =>
      get(path, { ...query, before: pageParam } as object as typeof query, signal) as Promise<Page<Item<Path>>>,
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
    enabled: isWanted,
    refetchInterval: ({ state: { data } }) => (data ? pollMs(itemsOf(data.pages)) : false),
    placeholderData: keepPreviousData, // the rows stay while others are read
  });
  const mark = useRef<HTMLDivElement>(null);
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = list;
  useEffect(() => {
    if (!mark.current || !hasNextPage || isFetchingNextPage) return;
    const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting && void fetchNextPage(), {
      rootMargin: "400px",
    });
    observer.observe(mark.current);
    return () => observer.disconnect();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);
  const items = itemsOf(list.data?.pages ?? []);
  return { ...list, items, mark, first: list.data?.pages[0] as Answer<"get", Path> | undefined };
}

function itemsOf<T>(pages: Page<T>[]): T[] {
  return pages.flatMap((page) => page.results);
}

/** Items without doubles: rows that arrived meanwhile move others to the next page. */
export function unique<T>(items: T[], idOf: (item: T) => string): T[] {
  const seen = new Set<string>();
  return items.filter((item) => !seen.has(idOf(item)) && seen.add(idOf(item)));
}
