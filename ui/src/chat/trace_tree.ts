// The trace of a run as a tree: stages, in each its model calls, in each the tools that it asked for; and its totals.

import type { ModelCall, StageSpan, ToolExecution, Trace } from "../api/types";

export interface CallNode {
  call: ModelCall;
  prompt: string | null; // the text of the prompt's version
  tools: ToolExecution[];
}

export interface StageNode {
  stage: StageSpan;
  given: string | null; // what its models were given beside their prompt
  calls: CallNode[];
  tools: ToolExecution[]; // those that no call asked for
}

interface TraceTotals {
  tokensIn: number;
  tokensCached: number; // those of tokensIn that providers had cached
  tokensOut: number;
  price: number; // micro-dollars, of the calls that have a price
  unpriced: number;
  answerMs: number | null;
  firstTextMs: number | null; // from the request to the first piece of the answer; null where it was not streamed
}

/** The stages of the present try. */
export function stageNodes({ stages, calls, tools, prompts, run }: Trace): StageNode[] {
  const asked = new Set<ToolExecution>();
  const nodes = stages.map((stage): StageNode => {
    const own = calls.filter((call) => call.stage === stage.stage && call.try === run.try);
    return {
      stage,
      given:
        stage.stage === "assembler"
          ? run.draft_context
          : stage.stage === "final_responder"
            ? run.final_context_payload
            : null,
      calls: own.map((call) => {
        const ids = new Set(askedBy(call));
        const found = tools.filter((tool) => tool.try === run.try && ids.has(tool.call_id) && !asked.has(tool));
        for (const tool of found) asked.add(tool);
        return { call, prompt: promptOf(prompts, call), tools: found };
      }),
      tools: [],
    };
  });
  const others = tools.filter((tool) => tool.try === run.try && !asked.has(tool));
  const place = nodes.find((node) => node.stage.stage === "final_responder") ?? nodes.at(-1);
  place?.tools.push(...others);
  return nodes;
}

/** The calls of earlier tries, which an operator or a user has begun anew. */
export function earlierCalls({ calls, prompts, run }: Trace): CallNode[] {
  return calls
    .filter((call) => call.try !== run.try)
    .map((call) => ({ call, prompt: promptOf(prompts, call), tools: [] }));
}

function promptOf(prompts: Trace["prompts"], { role_name, prompt_version }: ModelCall): string | null {
  return prompts.find((one) => one.role === role_name && one.version === prompt_version)?.text ?? null;
}

/** Sums over all tries, and the times of the present one. */
export function totalsOf({ costs, took, history }: Trace): TraceTotals {
  const asked = Date.parse(took.asked_at);
  const first = history.find((one) => one.happened === "text" && Date.parse(one.at) >= asked);
  const sum = (of: (cost: Trace["costs"][number]) => number) => costs.reduce((all, cost) => all + of(cost), 0);
  return {
    tokensIn: sum((cost) => cost.tokens_in),
    tokensCached: sum((cost) => cost.tokens_cached),
    tokensOut: sum((cost) => cost.tokens_out),
    price: sum((cost) => cost.price),
    unpriced: sum((cost) => cost.unpriced),
    answerMs: took.answer_ms,
    firstTextMs: first ? Date.parse(first.at) - asked : null,
  };
}

function askedBy({ calls }: ModelCall): string[] {
  if (!Array.isArray(calls)) return [];
  return calls.flatMap((one: unknown) => {
    const id = typeof one === "object" && one !== null && "id" in one ? one.id : null;
    return typeof id === "string" ? [id] : [];
  });
}
