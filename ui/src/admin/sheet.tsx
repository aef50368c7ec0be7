// What the pages of administrators stand on.

import type { ReactNode } from "react";

import { useTitle } from "../parts/title";

export function Sheet({ title, note, children }: { title: string; note?: string; children: ReactNode }) {
  useTitle(title);
  return (
    <div className="scrolls min-h-0 flex-1 scroll-pt-8 px-4" tabIndex={0}>
      <div className="mx-auto flex max-w-6xl flex-col gap-4 py-4">
        <h1 className="text-title font-semibold">{title}</h1>
        {note && <p className="text-small text-quiet">{note}</p>}
        {children}
      </div>
    </div>
  );
}
