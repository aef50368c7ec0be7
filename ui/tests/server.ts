// A server for the tests of parts: it answers what it is told to, and remembers what it was asked.

import { vi } from "vitest";

export interface Asked {
  method: string;
  path: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it as they expect it
  body: any;
  credential: string | null;
  lastEventId: string | null;
}

type Chunk = string | Uint8Array;

export interface Reply {
  status?: number;
  body?: unknown; // JSON
  chunks?: Chunk[]; // instead of it, pieces of a stream
  isOpen?: boolean; // the stream does not end
  onOpen?: (enqueue: (chunk: string) => void) => void; // gives a way to say more
  headers?: Record<string, string>;
}

/** Answer all requests with what `answer` says; the list of requests grows as they arrive. */
export function serve(answer: (asked: Asked) => Reply | Promise<Reply>): Asked[] {
  const all: Asked[] = [];
  vi.stubGlobal("fetch", async (url: string, options: RequestInit = {}) => {
    const sent = new Headers(options.headers);
    const asked = {
      method: options.method ?? "GET",
      path: String(url),
      body: options.body ? JSON.parse(String(options.body)) : null,
      credential: sent.get("authorization"),
      lastEventId: sent.get("last-event-id"),
    };
    all.push(asked);
    const { status = 200, body = {}, chunks, isOpen, onOpen, headers } = await answer(asked);
    if (status === 204) return new Response(null, { status });
    return new Response(chunks ? streamOf(chunks, isOpen, onOpen) : JSON.stringify(body), { status, headers });
  });
  vi.stubGlobal("XMLHttpRequest", formsTo(answer, all));
  return all;
}

/** XMLHttpRequest as the page uses it for forms: half of a form has gone, then there is the reply. */
function formsTo(answer: (asked: Asked) => Reply | Promise<Reply>, all: Asked[]) {
  return class {
    upload: { onprogress?: (event: { loaded: number; total: number }) => void } = {};
    onload = () => undefined;
    status = 0;
    responseText = "";
    private asked: Asked = { method: "", path: "", body: null, credential: null, lastEventId: null };
    open = (method: string, path: string) => Object.assign(this.asked, { method, path });
    setRequestHeader = (name: string, value: string) =>
      name.toLowerCase() === "authorization" && Object.assign(this.asked, { credential: value });
    getResponseHeader = () => null;
    send = async (form: FormData) => {
      this.asked.body = Object.fromEntries(
        [...form].map(([name, one]) => [name, one instanceof File ? one.name : one]),
      );
      all.push(this.asked);
      this.upload.onprogress?.({ loaded: 1, total: 2 });
      const { status = 200, body = {} } = await answer(this.asked);
      Object.assign(this, { status, responseText: JSON.stringify(body) });
      this.onload();
    };
  };
}

/** What the sign-in routes answer for a person. */
export function tokensOf(name: string) {
  return {
    access_token: `token of ${name}`,
    expires_in: 3600,
    user: { id: idOf(name), email: `${name}@example.org`, user_metadata: { name } },
  };
}

export function idOf(name: string): string {
  return `00000000-0000-4000-8000-${[...name]
    .map((letter) => letter.charCodeAt(0).toString(16))
    .join("")
    .padStart(12, "0")}`;
}

export const CONFIG = {
  auth: "local",
  local_user_id: null,
  is_signup_open: true,
  attachment_bytes: 10 * 1024 * 1024,
  knowledge_bytes: 50 * 1024 * 1024,
  link_days: 0,
  trace_url: null,
  auth_url: null,
  anon_key: null,
  version: "0",
};

/** What the route of assistants answers. */
export const ASSISTANTS = { body: { results: [{ name: "mentor", title: "Mentor", description: null, voice: null }] } };

function streamOf(chunks: Chunk[], isOpen = false, onOpen?: Reply["onOpen"]): ReadableStream {
  return new ReadableStream({
    start(controller) {
      const enqueue = (chunk: Chunk) =>
        controller.enqueue(typeof chunk === "string" ? new TextEncoder().encode(chunk) : chunk);
      chunks.forEach(enqueue);
      onOpen?.(enqueue);
      if (!isOpen) controller.close();
    },
  });
}
