// Menus and tabs by keys alone.

import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { useState } from "react";
import { afterEach, expect, test, vi } from "vitest";

import { Menu } from "../src/parts/menu";
import { Tabs } from "../src/parts/tabs";

afterEach(() => {
  cleanup();
  vi.useRealTimers();
});

const NAMES = ["one", "two", "three"] as const;

function Three() {
  const [chosen, setChosen] = useState<(typeof NAMES)[number]>("one");
  return <Tabs label="All" panel="p" names={NAMES} chosen={chosen} titleOf={(name) => name} onChoose={setChosen} />;
}

const press = (key: string) => fireEvent.keyDown(document.activeElement!, { key });
const focused = () => document.activeElement!.textContent;

test("the arrow down opens a menu, and letters walk it", () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const labels = ["Archive", "Delete", "Pin", "Put away"];
  render(<Menu label="More" commands={labels.map((label) => ({ label, run: () => undefined }))} />);
  screen.getByRole("button", { name: "More" }).focus();
  press("ArrowDown");
  expect(focused()).toBe("Archive");
  press("p");
  expect(focused()).toBe("Pin");
  press("u");
  expect(focused()).toBe("Put away");
  vi.advanceTimersByTime(1000);
  press("d");
  expect(focused()).toBe("Delete");
  vi.advanceTimersByTime(1000);
  press("p");
  press("p");
  expect(focused()).toBe("Put away");
  press("x");
  expect(focused()).toBe("Put away");
  press("Escape");
  expect(screen.queryByRole("menu")).toBeNull();
  expect(document.activeElement!.getAttribute("aria-label")).toBe("More");
});

test("the Tab key stops once at tabs, which arrows, Home and End walk", () => {
  render(<Three />);
  screen.getByRole("tab", { name: "one" }).focus();
  const stops = () => screen.getAllByRole("tab").filter(({ tabIndex }) => tabIndex === 0);
  for (const [key, name] of [
    ["ArrowRight", "two"],
    ["End", "three"],
    ["ArrowRight", "one"],
    ["ArrowLeft", "three"],
    ["Home", "one"],
  ] as const) {
    press(key);
    expect(focused()).toBe(name);
    expect(stops().map(({ textContent }) => textContent)).toEqual([name]);
    expect(screen.getByRole("tab", { selected: true }).textContent).toBe(name);
  }
});
