// Requests over fetch: the key, time limits, and attempts after lost replies and temporary refusals.

import { MaasError, readError } from "./error.js";

const BACKOFF_MS = 200;
const MAX_BACKOFF_MS = 10_000;
const MAX_RETRY_AFTER_S = 60; // a longer one is an error instead of a pause

export interface Options {
  /** Where the server is, `http://127.0.0.1:8000` by default; "" for the origin of a page that the server serves. */
  url?: string;
  apiKey?: string;
  /** Attempts after the first, 4 by default. */
  retries?: number;
  /** Milliseconds for one reply, 30,000 by default. */
  timeoutMs?: number;
  /** What is called instead of the global fetch. */
  fetch?: typeof fetch;
}

export interface Call {
  query?: Record<string, unknown>;
  body?: object;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  /** Milliseconds for which the server may hold the reply. */
  longPollMs?: number;
  /** After a lost reply, an error with this code means that the lost attempt succeeded: the call returns undefined. */
  doneCode?: string;
  /** Whether a lost reply is no reason to send it again: true by default, as calls have ids and keys of their own. */
  isRepeatable?: boolean;
}

export class Transport {
  readonly retries: number;
  readonly #url: string;
  readonly #headers: Record<string, string>;
  readonly #timeoutMs: number;
  readonly #fetch: typeof fetch;

  constructor({ url = "http://127.0.0.1:8000", apiKey, retries = 4, timeoutMs = 30_000, fetch }: Options) {
    this.#url = url.replace(/\/+$/, "");
    this.#headers = apiKey ? { authorization: `Bearer ${apiKey}` } : {};
    this.retries = retries;
    this.#timeoutMs = timeoutMs;
    this.#fetch = fetch ?? ((input, init) => globalThis.fetch(input, init));
  }

  /** The JSON of the reply, undefined for an empty one. Throws MaasError, and the reason of a signal that is aborted. */
  async call<T>(method: string, path: string, call: Call = {}): Promise<T> {
    for (let attempt = 0; ; attempt++) {
      try {
        const reply = await this.attempt(method, path, call);
        if (reply.status === 204) return undefined as T;
        return await reply.json().catch((error) => {
          throw lost(error, call.signal);
        });
      } catch (error) {
        if (!(error instanceof MaasError)) throw error;
        if (attempt > 0 && error.code === call.doneCode) return undefined as T;
        const isSafe = error.status === 429 || call.isRepeatable !== false;
        if (!isSafe || !error.isTemporary || attempt >= this.retries) throw error;
        if ((error.retryAfterS ?? 0) > MAX_RETRY_AFTER_S) throw error;
        await pause(backoffMs(error, attempt), call.signal);
      }
    }
  }

  /** One attempt; the response, whose body may still be coming. */
  async attempt(
    method: string,
    path: string,
    { query, body, headers, signal, longPollMs = 0 }: Call,
  ): Promise<Response> {
    const isForm = body instanceof FormData;
    const limit = AbortSignal.timeout(this.#timeoutMs + longPollMs);
    let reply: Response;
    try {
      reply = await this.#fetch(this.#url + path + toQuery(query), {
        method,
        headers: { ...this.#headers, ...(body && !isForm ? { "content-type": "application/json" } : {}), ...headers },
        body: body && !isForm ? JSON.stringify(body) : (body as FormData | undefined),
        signal: signal ? AbortSignal.any([signal, limit]) : limit,
      });
    } catch (error) {
      throw lost(error, signal);
    }
    if (!reply.ok) throw await readError(reply);
    return reply;
  }
}

/** The error of a connection that broke; the reason of the caller's own signal stays what it is. */
export function lost(error: unknown, signal: AbortSignal | undefined): unknown {
  if (signal?.aborted) return signal.reason;
  const { message, cause } = error as Error;
  const why = cause instanceof Error ? `${message}: ${cause.message}` : message;
  return new MaasError("unreachable", `the server does not answer (${why})`, 0);
}

export function backoffMs(error: MaasError, attempt: number): number {
  const backoff = Math.min(BACKOFF_MS * 2 ** attempt, MAX_BACKOFF_MS) * (0.5 + Math.random());
  return Math.max((error.retryAfterS ?? 0) * 1000, backoff);
}

export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    if (signal?.aborted) stop();
    else signal?.addEventListener("abort", stop, { once: true });
  });
}

/** `?a=1&b=2` without the parameters that are empty. */
function toQuery(query: Record<string, unknown> = {}): string {
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return pairs.length ? `?${new URLSearchParams(pairs.map(([name, value]) => [name, String(value)]))}` : "";
}
