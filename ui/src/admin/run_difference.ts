// Two traces side by side: their stages and model calls in pairs, and what differs within each.

import type { Trace } from "../api/types";
import { type CallNode, type StageNode, stageNodes } from "../chat/trace_tree";

export interface Pair<T> {
  before: T | null; // null where only the other has one
  after: T | null;
}

export interface StagePair extends Pair<StageNode> {
  stage: StageNode["stage"]["stage"];
  calls: Pair<CallNode>[];
}

/** The stages of both in their order, each with its calls in pairs: the first with the first, and so on. */
export function stagePairs(before: Trace, after: Trace): StagePair[] {
  const [one, other] = [stageNodes(before), stageNodes(after)];
  const names = one.map((node) => node.stage.stage);
  for (const [index, node] of other.entries()) {
    if (names.includes(node.stage.stage)) continue;
    const former = names.indexOf(other[index - 1]?.stage.stage ?? node.stage.stage);
    names.splice(former + 1, 0, node.stage.stage); // behind what it stands behind in its own trace
  }
  return names.map((stage) => {
    const pair = {
      before: one.find((node) => node.stage.stage === stage) ?? null,
      after: other.find((node) => node.stage.stage === stage) ?? null,
    };
    const length = Math.max(pair.before?.calls.length ?? 0, pair.after?.calls.length ?? 0);
    return {
      stage,
      ...pair,
      calls: Array.from({ length }, (_, index) => ({
        before: pair.before?.calls[index] ?? null,
        after: pair.after?.calls[index] ?? null,
      })),
    };
  });
}

/** The prompt of a call: on trial that which is tried, else the version that was in force. */
export function promptOf(node: CallNode | null, { run }: Trace): string | null {
  const trial = trialOf(run.metadata);
  return node === null
    ? null
    : trial?.text && node.call.stage === (trial.stage ?? "final_responder")
      ? trial.text
      : node.prompt;
}

/** The request that a trial answers again; null of any other. */
export function originOf({ run }: Trace): string | null {
  return trialOf(run.metadata)?.run_id ?? null;
}

function trialOf(metadata: Trace["run"]["metadata"]): { run_id?: string; text?: string; stage?: string } | null {
  const trial = metadata?.trial;
  return typeof trial === "object" && trial !== null ? trial : null;
}
