// The one error of requests, and how it is read from a response.
export class MaasError extends Error {
    code;
    status;
    details;
    requestId;
    retryAfterS;
    name = "MaasError";
    /**
     * `code` is for programs, such as `not_found`; `status` is that of HTTP: 0 where the server did not answer, null where
     * it is a run that has no answer (`requestId` is its id then, else that of the request in the server's log).
     */
    constructor(code, message, status, details = {}, requestId = null, retryAfterS = null) {
        super(message);
        this.code = code;
        this.status = status;
        this.details = details;
        this.requestId = requestId;
        this.retryAfterS = retryAfterS;
    }
    /** Whether the same request may succeed later: the server was away, or there were too many requests. */
    get isTemporary() {
        return [0, 429, 502, 503, 504].includes(this.status ?? -1);
    }
}
/** The error that a response stands for; a proxy may have written its body, so it can be anything. */
export async function readError(response) {
    const body = await response.json().catch(() => null);
    const { code = `http_${response.status}`, message = `the reply was HTTP ${response.status}`, details, } = body?.error ?? {};
    const retryAfterS = Number(response.headers.get("retry-after")) || null;
    const requestId = response.headers.get("x-request-id");
    return new MaasError(String(code), String(message), response.status, details ?? {}, requestId, retryAfterS);
}
