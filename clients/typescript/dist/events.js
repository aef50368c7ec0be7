// The events of a run: server-sent events over fetch, read on behind the last one after a lost connection.
import { MaasError } from "./error.js";
import { backoffMs, lost, pause } from "./transport.js";
const SILENCE_MS = 40_000; // the server sends a comment every 15 s
const DAY_MS = 86_400_000;
/**
 * Yield the events of a run until `done`. To stop reading does not cancel the run. Throws MaasError: that of the run if it
 * ends without an answer, that of the server if it refuses, and that of the last attempt if it stays away.
 */
export async function* follow(transport, runId, { lastEventId = "", signal } = {}) {
    const path = `/v1/runs/${encodeURIComponent(runId)}/events`;
    for (let failures = 0;; failures++) {
        const connection = new AbortController();
        const either = signal ? AbortSignal.any([signal, connection.signal]) : connection.signal;
        try {
            const headers = lastEventId ? { "last-event-id": lastEventId } : {};
            const reply = await heard(transport.attempt("GET", path, { headers, signal: either, longPollMs: DAY_MS }));
            if (reply.status === 204)
                return;
            for await (const event of read(reply, signal)) {
                [lastEventId, failures] = [event.id, -1];
                if (event.type === "error")
                    throw failed(event.data, runId);
                yield event;
                if (event.type === "done")
                    return;
            }
            throw new MaasError("left", `the server closed the event stream before run ${runId} ended`, 0);
        }
        catch (error) {
            const isOver = !(error instanceof MaasError) || !error.isTemporary || failures >= transport.retries;
            if (isOver)
                throw error;
            await pause(backoffMs(error, Math.max(failures, 0)), signal);
        }
        finally {
            connection.abort();
        }
    }
}
/** The error of a run that ended without an answer. */
export function failed({ code, message }, runId) {
    return new MaasError(String(code ?? "failed"), String(message ?? "the request failed"), null, {}, runId);
}
async function* read(reply, signal) {
    const reader = reply.body.getReader();
    const decoder = new TextDecoder();
    let rest = "";
    while (true) {
        const { done, value } = await heard(reader.read()).catch((error) => {
            throw error instanceof MaasError ? error : lost(error, signal);
        });
        if (done)
            return;
        const blocks = (rest + decoder.decode(value, { stream: true })).split("\n\n");
        rest = blocks.pop() ?? "";
        for (const block of blocks) {
            const event = parse(block);
            if (event)
                yield event;
        }
    }
}
/** One event; null for a comment. */
function parse(block) {
    const fields = {};
    for (const line of block.split("\n")) {
        const colon = line.indexOf(":");
        if (colon > 0)
            fields[line.slice(0, colon)] = line.slice(colon + 1).replace(/^ /, "");
    }
    if (fields.data === undefined)
        return null;
    const { id = "", event: type = "message" } = fields;
    const data = JSON.parse(fields.data);
    return { id, type, data, text: type === "text" ? String(data.delta ?? "") : "" };
}
/** What a promise gives, unless the server says nothing for too long. */
async function heard(promise) {
    let timer;
    const silence = new Promise((_, reject) => {
        timer = setTimeout(() => reject(new MaasError("silent", "the server is silent", 0)), SILENCE_MS);
    });
    try {
        return await Promise.race([promise, silence]);
    }
    finally {
        clearTimeout(timer);
    }
}
