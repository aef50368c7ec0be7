// The trace of a run: a tree whose calls open, its totals, and why a request failed.

import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import type { ReactNode } from "react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { keys } from "../src/api/keys";
import { refresh } from "../src/api/refresh";
import type { ModelCall, Run, ToolExecution, Trace as TraceData } from "../src/api/types";
import { Trace } from "../src/chat/trace";
import { stageNodes, totalsOf } from "../src/chat/trace_tree";
import { LiveTurn } from "../src/chat/turns";
import { failureText } from "../src/parts/notice";
import { session } from "../src/session/session";
import { chooseLanguage } from "../src/texts";
import { ASSISTANTS, CONFIG, serve } from "./server";

const USER = "00000000-0000-4000-8000-000000000001";
const AT = "2026-01-01T00:00:00+00:00";

const call = (stage: string, round: number, changes: Partial<ModelCall> = {}): ModelCall => ({
  try: 2,
  stage,
  round,
  attempt: 1,
  provider: "openai",
  model: "gpt",
  role_name: "Mentor",
  prompt_version: 3,
  reply: `reply ${round}`,
  finish: "stop",
  attempts: 1,
  tokens_in: 1000,
  tokens_out: 10,
  tokens_cached: 0,
  images: 0,
  ms: 900,
  first_ms: null,
  price: 2500,
  error: null,
  request_hash: null,
  calls: null,
  created_at: AT,
  ...changes,
});
const tool = (id: string): ToolExecution => ({
  try: 2,
  attempt: 1,
  call_id: id,
  tool: `tool_${id}`,
  effect: "read",
  status: "done",
  arguments: { of: id },
  result: {},
  ms: 5,
  created_at: AT,
});
const stage = (name: TraceData["stages"][number]["stage"], changes: object = {}) => ({
  stage: name,
  state: "done" as const,
  began_ms: 0,
  ms: 1000,
  calls: 1,
  model_ms: 900,
  is_degraded: false,
  why: null,
  ...changes,
});
const cost = (number: number) => ({
  try: number,
  calls: 1,
  attempts: 1,
  tokens_in: 1000,
  tokens_cached: 400,
  tokens_out: 10,
  ms: 900,
  price: 2500,
  unpriced: number === 2 ? 1 : 0,
});

const DATA = {
  run: {
    id: "r",
    try: 2,
    metadata: { traceparent: "00-4bf92f3577b34da6-00f067aa-01" },
    draft_context: "the draft",
    final_context_payload: "the payload",
  },
  took: { asked_at: AT, answer_ms: 29_183, archive_ms: null },
  waited_for: null,
  waiting: [],
  stages: [stage("assembler"), stage("final_responder", { state: "failed", why: "bad_request: no (quota 0 left)" })],
  history: [
    { happened: "text", at: "2025-12-31T00:00:00+00:00", details: null }, // of the try before
    { happened: "text", at: "2026-01-01T00:00:01.500+00:00", details: null },
    { happened: "ARCHIVED", at: "2026-01-01T00:01:00+00:00", details: null },
  ],
  calls: [
    call("final_responder", 1, { try: 1, request_hash: "0123456789abcdef" }),
    call("final_responder", 1, { calls: [{ id: "a" }, { id: "b" }] }),
    call("final_responder", 2, { tokens_cached: 400, first_ms: 350 }),
  ],
  costs: [cost(1), cost(2)],
  tools: [tool("b"), tool("c")],
  steps: [],
  prompts: [{ role: "Mentor", version: 3, current_version: 4, text: "You are kind." }],
  memories: [{ id: "m", kind: "turn", score: 0.5, memory: null, logs: [{ content: "Alma lives in Lisbon." }] }],
} as unknown as TraceData;

const RUN = {
  request_id: "r",
  user_id: USER,
  status: "FAILED",
  archive_status: "SKIPPED",
  error_code: "bad_request",
  error_message: "refused",
  timings: { created_at: AT, failed_at: AT },
  sources: [],
  degraded: [],
  buttons: [],
  steps: [],
} as unknown as Run;

