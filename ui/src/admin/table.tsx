// The table of these pages: TanStack Table keeps which columns are shown and how rows are sorted, the markup is ours.

import {
  type ColumnDef,
  type ColumnVisibilityState,
  columnVisibilityFeature,
  createSortedRowModel,
  functionalUpdate,
  type OnChangeFn,
  rowSortingFeature,
  tableFeatures,
  type Updater,
  useTable,
} from "@tanstack/react-table";
import { Columns3 } from "lucide-react";
import { type ReactNode, useState } from "react";

import { Menu } from "../parts/menu";
import { type Key, say } from "../texts";

export interface Column<Row> {
  head: Key; // "app.acts" is said to screen readers only
  cell: (row: Row) => ReactNode;
  isNumber?: boolean;
  isHeading?: boolean; // its cells head their rows
  isLeftOut?: boolean;
  className?: string | ((row: Row) => string);
  sortBy?: string | ((row: Row) => number | null); // an order that the server knows; or what the browser sorts by
}

interface Props<Row> {
  label: Key; // the name of the table
  columns: Column<Row>[];
  rows: Row[];
  idOf: (row: Row) => string;
  sort?: { by: string; onChange: (by: string) => void }; // where the server sorts, always the highest first
}

const features = tableFeatures({
  columnVisibilityFeature,
  rowSortingFeature,
  sortedRowModel: createSortedRowModel(),
});
const SORTED = { asc: ["ascending", " ↑"], desc: ["descending", " ↓"], none: ["none", ""] } as const;
const MIN_HIDEABLE = 6; // columns: of fewer none is in the way

/** A table whose head stays; on a narrow screen it scrolls by itself. Of many columns some can be hidden. */
export function Table<Row extends object>({ label, columns, rows, idOf, sort }: Props<Row>) {
  const [columnVisibility, onColumnVisibilityChange] = useVisibility(label);
  const shown = columns.filter(({ isLeftOut }) => !isLeftOut);
  const table = useTable({
    features,
    data: rows,
    getRowId: idOf,
    columns: shown.map(
      ({ head, sortBy }, index): ColumnDef<typeof features, Row> => ({
        id: head,
        enableHiding: index > 0 && head !== "app.acts",
        sortDescFirst: true,
        sortUndefined: "last",
        ...(sortBy && { accessorFn: (row: Row) => (typeof sortBy === "string" ? 0 : (sortBy(row) ?? undefined)) }),
      }),
    ),
    manualSorting: sort !== undefined,
    onColumnVisibilityChange,
    state: {
      columnVisibility,
      ...(sort && {
        sorting: shown.filter(({ sortBy }) => sortBy === sort.by).map(({ head }) => ({ id: head, desc: true })),
      }),
    },
  });
  const columnOf = Object.fromEntries(shown.map((column) => [column.head, column]));
  return (
    <div>
      {shown.length >= MIN_HIDEABLE && (
        <div className="flex justify-end">
          <Menu
            label={say("table.columns")}
            icon={<Columns3 className="inline" />}
            commands={table
              .getAllLeafColumns()
              .filter((column) => column.getCanHide())
              .map((column) => ({
                label: say(columnOf[column.id]!.head),
                isSwitch: true,
                isChosen: column.getIsVisible(),
                run: () => column.toggleVisibility(),
              }))}
          />
        </div>
      )}
      <div className="scrolls xl:overflow-visible" tabIndex={0}>
        <table className="data [&_time]:whitespace-nowrap" aria-label={say(label)}>
          <thead>
            <tr>
              {table.getVisibleLeafColumns().map((column) => {
                const { head, isNumber, sortBy } = columnOf[column.id]!;
                const [sorted, arrow] = SORTED[column.getIsSorted() || "none"];
                return (
                  <th
                    key={head}
                    scope="col"
                    className={`sticky top-0 z-1 bg-page shadow-[inset_0_-1px_var(--line)] ${isNumber ? "text-right!" : ""}`}
                    aria-sort={sortBy ? sorted : undefined}
                  >
                    {sortBy ? (
                      <button
                        type="button"
                        className="underline"
                        onClick={
                          typeof sortBy === "string" ? () => sort?.onChange(sortBy) : () => column.toggleSorting()
                        }
                      >
                        {say(head)}
                        {arrow}
                      </button>
                    ) : (
                      <span className={head === "app.acts" ? "sr-only" : ""}>{say(head)}</span>
                    )}
                  </th>
                );
              })}
            </tr>
          </thead>
          <tbody>
            {table.getRowModel().rows.map((row) => (
              <tr key={row.id} data-row={row.id}>
                {row.getVisibleCells().map(({ id, column }) => {
                  const { cell, isNumber, isHeading, className = "" } = columnOf[column.id]!;
                  const Cell = isHeading ? "th" : "td";
                  return (
                    <Cell
                      key={id}
                      scope={isHeading ? "row" : undefined}
                      className={`${isNumber ? "whitespace-nowrap text-right" : ""} ${typeof className === "string" ? className : className(row.original)}`}
                    >
                      {cell(row.original)}
                    </Cell>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}

/** Which columns are shown; those that are hidden are kept for this device, like the appearance. */
function useVisibility(label: Key): [ColumnVisibilityState, OnChangeFn<ColumnVisibilityState>] {
  const name = `maas.hidden.${label}`;
  const [visibility, setVisibility] = useState<ColumnVisibilityState>(() =>
    Object.fromEntries((localStorage.getItem(name) ?? "").split(",").map((head) => [head, false])),
  );
  const change = (updater: Updater<ColumnVisibilityState>) => {
    const next = functionalUpdate(updater, visibility);
    setVisibility(next);
    localStorage.setItem(
      name,
      Object.keys(next)
        .filter((head) => !next[head])
        .join(),
    );
  };
  return [visibility, change];
}
