// What the pages of administrators stand on, and their tables.

import type { ReactNode } from "react";

import { useTitle } from "../parts/title";
import { say } from "../texts";

export function Sheet({ title, note, children }: { title: string; note?: string; children: ReactNode }) {
  useTitle(title);
  return (
    <div className="scrolls min-h-0 flex-1 p-4" tabIndex={0}>
      <div className="mx-auto flex max-w-6xl flex-col gap-4">
        <h1 className="text-title font-semibold">{title}</h1>
        {note && <p className="text-small text-quiet">{note}</p>}
        {children}
      </div>
    </div>
  );
}

/** The head of a column: of numbers above them, and of one by which the table is sorted, the highest first, a button. */
export type Column = string | { label: string; isNumber?: boolean; isSorted?: boolean; onSort?: () => void };

export const ofNumbers = (label: string): Column => ({ label, isNumber: true });

/** A table that scrolls by itself on a narrow screen. */
export function Table({ columns, children }: { columns: Column[]; children: ReactNode }) {
  return (
    <div className="scrolls" tabIndex={0}>
      <table className="data">
        <thead>
          <tr>
            {columns.map((column, index) =>
              typeof column === "string" ? (
                <th key={index} scope="col" className="relative">
                  {column || <span className="sr-only">{say("app.acts")}</span>}
                </th>
              ) : !column.onSort ? (
                <th key={index} scope="col" className={column.isNumber ? "text-right!" : ""}>
                  {column.label}
                </th>
              ) : (
                <th
                  key={index}
                  scope="col"
                  className={column.isNumber ? "text-right!" : ""}
                  aria-sort={column.isSorted ? "descending" : "none"}
                >
                  <button type="button" className="underline" onClick={column.onSort}>
                    {column.label}
                    {column.isSorted && " ↓"}
                  </button>
                </th>
              ),
            )}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}
