// The one error of requests, and how it is read from a response.

export class MaasError extends Error {
  override name = "MaasError";

  /**
   * `code` is for programs, such as `not_found`; `status` is that of HTTP: 0 where the server did not answer, null where
   * it is a run that has no answer (`requestId` is its id then, else that of the request in the server's log).
   */
  constructor(
    readonly code: string,
    message: string,
    readonly status: number | null,
    readonly details: Record<string, unknown> = {},
    readonly requestId: string | null = null,
    readonly retryAfterS: number | null = null,
  ) {
    super(message);
  }

  /** Whether the same request may succeed later: the server was away, or there were too many requests. */
  get isTemporary(): boolean {
    return [0, 429, 502, 503, 504].includes(this.status ?? -1);
  }
}

/** The error that a response stands for; a proxy may have written its body, so it can be anything. */
export async function readError(response: Response): Promise<MaasError> {
  const body = await response.json().catch(() => null);
  const {
    code = `http_${response.status}`,
    message = `the reply was HTTP ${response.status}`,
    details,
  } = body?.error ?? {};
  const retryAfterS = Number(response.headers.get("retry-after")) || null;
  const requestId = response.headers.get("x-request-id");
  return new MaasError(String(code), String(message), response.status, details ?? {}, requestId, retryAfterS);
}
