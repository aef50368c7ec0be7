// The whole page in a browser that has no layout.

import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { render, screen } from "@testing-library/react";
import { vi } from "vitest";
import { Router } from "wouter";
import { memoryLocation } from "wouter/memory-location";

import AdminPage from "../src/admin/admin";
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

/** The desk alone; returns where it has been since. */
export function openDesk(path: string): string[] {
  const { hook, searchHook, history = [] } = memoryLocation({ path, record: true });
  render(
    <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
      <Router hook={hook} searchHook={searchHook}>
        <AdminPage />
      </Router>
    </QueryClientProvider>,
  );
  return history;
}
