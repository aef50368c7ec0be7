// Reading again what has changed on the server.

import type { QueryClient, QueryKey } from "@tanstack/react-query";

import type { Kind } from "./keys";

/**
 * Read everything of these kinds, or under these keys, again. A reply that is on its way may be older than the change: it is not waited for,
 * nor taken for the new one, as a first reading would be.
 */
export async function refresh(queries: QueryClient, kinds: readonly (Kind | QueryKey)[]) {
  await Promise.all(
    kinds.map(async (kind) => {
      const queryKey = typeof kind === "string" ? [kind] : kind;
      await queries.cancelQueries({ queryKey });
      await queries.invalidateQueries({ queryKey });
    }),
  );
}
