import { MaasError } from "./error.js";
import { type Transport } from "./transport.js";
export interface RunEvent {
    id: string;
    /** Such as `status`, `text`, `tool_start`, `approval_required`; the last one is `done`. */
    type: string;
    data: Record<string, unknown>;
    /** The next piece of the answer in an event `text`; empty in others. */
    text: string;
}
export interface FollowOptions {
    /** The id of the last event that is known already; from the first one by default. */
    lastEventId?: string;
    signal?: AbortSignal;
}
/**
 * Yield the events of a run until `done`. To stop reading does not cancel the run. Throws MaasError: that of the run if it
 * ends without an answer, that of the server if it refuses, and that of the last attempt if it stays away.
 */
export declare function follow(transport: Transport, runId: string, { lastEventId, signal }?: FollowOptions): AsyncGenerator<RunEvent, void>;
/** The error of a run that ended without an answer. */
export declare function failed({ code, message }: Record<string, unknown>, runId: string): MaasError;
