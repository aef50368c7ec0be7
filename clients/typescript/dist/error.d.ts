export declare class MaasError extends Error {
    readonly code: string;
    readonly status: number | null;
    readonly details: Record<string, unknown>;
    readonly requestId: string | null;
    readonly retryAfterS: number | null;
    name: string;
    /**
     * `code` is for programs, such as `not_found`; `status` is that of HTTP: 0 where the server did not answer, null where
     * it is a run that has no answer (`requestId` is its id then, else that of the request in the server's log).
     */
    constructor(code: string, message: string, status: number | null, details?: Record<string, unknown>, requestId?: string | null, retryAfterS?: number | null);
    /** Whether the same request may succeed later: the server was away, or there were too many requests. */
    get isTemporary(): boolean;
}
/** The error that a response stands for; a proxy may have written its body, so it can be anything. */
export declare function readError(response: Response): Promise<MaasError>;
