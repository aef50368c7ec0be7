// The whole page in a browser that has no layout.

import { render, screen } from "@testing-library/react";
import { vi } from "vitest";

import { App } from "../src/app";
import { session } from "../src/session/session";

/** What the page needs of a browser and jsdom has not. */
export function prepareBrowser() {
  HTMLDialogElement.prototype.showModal = function (this: HTMLDialogElement) {
    this.open = true;
  };
  HTMLDialogElement.prototype.close = function (this: HTMLDialogElement) {
    this.open = false;
    this.dispatchEvent(new Event("close"));
  };
  class Observer {
    observe = () => undefined;
    unobserve = () => undefined;
    disconnect = () => undefined;
  }
  vi.stubGlobal("IntersectionObserver", Observer);
  vi.stubGlobal("ResizeObserver", Observer);
  localStorage.clear();
}

export async function open(path: string) {
  await session.start(); // files share it: another person than the last one begins at the first page
  window.history.replaceState(null, "", path);
  render(<App />);
  await screen.findByRole("navigation", { name: "Pages and conversations" });
}
