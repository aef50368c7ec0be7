// Two requests side by side: stages and calls in pairs, and what differs in each.

import { cleanup, fireEvent, screen, within } from "@testing-library/react";
import { afterEach, beforeEach, expect, test } from "vitest";

import { stagePairs } from "../src/admin/run_difference";
import type { Trace } from "../src/api/types";
import { session } from "../src/session/session";
import { chooseLanguage } from "../src/texts";
import { openDesk, prepareBrowser } from "./page";
import { CONFIG, serve } from "./server";

const ME = "00000000-0000-4000-8000-000000000001";
const [OLD, NEW] = ["00000000-0000-4000-8000-00000000000a", "00000000-0000-4000-8000-00000000000b"];
const AT = "2026-01-02T03:04:00+00:00";

const stage = (name: string, ms: number) => ({ stage: name, state: "done", began_ms: 0, ms, is_degraded: false });
const call = (name: string, model: string, reply: string, tokens: number) => ({
  try: 1,
  stage: name,
  round: 1,
  provider: "openai",
  model,
  role_name: "FinalResponder",
  prompt_version: 1,
  reply,
  tokens_in: tokens,
  tokens_out: 10,
  price: tokens,
  ms: 500,
  calls: null,
  error: null,
});
const trace = (id: string, changes: object) => ({
  run: { id, try: 1, metadata: null, draft_context: "the draft", final_context_payload: "the payload" },
  took: { asked_at: AT, answer_ms: 2000, archive_ms: null },
  costs: [{ tokens_in: 1000, tokens_out: 10, tokens_cached: 0, price: 2500, unpriced: 0 }],
  prompts: [{ role: "FinalResponder", version: 1, text: "You are kind.\nYou are brief." }],
  ...Object.fromEntries(["waiting", "history", "tools", "steps", "memories"].map((name) => [name, []])),
  ...changes,
});
const BEFORE = trace(OLD, {
  stages: [stage("analyzer", 100), stage("assembler", 300), stage("final_responder", 900)],
  calls: [call("analyzer", "mini", "{}", 50), call("final_responder", "gpt", "Comet.", 1000)],
});
const AFTER = trace(NEW, {
  run: {
    ...BEFORE.run,
    id: NEW,
    metadata: { trial: { run_id: OLD, text: "You are kind.\nYou are long." }, traceparent: "javascript:alert(1)-x" },
  },
  stages: [stage("final_responder", 700), stage("archivist", 50)],
  calls: [call("final_responder", "small", "A greyhound.", 400)],
  took: { asked_at: AT, answer_ms: 1200, archive_ms: null },
  costs: [{ tokens_in: 400, tokens_out: 10, tokens_cached: 0, price: 500, unpriced: 0 }],
});

beforeEach(async () => {
  chooseLanguage("en");
  prepareBrowser();
  serve(({ path }) => {
    const id = path.includes(NEW) ? NEW : OLD;
    if (path === "/ui/config.json")
      return { body: { ...CONFIG, auth: "none", local_user_id: ME, trace_url: "https://jaeger/{trace_id}" } };
    if (path.endsWith("/trace")) return { body: id === NEW ? AFTER : BEFORE };
    if (path.endsWith("/events")) return { chunks: ['id: 1\nevent: done\ndata: {"final_answer": "x"}\n\n'] };
    if (path.startsWith("/v1/runs/"))
      return {
        body: {
          request_id: id,
          user_id: ME,
          query: "Who is Comet?",
          kind: id === NEW ? "trial" : "ask",
          status: "COMPLETED",
          archive_status: "DONE",
          final_answer: id === NEW ? "A greyhound." : "Comet.",
          timings: { created_at: AT },
          ...Object.fromEntries(["sources", "used", "degraded", "attachment_ids"].map((name) => [name, []])),
        },
      };
    return { body: { results: [], next: null } };
  });
  await session.start();
});
afterEach(cleanup);

test("stages stand in one order, also those that only one has", () => {
  const pairs = stagePairs(BEFORE as unknown as Trace, AFTER as unknown as Trace);
  expect(pairs.map((pair) => [pair.stage, pair.before?.stage.ms ?? null, pair.after?.stage.ms ?? null])).toEqual([
    ["analyzer", 100, null],
    ["assembler", 300, null],
    ["final_responder", 900, 700],
    ["archivist", null, 50],
  ]);
  expect(pairs[2]!.calls.map((one) => [one.before?.call.model, one.after?.call.model])).toEqual([["gpt", "small"]]);
});

test("figures, answers, prompts and replies that differ are shown, what is the same is one line", async () => {
  openDesk(`/admin/compare?before=${OLD}&after=${NEW}`);
  const figures = within(await screen.findByRole("table"));
  const rowOf = (name: string) => figures.getByRole("rowheader", { name }).closest("tr")!.textContent;
  expect(rowOf("Time")).toBe("Time2 s1.2 s−800 ms");
  expect(rowOf("Tokens in")).toBe("Tokens in1,000400−600");
  expect(rowOf("Price")).toBe("Price$0.0025$0.0005−$0.002");
  expect(rowOf("Tokens out")).toBe("Tokens out1010=");
  const responder = screen.getByRole("heading", { name: "Final Responder" }).closest("section")!;
  expect(responder.textContent).toContain("900 ms → 700 ms");
  expect(responder.textContent).toContain("What the model was given: the same");
  const [prompt, reply] = within(responder).getAllByRole("region", { name: "Difference" });
  expect(prompt!.textContent).toContain("  You are kind.− You are brief.+ You are long.");
  expect(reply!.textContent).toBe("− Comet.+ A greyhound.");
  const analyzer = screen.getByRole("heading", { name: "Analyzer" }).closest("section")!; // which only one has
  expect(analyzer.textContent).toContain("openai:mini");
  expect(within(analyzer).queryByRole("region")).toBeNull();
  expect(screen.getAllByText("Who is Comet?")).toHaveLength(2);
});

test("a trial leads to what differs from the request that it answers again", async () => {
  const places = openDesk(`/admin/runs/${NEW}`);
  const field = await screen.findByLabelText<HTMLInputElement>("Compare with the request that it answers again");
  expect(field.value).toBe(OLD);
  expect(screen.queryByRole("link", { name: "In the collector" })).toBeNull(); // a client wrote what is no id
  fireEvent.click(screen.getByRole("button", { name: "Compare" }));
  expect(places.at(-1)).toBe(`/admin/compare?before=${OLD}&after=${NEW}`);
  expect(await screen.findByRole("heading", { name: "Differences" })).toBeTruthy();
});