const wrapper = ({ children }: { children: ReactNode }) => (
  <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
    {children}
  </QueryClientProvider>
);

beforeEach(async () => {
  chooseLanguage("en");
  const error = 'id: 1\nevent: error\ndata: {"code": "bad_request", "message": "an operator sees why"}\n\n';
  serve(({ path }) => {
    if (path === "/ui/config.json")
      return {
        body: {
          ...CONFIG,
          auth: "none",
          local_user_id: USER,
          trace_url: "https://jaeger.example/trace/{trace_id}?x=1",
        },
      };
    if (path === "/v1/assistants") return ASSISTANTS;
    if (path.endsWith("/trace")) return { body: DATA };
    return path.endsWith("/events") ? { chunks: [error] } : { body: RUN };
  });
  await session.start();
});
afterEach(() => {
  cleanup();
  chooseLanguage(null);
});

test("a stage has its calls of this try, a call the tools that it asked for; the others are the Responder's", () => {
  const [assembler, responder] = stageNodes(DATA);
  expect([assembler!.given, responder!.given]).toEqual(["the draft", "the payload"]);
  expect(responder!.calls.map((one) => [one.call.round, one.tools.map((each) => each.tool)])).toEqual([
    [1, ["tool_b"]],
    [2, []],
  ]);
  expect(responder!.tools.map((each) => each.tool)).toEqual(["tool_c"]);
});

test("totals are of all tries, the first words of this one", () => {
  expect(totalsOf(DATA)).toEqual({
    tokensIn: 2000,
    tokensCached: 800,
    tokensOut: 20,
    price: 5000,
    unpriced: 1,
    answerMs: 29_183,
    firstTextMs: 1500,
  });
});

test("calls open: the prompt as it was, the reply; and the whole is saved as JSON", async () => {
  render(<Trace run={RUN} />, { wrapper });
  const shown = (await screen.findByText(/bad_request: no/)).closest("section")!.parentElement!;
  for (const text of [
    "2,000 → 20",
    "$0.005 + 1 call without a price",
    "29.2 s",
    "First words1.5 s",
    "Tokens from the cache800",
    "1,000 (400 from the cache) → 10",
    "first words after 350 ms",
    "Trace of the client (OpenTelemetry) 4bf92f3577b34da6",
  ])
    expect(shown.textContent).toContain(text);
  for (const text of ["Prompt Mentor, version 3", "You are kind.", "reply 2", "the payload", "tool_b"])
    expect(shown.textContent).toContain(text);
  expect(screen.getByTitle("ARCHIVED").textContent).toBe("saved to memory");
  const link = screen.getByRole("link", { name: "In the collector" });
  expect(link.getAttribute("href")).toBe("https://jaeger.example/trace/4bf92f3577b34da6?x=1");
  const given = screen.getByText("Memories in the payload: 1").closest("li")!.textContent;
  expect(given).toMatch(/^Assembler.*Alma lives in Lisbon\./);
  const earlier = screen.getByText("1 model call of earlier tries").closest("details")!.textContent!;
  for (const text of ["You are kind.", "only its hash, 0123456789ab:"]) expect(earlier).toContain(text);
  const saved = vi.fn();
  vi.stubGlobal("Blob", saved);
  vi.stubGlobal("URL", { createObjectURL: () => "blob:1", revokeObjectURL: () => undefined });
  vi.spyOn(HTMLAnchorElement.prototype, "click").mockImplementation(() => undefined);
  fireEvent.click(screen.getByRole("button", { name: "Save as JSON" }));
  expect(JSON.parse(saved.mock.calls[0]![0][0])).toEqual(DATA);
});

test("a request says in the language of the page why it failed, and what the server said", async () => {
  await chooseLanguage("ru");
  render(<LiveTurn runId="r" assistant="mentor" actions={[]} onShow={vi.fn()} isTask={false} />, {
    wrapper,
  });
  expect((await screen.findByRole("alert")).textContent).toContain("Поставщик модели отклонил запрос.");
  expect(screen.getByText("an operator sees why").lang).toBe("en");
  expect(failureText("timeout", "final_responder: late")).toBe("Ответ не пришёл вовремя.");
  expect(failureText("over_budget", "spent")).toBe("Бюджет исчерпан.");
  expect(failureText("new_code", "it broke")).toBe("Не получилось: it broke");
});

