// One item of a conversation.

import type { Message, RunSummary } from "../api/types";
import type { Outgoing } from "./outbox";

export type Item =
  | { key: string; kind: "message"; message: Message }
  | { key: string; kind: "run"; run: RunSummary }
  | { key: string; kind: "outgoing"; message: Outgoing }
  | { key: string; kind: "version"; runId: string } // the answer of an earlier version, or of what followed it
  | { key: string; kind: "end"; runId: string }; // of what followed an earlier version of this run's question

/** The question of a run whose message is not stored, or not any more. */
export function questionOf(run: RunSummary): Message {
  return {
    id: run.request_id,
    run_id: run.request_id,
    role: "user",
    content: run.query,
    agent: null,
    attachment_ids: [],
    action_id: null,
    created_at: run.created_at,
  };
}
