// A list of thousands: only what is near the screen is rendered, in its order, and what one is at stays.

import { act, cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { walkWithArrows } from "../src/parts/arrows";
import { type Group, Windowed } from "../src/parts/windowed";
import { prepareBrowser } from "./page";

const ROWS = 2000;
const ROW_PX = 40; // and each heading; jsdom measures nothing
const HEIGHT_PX = 400; // of the screen

beforeEach(() => {
  prepareBrowser();
  vi.spyOn(HTMLElement.prototype, "offsetHeight", "get").mockImplementation(function (this: HTMLElement) {
    return this.classList.contains("scrolls") ? HEIGHT_PX : ROW_PX;
  });
  vi.spyOn(Element.prototype, "clientHeight", "get").mockReturnValue(HEIGHT_PX);
  vi.spyOn(Element.prototype, "scrollHeight", "get").mockReturnValue(ROWS * ROW_PX);
});
afterEach(cleanup);

const numbers = (from: number, count: number) => Array.from({ length: count }, (_, index) => from + index);

function show(counts: Record<string, number>, hasMore = false) {
  let first = 0;
  const groups = Object.entries(counts).map(([region, count]): Group<number> => {
    const rows = numbers(first, count);
    first += count;
    return { key: region, region, heading: <h2>{region}</h2>, rows };
  });
  render(
    <div className="scrolls" data-testid="scroller" onKeyDown={walkWithArrows}>
      <div>
        <Windowed groups={groups} keyOf={String} rowPx={ROW_PX} hasMore={hasMore}>
          {(row) => (
            <a className="row-link" href={`#${row}`}>
              Row {row}
            </a>
          )}
        </Windowed>
      </div>
    </div>,
  );
}

const scrollTo = (row: number) => {
  const scroller = screen.getByTestId("scroller");
  scroller.scrollTop = row * ROW_PX;
  fireEvent.scroll(scroller);
};
const shown = () => screen.getAllByRole("link").map((one) => Number(one.textContent!.replace("Row ", "")));
const link = (row: number) => screen.getByText(`Row ${row}`);

test("of two thousand rows some dozens are rendered, those at which one is", () => {
  show({ Today: 3, Older: ROWS - 3 });
  expect(shown()).toEqual(numbers(0, shown().length));
  expect(shown().length).toBeGreaterThan(HEIGHT_PX / ROW_PX);
  for (const row of [700, ROWS - 1, 300]) {
    scrollTo(row);
    expect(shown()).toContain(row);
    expect(shown()).toEqual(numbers(shown()[0]!, shown().length));
    expect(shown().length).toBeLessThan(60);
  }
});

test("each row says which of how many of its group it is", () => {
  show({ Today: 3, Older: ROWS - 3 });
  const place = (row: number) => {
    const item = link(row).closest("li")!;
    return [item.getAttribute("aria-posinset"), item.getAttribute("aria-setsize")];
  };
  expect([place(0), place(2), place(3)]).toEqual([
    ["1", "3"],
    ["3", "3"],
    ["1", "1997"],
  ]);
  expect(screen.getByRole("region", { name: "Older" }).contains(link(3))).toBe(true);
  scrollTo(900);
  expect(place(900)).toEqual(["898", "1997"]);
  expect(screen.queryByRole("region", { name: "Today" })).toBeNull();
});

test("where more rows are to come, nobody says how many there are", () => {
  show({ Today: 3, Older: ROWS }, true);
  expect(link(0).closest("li")!.getAttribute("aria-setsize")).toBe("3");
  expect(link(4).closest("li")!.getAttribute("aria-setsize")).toBe("-1");
});

test("the row that has the focus stays with its neighbours, and the arrows go on from it", () => {
  show({ Today: 3, Older: ROWS - 3 });
  link(4).focus();
  scrollTo(900);
  expect(document.activeElement).toBe(link(4));
  expect(shown().slice(0, 4)).toEqual([3, 4, 5, shown()[3]]);
  expect(shown()[3]).toBeGreaterThan(800);
  fireEvent.keyDown(link(4), { key: "ArrowDown" });
  expect(document.activeElement).toBe(link(5));
  fireEvent.keyDown(link(5), { key: "ArrowUp" });
  fireEvent.keyDown(link(4), { key: "ArrowUp" });
  expect(document.activeElement).toBe(link(3));
  act(() => link(3).blur());
  expect(shown()[0]).toBeGreaterThan(800);
});

test("a short list is whole: the browser finds its words", () => {
  show({ Today: 3, Older: 90 });
  expect(shown()).toEqual(numbers(0, 93));
  expect(link(92).closest("li")!.hasAttribute("aria-setsize")).toBe(false);
});
