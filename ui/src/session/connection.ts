// Whether the server answers. A banner says so; nothing else depends on it.

import { useSyncExternalStore } from "react";

let isOnline = true;
const listeners = new Set<() => void>();

export function reportConnection(answered: boolean) {
  if (answered === isOnline) return;
  isOnline = answered;
  for (const listener of listeners) listener();
}

export function useIsOnline(): boolean {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => isOnline,
  );
}

/** Ask until the server answers again; resolves at once when it does now. */
export async function waitForServer(signal?: AbortSignal): Promise<void> {
  while (!signal?.aborted) {
    try {
      if ((await fetch("/healthz", { signal })).ok) {
        reportConnection(true);
        return;
      }
    } catch {
      reportConnection(false);
    }
    await new Promise((resolve) => window.setTimeout(resolve, 1000));
  }
}

window.addEventListener("offline", () => reportConnection(false));
window.addEventListener("online", () => void waitForServer());
