// An error while a part is shown stays within that part, which says what happened and offers ways on.

import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { Boundary } from "../src/parts/boundary";

let isBroken = true;
beforeEach(() => {
  isBroken = true;
  vi.spyOn(console, "error").mockImplementation(() => undefined); // React tells of the error, too
});
afterEach(cleanup);

function Part() {
  if (isBroken) throw new Error("the answer has no shape");
  return <p>the answer</p>;
}

test("an error is shown in place of the part, and trying again shows the part", () => {
  render(
    <>
      <p>the frame</p>
      <Boundary>
        <Part />
      </Boundary>
    </>,
  );
  expect(screen.getByText("the frame")).toBeTruthy();
  expect(screen.getByRole("alert").textContent).toContain("the answer has no shape");
  expect(screen.getByRole("button", { name: "Reload the page" })).toBeTruthy();
  expect(screen.getByRole("link", { name: "Go to the start page" }).getAttribute("href")).toBe("/ui/");
  isBroken = false;
  fireEvent.click(screen.getByRole("button", { name: "Try again" }));
  expect(screen.getByText("the answer")).toBeTruthy();
});

test("another place is shown although this one was broken", () => {
  const { rerender } = render(
    <Boundary place="/memory">
      <Part />
    </Boundary>,
  );
  expect(screen.getByRole("alert")).toBeTruthy();
  isBroken = false;
  rerender(
    <Boundary place="/history">
      <Part />
    </Boundary>,
  );
  expect(screen.getByText("the answer")).toBeTruthy();
});
