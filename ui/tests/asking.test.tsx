// What is asked before it is done: dangerous acts, and leaving what is not saved. Filters wait until one pauses.

import { act, cleanup, fireEvent, render, renderHook, screen, waitFor } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Link, Router } from "wouter";

import { Filter } from "../src/admin/filters";
import { ConfirmButton } from "../src/parts/confirm";
import { askToLeave, useUnsaved } from "../src/parts/unsaved";
import { chooseLanguage } from "../src/texts";

beforeEach(() => {
  chooseLanguage("en");
  HTMLDialogElement.prototype.showModal = function open() {
    this.open = true;
  };
});
afterEach(() => {
  cleanup();
  chooseLanguage(null);
  vi.useRealTimers();
});

test("a dangerous act waits for the name to be typed, and shows its error", async () => {
  const onConfirm = vi.fn().mockRejectedValueOnce(new Error("you may not")).mockResolvedValue(null);
  render(<ConfirmButton label="Make" title="Make Ann one?" what="Everything." word="Ann" onConfirm={onConfirm} />);
  fireEvent.click(screen.getByRole("button", { name: "Make" }));
  const dialog = screen.getByRole("dialog", { name: "Make Ann one?" });
  const button = dialog.querySelector<HTMLButtonElement>("button[type=submit]")!;
  expect(button.disabled).toBe(true);
  fireEvent.change(screen.getByLabelText("Type Ann to confirm"), { target: { value: "Ann" } });
  fireEvent.click(button);
  expect((await screen.findByRole("alert")).textContent).toContain("you may not");
  fireEvent.click(button);
  await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
  expect(onConfirm).toHaveBeenCalledTimes(2);
});

test("without a word to type, it is asked all the same", () => {
  const onConfirm = vi.fn().mockResolvedValue(null);
  render(<ConfirmButton label="Revoke" title="Revoke it?" what="At once." onConfirm={onConfirm} />);
  fireEvent.click(screen.getByRole("button", { name: "Revoke" }));
  expect(onConfirm).not.toHaveBeenCalled();
  fireEvent.click(screen.getByRole("dialog").querySelector("button[type=submit]")!);
  expect(onConfirm).toHaveBeenCalledOnce();
});

test("leaving what is not saved is asked for, by a link, by the way back and by closing", () => {
  const start = window.location.href;
  window.history.pushState(null, "", "/ui/admin/prompts/Mentor");
  const answer = vi.spyOn(window, "confirm").mockReturnValue(false);
  const { rerender } = renderHook(({ is }) => useUnsaved(is), { initialProps: { is: true } });
  render(
    <Router base="/ui" aroundNav={askToLeave}>
      <Link href="/memory">Memory</Link>
    </Router>,
  );
  const closing = new Event("beforeunload", { cancelable: true });
  window.dispatchEvent(closing);
  expect(closing.defaultPrevented).toBe(true);
  fireEvent.click(screen.getByText("Memory"));
  expect(window.location.pathname).toBe("/ui/admin/prompts/Mentor");
  window.history.replaceState(null, "", "/ui/history"); // where the way back has led
  window.dispatchEvent(new PopStateEvent("popstate"));
  expect(window.location.pathname).toBe("/ui/admin/prompts/Mentor");
  expect(answer).toHaveBeenCalledTimes(2);
  rerender({ is: false }); // saved
  fireEvent.click(screen.getByText("Memory"));
  expect(window.location.pathname).toBe("/ui/memory");
  expect(answer).toHaveBeenCalledTimes(2);
  window.history.replaceState(null, "", start);
});

test("a filter applies once when typing pauses, at once with Enter, and follows what is set from outside", () => {
  vi.useFakeTimers();
  const onChange = vi.fn();
  const { rerender } = render(<Filter label="User" value="" onChange={onChange} />);
  const input = screen.getByLabelText<HTMLInputElement>("User");
  for (const value of ["e", "em", "emp"]) {
    fireEvent.change(input, { target: { value } });
    act(() => vi.advanceTimersByTime(200));
  }
  expect(onChange).not.toHaveBeenCalled();
  act(() => vi.advanceTimersByTime(200));
  expect(onChange.mock.calls).toEqual([["emp"]]);
  rerender(<Filter label="User" value="emp" onChange={onChange} />);
  fireEvent.change(input, { target: { value: "employee" } });
  fireEvent.keyDown(input, { key: "Enter" });
  expect(onChange.mock.calls).toEqual([["emp"], ["employee"]]);
  rerender(<Filter label="User" value="" onChange={onChange} />);
  expect(input.value).toBe("");
});
