// Requests to the server: the credential of the session, one renewal when it has expired.

import { session } from "../session/session";
import { ApiError, readError } from "./error";
import type { Answer, Body, Query, Route } from "./route";

type Content = object | FormData | Blob;

/** Send a request with the credential of the session. Throws ApiError for every status but 2xx. */
export async function send(
  method: string,
  path: string,
  body?: Content,
  signal?: AbortSignal,
  headers: HeadersInit = {},
) {
  const { userId } = session;
  let response = await attempt(method, path, body, signal, headers);
  if (response.status === 401 && session.userId === userId && (await session.renew()) && session.userId === userId) {
    response = await attempt(method, path, body, signal, headers);
  }
  if (response.status === 401 && session.userId === userId) session.expire(); // somebody else may have signed in meanwhile
  if (!response.ok) throw await readError(response);
  return response;
}

export async function get<Path extends Route<"get">>(
  path: Path,
  query?: Query<"get", Path>,
  signal?: AbortSignal,
): Promise<Answer<"get", Path>> {
  return (await send("GET", path + toQuery(query), undefined, signal)).json();
}

export async function post<Path extends Route<"post">>(
  path: Path,
  body?: Body<"post", Path>,
  headers?: HeadersInit,
): Promise<Answer<"post", Path>> {
  return read(await send("POST", path, body, undefined, headers));
}

export async function put<Path extends Route<"put">>(
  path: Path,
  body: Body<"put", Path>,
): Promise<Answer<"put", Path>> {
  return read(await send("PUT", path, body));
}

export async function patch<Path extends Route<"patch">>(
  path: Path,
  body: Body<"patch", Path>,
): Promise<Answer<"patch", Path>> {
  return read(await send("PATCH", path, body));
}

export async function remove<Path extends Route<"delete">>(
  path: Path,
  query?: Query<"delete", Path>,
): Promise<Answer<"delete", Path>> {
  return read(await send("DELETE", path + toQuery(query)));
}

/** `?a=1&b=2` without the parameters that are empty. */
export function toQuery(query: object = {}): string {
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return pairs.length ? `?${new URLSearchParams(pairs.map(([name, value]) => [name, String(value)]))}` : "";
}

async function attempt(
  method: string,
  path: string,
  body: Content | undefined,
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
