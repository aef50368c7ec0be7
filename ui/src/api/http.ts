// Requests to the server: the credential of the session, one renewal when it has expired.

import { session } from "../session/session";
import { ApiError, readError } from "./error";

type Body = Record<string, unknown> | FormData | Blob;

/** Send a request with the credential of the session. Throws ApiError for every status but 2xx. */
export async function send(method: string, path: string, body?: Body, signal?: AbortSignal, headers: HeadersInit = {}) {
  const { userId } = session;
  let response = await attempt(method, path, body, signal, headers);
  if (response.status === 401 && session.userId === userId && (await session.renew()) && session.userId === userId) {
    response = await attempt(method, path, body, signal, headers);
  }
  if (response.status === 401 && session.userId === userId) session.expire(); // somebody else may have signed in meanwhile
  if (!response.ok) throw await readError(response);
  return response;
}

export async function get<T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<T> {
  return (await send("GET", path + toQuery(query), undefined, signal)).json();
}

export async function post<T>(path: string, body?: Body, headers?: HeadersInit): Promise<T> {
  return read<T>(await send("POST", path, body, undefined, headers));
}

export async function put<T>(path: string, body: Body): Promise<T> {
  return read<T>(await send("PUT", path, body));
}

export async function patch<T>(path: string, body: Body): Promise<T> {
  return read<T>(await send("PATCH", path, body));
}

export async function remove<T>(path: string, query: Query = {}): Promise<T> {
  return read<T>(await send("DELETE", path + toQuery(query)));
}

export type Query = Record<string, string | number | boolean | null | undefined>;

/** `?a=1&b=2` without the parameters that are empty. */
export function toQuery(query: Query): string {
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return pairs.length ? `?${new URLSearchParams(pairs.map(([name, value]) => [name, String(value)]))}` : "";
}

async function attempt(
  method: string,
  path: string,
  body: Body | undefined,
  signal: AbortSignal | undefined,
  headers: HeadersInit,
) {
  const isJson = body !== undefined && !(body instanceof FormData) && !(body instanceof Blob);
  try {
    return await fetch(path, {
      method,
      signal,
      headers: { ...(isJson ? { "content-type": "application/json" } : {}), ...session.headers(), ...headers },
      body: isJson ? JSON.stringify(body) : (body as BodyInit | undefined),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(0, "unreachable", String(error), null);
  }
}

async function read<T>(response: Response): Promise<T> {
  return response.status === 204 ? (undefined as T) : response.json();
}
