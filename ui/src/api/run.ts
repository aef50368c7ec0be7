// One run as it is answered: a reducer over its events, and the hook that follows them.

import { useQuery } from "@tanstack/react-query";
import { useEffect, useReducer } from "react";

import { ApiError } from "./http";
import { follow, type ServerEvent } from "./event_stream";
import type { Button, Status } from "./types";

export interface ToolCall {
  id: string;
  tool: string;
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

/** The run after one more event; an attempt that begins anew drops the text of the one before. */
export function takeEvent(run: LiveRun, { type, data }: ServerEvent): LiveRun {
  const given = data as any;
  switch (type) {
    case "status":
      return given.status === "NEW" && run.isOver ? NEW_RUN : { ...run, status: given.status, statusAt: given.at };
    case "text": {
      const text = run.attempt === given.attempt ? run.text + given.delta : given.delta;
      return { ...run, text, attempt: given.attempt };
    }
    case "tool_start":
      return { ...run, tools: [...run.tools, { id: given.call_id, tool: given.tool, isRunning: true }] };
    case "tool_result":
      return {
        ...run,
        tools: run.tools.map((one) => (one.id === given.call_id ? { ...one, isRunning: false, result: given } : one)),
      };
    case "approval_required":
      return { ...run, actionIds: [...run.actionIds, given.action_id] };
    case "buttons":
      return { ...run, buttons: given.buttons };
    case "request_photo":
      return { ...run, wantsPhoto: true };
    case "sticker":
      return { ...run, images: [...run.images, given.attachment_id] };
    case "progress":
      return { ...run, progress: given };
    case "layer":
      return { ...run, layers: [...run.layers, given] };
    case "done":
      return { ...run, status: "COMPLETED", answer: given.final_answer, isOver: true };
    case "error":
      return { ...run, status: "FAILED", error: given, isOver: true };
    default:
      return run;
  }
}

/** Follow a run until it ends; `null` follows nothing. */
export function useRun(runId: string | null): LiveRun {
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
  }, [runId]);
  return run;
}

/** The debug information of a finished run; empty where none was asked for. */
export function useLayers(runId: string | null) {
  return useQuery({
    queryKey: ["layers", runId],
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
