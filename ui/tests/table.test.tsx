// The table of the pages of administrators: rows sorted in the browser, columns hidden and remembered, and what is open in a row.

import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { useState } from "react";
import { afterEach, beforeEach, expect, test } from "vitest";

import { type Column, Table } from "../src/admin/table";
import { chooseLanguage } from "../src/texts";

interface Row {
  name: string;
  calls: number | null;
}

const ROWS: Row[] = [
  { name: "b", calls: 2 },
  { name: "none", calls: null },
  { name: "a", calls: 10 },
];

/** A cell with a state of its own, as a button that asks has. */
function Opener({ name }: { name: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <button type="button" onClick={() => setOpen(true)}>
      {isOpen ? `open ${name}` : name}
    </button>
  );
}

const COLUMNS: Column<Row>[] = [
  { head: "admin.model", cell: (row) => <Opener name={row.name} /> },
  { head: "admin.calls", isNumber: true, sortBy: (row) => row.calls, cell: (row) => row.calls ?? "–" },
  { head: "admin.failed", cell: () => "0" },
  { head: "admin.timeouts", cell: () => "0" },
  { head: "admin.lastError", cell: () => "–" },
  { head: "app.acts", cell: () => "Pause" },
];

function show(columns = COLUMNS) {
  render(<Table label="admin.models" columns={columns} rows={[...ROWS]} idOf={(row) => row.name} />);
}

beforeEach(() => {
  chooseLanguage("en");
  localStorage.clear();
});
afterEach(cleanup);

const order = () => [...document.querySelectorAll("[data-row]")].map((row) => row.getAttribute("data-row"));
const heads = () => screen.getAllByRole("columnheader").map(({ textContent }) => textContent);
const sorted = () => screen.getByRole("columnheader", { name: /^Model calls/ }).getAttribute("aria-sort");

test("rows are sorted the highest first, then the lowest, then as they came; what is not known is last", () => {
  show();
  const sort = () => fireEvent.click(screen.getByRole("button", { name: /^Model calls/ }));
  expect([sorted(), order()]).toEqual(["none", ["b", "none", "a"]]);
  sort();
  expect([sorted(), order()]).toEqual(["descending", ["a", "b", "none"]]);
  sort();
  expect([sorted(), order()]).toEqual(["ascending", ["b", "a", "none"]]);
  sort();
  expect([sorted(), order()]).toEqual(["none", ["b", "none", "a"]]);
});

test("what is open in a row stays open when rows are sorted and columns hidden", () => {
  show();
  fireEvent.click(screen.getByRole("button", { name: "b" }));
  fireEvent.click(screen.getByRole("button", { name: "Model calls" }));
  fireEvent.click(screen.getByRole("button", { name: "Columns" }));
  fireEvent.click(screen.getByRole("menuitemcheckbox", { name: "Timeouts" }));
  expect(screen.getByRole("button", { name: "open b" })).toBeTruthy();
});

test("columns are hidden one after another, but for what heads a row and what can be done, and stay so", () => {
  show();
  fireEvent.click(screen.getByRole("button", { name: "Columns" }));
  const names = screen.getAllByRole("menuitemcheckbox").map(({ textContent }) => textContent);
  expect(names).toEqual(["Model calls", "Failed", "Timeouts", "Last error"]);
  for (const name of ["Failed", "Timeouts"]) fireEvent.click(screen.getByRole("menuitemcheckbox", { name }));
  expect(screen.getByRole("menuitemcheckbox", { name: "Failed" }).getAttribute("aria-checked")).toBe("false");
  expect(heads()).toEqual(["Model", "Model calls", "Last error", "What can be done"]);
  cleanup();
  show();
  expect(heads()).toEqual(["Model", "Model calls", "Last error", "What can be done"]);
  expect(screen.getAllByRole("cell")).toHaveLength(4 * ROWS.length);
  fireEvent.click(screen.getByRole("button", { name: "Columns" }));
  fireEvent.click(screen.getByRole("menuitemcheckbox", { name: "Failed" }));
  expect(heads()).toContain("Failed");
});

test("a table of few columns has no menu, and the head of a row is one", () => {
  show([{ ...COLUMNS[0]!, isHeading: true }, COLUMNS[1]!, { ...COLUMNS[2]!, isLeftOut: true }]);
  expect(screen.queryByRole("button", { name: "Columns" })).toBeNull();
  expect(screen.getByRole("table", { name: "Models" })).toBeTruthy();
  expect(screen.getAllByRole("rowheader")).toHaveLength(ROWS.length);
  expect(heads()).toEqual(["Model", "Model calls"]);
});
