// A server for the tests of parts: it answers what it is told to, and remembers what it was asked.

import { vi } from "vitest";

export interface Asked {
  method: string;
  path: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it as they expect it
  body: any;
  credential: string | null;
}

type Reply = { status?: number; body?: unknown };

/** Answer all requests with what `answer` says; the list of requests grows as they arrive. */
export function serve(answer: (asked: Asked) => Reply | Promise<Reply>): Asked[] {
  const all: Asked[] = [];
  vi.stubGlobal("fetch", async (url: string, options: RequestInit = {}) => {
    const credential = new Headers(options.headers).get("authorization");
    const asked = {
      method: options.method ?? "GET",
      path: String(url),
      body: options.body ? JSON.parse(String(options.body)) : null,
      credential,
    };
    all.push(asked);
    const { status = 200, body = {} } = await answer(asked);
    return new Response(status === 204 ? null : JSON.stringify(body), { status });
  });
  return all;
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
  auth_url: null,
  anon_key: null,
  version: "0",
};
