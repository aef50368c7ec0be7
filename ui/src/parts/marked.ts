import { useState } from "react";

export interface Marked {
  has: (id: string) => boolean;
  toggle: (id: string) => void;
}

/** Which rows of a list are marked, also while they are not rendered. */
export function useMarked(): Marked {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set());
  const toggle = (id: string) =>
    setIds((all) => (all.has(id) ? new Set([...all].filter((one) => one !== id)) : new Set([...all, id])));
  return { has: (id) => ids.has(id), toggle };
}
