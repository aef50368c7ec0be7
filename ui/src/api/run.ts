// One run as it is answered: a reducer over its events, and the hook that follows them.

import { useQuery } from "@tanstack/react-query";
import { useEffect, useReducer } from "react";

import { ApiError } from "./error";
import { follow, type ServerEvent } from "./event_stream";
import { keys } from "./keys";
import type { Button, Phrase, Status } from "./types";

export interface ToolCall {
  id: string;
  tool: string;
  title: Phrase | null;
  isRunning: boolean;
  result?: unknown;
}

export interface Layer {
  layer: number;
  name: string;
  status: string;
  duration_ms?: number;
  data?: unknown;
  message?: string | null;
  at?: string;
}

export interface LiveRun {
  status: Status;
  statusAt: string | null;
  text: string;
  tools: ToolCall[];
  actionIds: string[];
  buttons: Button[];
  images: string[];
  layers: Layer[];
  wantsPhoto: boolean;
  progress: { title: string; ended: number; total: number } | null;
  answer: string | null;
  error: { code: string; message: string } | null;
  isOver: boolean;
  attempt: string | null;
}

export const NEW_RUN: LiveRun = {
  status: "NEW",
  statusAt: null,
  text: "",
  tools: [],
  actionIds: [],
  buttons: [],
  images: [],
  layers: [],
  wantsPhoto: false,
  progress: null,
  answer: null,
  error: null,
  isOver: false,
  attempt: null,
};

/** The events that change what is shown, with the data that each has. */
type RunEvent =
  | { type: "status"; data: { status: Status; at: string } }
  | { type: "text"; data: { delta: string; attempt: string } }
  | { type: "tool_start"; data: { call_id: string; tool: string; title?: Phrase } }
  | { type: "tool_result"; data: { call_id: string } }
  | { type: "approval_required"; data: { action_id: string } }
  | { type: "buttons"; data: { buttons: Button[] } }
  | { type: "request_photo"; data: unknown }
  | { type: "sticker"; data: { attachment_id: string } }
  | { type: "progress"; data: { title: string; ended: number; total: number } }
  | { type: "layer"; data: Layer }
  | { type: "done"; data: { final_answer: string } }
  | { type: "error"; data: { code: string; message: string } };

/** The run after one more event; an attempt that begins anew drops the text of the one before. */
export function takeEvent(run: LiveRun, event: ServerEvent): LiveRun {
  const { type, data } = event as RunEvent;
  switch (type) {
    case "status":
      return data.status === "NEW" && run.isOver ? NEW_RUN : { ...run, status: data.status, statusAt: data.at };
    case "text": {
      const text = run.attempt === data.attempt ? run.text + data.delta : data.delta;
      return { ...run, text, attempt: data.attempt };
    }
    case "tool_start":
      return {
        ...run,
        tools: [...run.tools, { id: data.call_id, tool: data.tool, title: data.title ?? null, isRunning: true }],
      };
    case "tool_result":
      return {
        ...run,
        tools: run.tools.map((one) => (one.id === data.call_id ? { ...one, isRunning: false, result: data } : one)),
      };
    case "approval_required":
      return { ...run, actionIds: [...run.actionIds, data.action_id] };
    case "buttons":
      return { ...run, buttons: data.buttons };
    case "request_photo":
      return { ...run, wantsPhoto: true };
    case "sticker":
      return { ...run, images: [...run.images, data.attachment_id] };
    case "progress":
      return { ...run, progress: data };
    case "layer":
      return { ...run, layers: [...run.layers, data] };
    case "done":
      return { ...run, status: "COMPLETED", answer: data.final_answer, isOver: true };
    case "error":
      return { ...run, status: "FAILED", error: data, isOver: true };
    default:
      return run;
  }
}

/** Follow a run until it ends, and from its beginning when `retries` has become another number; `null` follows nothing. */
export function useRun(runId: string | null, retries = 0): LiveRun {
  const [run, take] = useReducer(
    (state: LiveRun, event: ServerEvent | null) => (event ? takeEvent(state, event) : NEW_RUN),
    NEW_RUN,
  );
  useEffect(() => {
    take(null);
    if (!runId) return;
    const controller = new AbortController();
    let isOver = false;
    follow(
      `/v1/runs/${runId}/events`,
      controller.signal,
      (event) => {
        isOver ||= event.type === "done" || event.type === "error";
        take(event);
      },
      () => isOver,
    ).catch((error: unknown) => {
      const message = error instanceof ApiError ? error.message : String(error);
      take({ id: "", type: "error", data: { code: error instanceof ApiError ? error.code : "lost", message } });
    });
    return () => controller.abort();
  }, [runId, retries]);
  return run;
}

/** The debug information of a finished run, read anew when it was tried again; empty where none was asked for. */
export function useLayers(runId: string | null, retries = 0) {
  return useQuery({
    queryKey: keys.layers(runId, retries),
    queryFn: async ({ signal }) => {
      const layers: Layer[] = [];
      let isOver = false;
      const take = ({ type, data }: ServerEvent) => {
        if (type === "layer") layers.push(data as Layer);
        isOver ||= type === "done" || type === "error";
      };
      await follow(`/v1/runs/${runId}/events`, signal, take, () => isOver);
      return layers;
    },
    enabled: runId !== null,
    staleTime: Infinity,
    retry: false,
  });
}
