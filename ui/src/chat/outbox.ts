// Messages on their way: kept in the browser until the server has taken them, each with a key so that it is taken once.

import { useSyncExternalStore } from "react";

import { ApiError, post, send } from "../api/http";
import type { Accepted } from "../api/types";
import { waitForServer } from "../session/connection";

export interface Outgoing {
  key: string;
  userId: string;
  conversationId: string;
  assistant: string;
  mode?: string;
  text: string;
  at: string;
  attachmentIds: string[];
  isDebugged: boolean;
  error?: string;
}

const STORED = "maas.outbox";
const MAX_MESSAGES = 50;
const listeners = new Set<() => void>();
const opened = new Set<string>(); // conversations of which the server has taken a message
let messages: Outgoing[] = JSON.parse(localStorage.getItem(STORED) ?? "[]");
let isSending = false;

export function useOutbox(): Outgoing[] {
  return useSyncExternalStore((listener) => (listeners.add(listener), () => listeners.delete(listener)), () => messages);
}

/** Whether the server can know a conversation that was begun on this page. */
export function isOpened(conversationId: string): boolean {
  return opened.has(conversationId);
}

/** Upload photos; a message is put into the outbox with their ids. */
export async function upload(userId: string, photos: File[]): Promise<string[]> {
  const ids: string[] = [];
  for (const photo of photos) {
    const form = new FormData();
    form.append("user_id", userId);
    form.append("file", photo);
    ids.push((await (await send("POST", "/v1/attachments", form)).json()).id);
  }
  return ids;
}

export function enqueue(message: Outgoing, onAccepted: (message: Outgoing, runId: string) => void) {
  store([...messages, message].slice(-MAX_MESSAGES));
  void flush(onAccepted);
}

export function discard(key: string) {
  store(messages.filter((one) => one.key !== key));
}

/** Send what waits, in order, as long as it takes. A message that is refused stays and says why. */
export async function flush(onAccepted: (message: Outgoing, runId: string) => void) {
  if (isSending) return;
  isSending = true;
  try {
    for (let next; (next = messages.find((one) => !one.error)); ) {
      const message = next;
      try {
        const { request_id } = await submit(message);
        opened.add(message.conversationId);
        discard(message.key);
        onAccepted(message, request_id);
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        if (error.status === 0 || error.status >= 500) await waitForServer().then(() => sleep(1000));
        else if (error.status === 429) await sleep((error.retryAfterS ?? 2) * 1000);
        else if (error.status === 401) return;
        else store(messages.map((one) => (one.key === message.key ? { ...one, error: error.message } : one)));
      }
    }
  } finally {
    isSending = false;
  }
}

function submit(message: Outgoing): Promise<Accepted> {
  return post<Accepted>(
    "/v1/runs",
    {
      user_id: message.userId, query: message.text, assistant: message.assistant, conversation_id: message.conversationId,
      attachment_ids: message.attachmentIds, marks: true,
      ...(message.mode ? { mode: message.mode } : {}),
      ...(message.isDebugged ? { metadata: { debugLayers: true } } : {}),
    },
    { "idempotency-key": message.key },
  );
}

function store(next: Outgoing[]) {
  messages = next;
  localStorage.setItem(STORED, JSON.stringify(next));
  listeners.forEach((listener) => listener());
}

function sleep(ms: number) {
  return new Promise((resolve) => window.setTimeout(resolve, ms));
}
