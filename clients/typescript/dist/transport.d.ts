import { MaasError } from "./error.js";
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
export declare class Transport {
    #private;
    readonly retries: number;
    constructor({ url, apiKey, retries, timeoutMs, fetch }: Options);
    /** The JSON of the reply, undefined for an empty one. Throws MaasError, and the reason of a signal that is aborted. */
    call<T>(method: string, path: string, call?: Call): Promise<T>;
    /** One attempt; the response, whose body may still be coming. */
    attempt(method: string, path: string, { query, body, headers, signal, longPollMs }: Call): Promise<Response>;
}
/** The error of a connection that broke; the reason of the caller's own signal stays what it is. */
export declare function lost(error: unknown, signal: AbortSignal | undefined): unknown;
export declare function backoffMs(error: MaasError, attempt: number): number;
export declare function pause(ms: number, signal?: AbortSignal): Promise<void>;
