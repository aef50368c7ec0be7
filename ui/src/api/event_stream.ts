// Server-sent events over fetch: EventSource cannot send a credential, and a URL must not hold one.

import { reportConnection } from "../session/connection";
import { ApiError } from "./error";
import { send } from "./http";

export interface ServerEvent {
  id: string;
  type: string;
  data: unknown;
}

const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 10_000;
const SILENCE_MS = 40_000; // the server sends a comment every 15 s

/**
 * Call `take` with the events of `path` until the server ends the stream (204) or `signal` is aborted.
 * A lost connection is opened again behind the last event. Throws ApiError when the server refuses.
 */
export async function follow(
  path: string,
  signal: AbortSignal,
  take: (event: ServerEvent) => void,
  isOver: () => boolean,
) {
  let last = "";
  let pauseMs = FIRST_PAUSE_MS;
  while (!signal.aborted && !isOver()) {
    try {
      const response = await send("GET", path, undefined, signal, last ? { "last-event-id": last } : {});
      if (response.status === 204) return;
      await readEvents(response, signal, (event) => {
        pauseMs = FIRST_PAUSE_MS;
        last = event.id || last;
        take(event);
      });
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof ApiError && error.status >= 400 && error.status < 500 && error.status !== 429) throw error;
      if (error instanceof ApiError && error.status === 0) reportConnection(false);
    }
    if (signal.aborted || isOver()) return;
    await pause(pauseMs * (0.5 + Math.random()), signal);
    pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS);
  }
}

async function readEvents(response: Response, signal: AbortSignal, take: (event: ServerEvent) => void) {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  reportConnection(true);
  let rest = "";
  try {
    while (!signal.aborted) {
      const { done, value } = await withTimeout(reader.read());
      if (done) return;
      const blocks = (rest + value).split("\n\n");
      rest = blocks.pop() ?? "";
      for (const block of blocks) {
        const event = parse(block);
        if (event) take(event);
      }
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
}

/** Parse one event; null for a comment. */
export function parse(block: string): ServerEvent | null {
  const fields = new Map<string, string>();
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    if (colon > 0) fields.set(line.slice(0, colon), line.slice(colon + 1).trimStart());
  }
  const data = fields.get("data");
  return data === undefined
    ? null
    : { id: fields.get("id") ?? "", type: fields.get("event") ?? "message", data: JSON.parse(data) };
}

async function withTimeout<T>(reading: Promise<T>): Promise<T> {
  let timer = 0;
  const silence = new Promise<never>((_, reject) => {
    timer = window.setTimeout(() => reject(new ApiError(0, "silent", "the server is silent", null)), SILENCE_MS);
  });
  try {
    return await Promise.race([reading, silence]);
  } finally {
    window.clearTimeout(timer);
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = window.setTimeout(resolve, ms);
    const wake = () => {
      window.clearTimeout(timer);
      resolve();
    };
    signal.addEventListener("abort", wake, { once: true });
    window.addEventListener("online", wake, { once: true });
  });
}
