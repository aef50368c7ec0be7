// What browsers have only over https or on localhost is not needed.

import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";

import { CopyButton } from "../src/parts/copy_button";
import { newUuid } from "../src/parts/uuid";

afterEach(cleanup);

test("ids are random UUIDs without crypto.randomUUID", () => {
  vi.stubGlobal("crypto", { getRandomValues: crypto.getRandomValues.bind(crypto) });
  const ids = Array.from({ length: 100 }, newUuid);
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(new Set(ids).size).toBe(100);
});

test("a text is copied by selecting it where there is no clipboard", async () => {
  let copied = "";
  document.execCommand = vi.fn(() => {
    copied = (document.activeElement as HTMLTextAreaElement).value;
    return true;
  });
  render(<CopyButton text="Comet" />);
  fireEvent.click(screen.getByRole("button", { name: "Copy" }));
  await screen.findByRole("button", { name: "Copied" });
  expect(copied).toBe("Comet");
  expect(document.querySelector("textarea")).toBeNull();
});

test("a button that could not copy says so", async () => {
  document.execCommand = vi.fn(() => false);
  render(<CopyButton text="Comet" />);
  fireEvent.click(screen.getByRole("button", { name: "Copy" }));
  await screen.findByRole("button", { name: /does not allow copying/ });
});