test("what the server said is not said again with the stage", async () => {
  serve(({ path }) => {
    if (path === "/ui/config.json") return { body: { ...CONFIG, auth: "none", local_user_id: USER } };
    if (path === "/v1/assistants") return ASSISTANTS;
    const stages = DATA.stages.map((one) => (one.why ? { ...one, why: "bad_request: an operator sees why" } : one));
    if (path.endsWith("/trace")) return { body: { ...DATA, stages } };
    const error = 'id: 1\nevent: error\ndata: {"code": "bad_request", "message": "an operator sees why"}\n\n';
    return path.endsWith("/events") ? { chunks: [error] } : { body: RUN };
  });
  const { container } = render(<LiveTurn runId="r" assistant="mentor" actions={[]} onShow={vi.fn()} isTask={false} />, {
    wrapper,
  });
  await screen.findByText("Stage: Final Responder.");
  expect(container.textContent!.split("an operator sees why")).toHaveLength(2);
});

test("a failed request can be looked into, and says why to an administrator", async () => {
  const onShow = vi.fn();
  render(<LiveTurn runId="r" assistant="mentor" actions={[]} onShow={onShow} isTask={false} />, {
    wrapper,
  });
  expect(await screen.findByText(/quota 0 left/)).toBeTruthy();
  for (const [name, panel] of [
    ["Evidence", "evidence"],
    ["Trace", "trace"],
    [/Logs/, "logs"],
  ] as const) {
    fireEvent.click(screen.getByRole("button", { name }));
    expect(onShow).toHaveBeenLastCalledWith("r", panel);
  }
});

test("a failed request that is tried again is followed anew", async () => {
  let isRetried = false;
  serve(({ path }) => {
    if (path.endsWith("/retry")) isRetried = true;
    if (path === "/v1/assistants") return ASSISTANTS;
    if (!path.endsWith("/events")) return { body: path.endsWith("/trace") ? DATA : RUN };
    const failed = 'id: 1\nevent: error\ndata: {"code": "timeout", "message": "late"}\n\n';
    const written = 'id: 2\nevent: text\ndata: {"delta": "In Oslo", "attempt": "2"}\n\n';
    return isRetried ? { chunks: [written], isOpen: true } : { chunks: [failed] };
  });
  render(<LiveTurn runId="r" assistant="mentor" actions={[]} onShow={vi.fn()} isTask={false} />, { wrapper });
  fireEvent.click(await screen.findByRole("button", { name: "Retry" }));
  expect(await screen.findByText("In Oslo")).toBeTruthy();
  expect(screen.queryByRole("alert")).toBeNull();
});

test("a failed request that is tried again elsewhere is followed, once for each try", async () => {
  let retries = 3;
  const asked = serve(({ path }) => {
    if (path === "/v1/assistants") return ASSISTANTS;
    if (!path.endsWith("/events")) return { body: path.endsWith("/trace") ? DATA : { ...RUN, retries } };
    const failed = 'id: 1\nevent: error\ndata: {"code": "timeout", "message": "late"}\n\n';
    const written = 'id: 2\nevent: text\ndata: {"delta": "In Oslo", "attempt": "2"}\n\n';
    return retries > 3 ? { chunks: [written], isOpen: true } : { chunks: [failed] };
  });
  const queries = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  render(
    <QueryClientProvider client={queries}>
      <LiveTurn runId="r" assistant="mentor" actions={[]} onShow={vi.fn()} isTask={false} />
    </QueryClientProvider>,
  );
  await screen.findByRole("button", { name: "Trace" });
  retries = 4;
  await refresh(queries, [keys.run("r")]); // as the events of the user make it
  expect(await screen.findByText("In Oslo")).toBeTruthy();
  expect(screen.queryByRole("alert")).toBeNull();
  expect(asked.filter(({ path }) => path.endsWith("/events"))).toHaveLength(2);
});
