// The one error of requests, and how it is read from a response.

export class ApiError extends Error {
  constructor(
    readonly status: number, // 0: the server did not answer
    readonly code: string,
    message: string,
    readonly requestId: string | null,
    readonly retryAfterS: number | null = null,
    readonly said: string | null = null, // for people, in the language of the assistant
  ) {
    super(message);
  }
}

/** Read `{error: {code, message}}`, or the errors of the sign-in routes, `{error_code, msg}`. */
export async function readError(response: Response): Promise<ApiError> {
  const body = await response.json().catch(() => null);
  const code = body?.error?.code ?? body?.error_code ?? `http_${response.status}`;
  const message = body?.error?.message ?? body?.msg ?? response.statusText;
  const said = body?.error?.details?.say ?? null;
  const retryAfter = Number(response.headers.get("retry-after"));
  return new ApiError(response.status, code, message, response.headers.get("x-request-id"), retryAfter || null, said);
}
