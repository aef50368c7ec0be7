// Requests to the server: the credential of the session, one renewal when it has expired.

import { session } from "../session/session";
import { ApiError, readError } from "./error";
import type { Answer, Body, Query, Route } from "./route";

type Content = object | FormData | Blob;
type Attempt = (
  method: string,
  path: string,
  body: Content | undefined,
  signal: AbortSignal | undefined,
  headers: HeadersInit,
) => Promise<Response>;

/** Send a request with the credential of the session. Throws ApiError for every status but 2xx. */
export async function send(
  method: string,
  path: string,
  body?: Content,
  signal?: AbortSignal,
  headers: HeadersInit = {},
  attempt: Attempt = fetched,
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

/** Send a form as `send` does; `onProgress` hears how much of it has gone, 0 to 1, which fetch does not tell. */
export function sendForm(path: string, form: FormData, onProgress: (share: number) => void): Promise<Response> {
  return send("POST", path, form, undefined, {}, (method, to) => posted(method, to, form, onProgress));
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

const fetched: Attempt = async (method, path, body, signal, headers) => {
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
};

function posted(method: string, path: string, form: FormData, onProgress: (share: number) => void): Promise<Response> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open(method, path);
    for (const [name, value] of Object.entries(session.headers())) request.setRequestHeader(name, value);
    request.upload.onprogress = ({ loaded, total }) => onProgress(total ? loaded / total : 0);
    request.onload = () => {
      const named = ["retry-after", "x-request-id"].flatMap((name): [string, string][] => {
        const value = request.getResponseHeader(name);
        return value === null ? [] : [[name, value]];
      });
      resolve(new Response(request.responseText || null, { status: request.status, headers: named }));
    };
    request.onerror = () => reject(new ApiError(0, "unreachable", path, null));
    request.send(form);
  });
}

async function read<T>(response: Response): Promise<T> {
  return response.status === 204 ? (undefined as T) : response.json();
}
