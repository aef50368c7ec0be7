// Messages on their way: kept in the browser until the server has taken them, each with a key so that it is taken once.

import { useSyncExternalStore } from "react";

import { ApiError } from "../api/error";
import { post, sendForm } from "../api/http";
import type { Attachment, Mode } from "../api/types";
import { errorText } from "../parts/notice";
import { waitForServer } from "../session/connection";
import { keep, keptList } from "../session/kept";
import { session, useUser } from "../session/session";

export interface Outgoing {
  key: string;
  userId: string;
  conversationId: string;
  assistant: string;
  mode?: Mode;
  text: string;
  at: string;
  attachmentIds: string[];
  isTemporary: boolean;
  isDebugged: boolean;
  replaces?: string | undefined; // the run whose question it asks again
  error?: string;
}

type OnAccepted = (message: Outgoing, runId: string) => void;

const STORED = "outbox";
const MAX_MESSAGES = 50;

/** The outbox of one person. Once closed, it sends and keeps nothing more. */
export class Outbox {
  private listeners = new Set<() => void>();
  private opened = new Set<string>(); // conversations of which the server has taken a message
  private messages: Outgoing[];
  private isSending = false;
  private closing = new AbortController();

  constructor(readonly userId: string) {
    this.messages = keptList<Outgoing>(userId, STORED);
  }

  get = () => this.messages;

  subscribe = (listener: () => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  /** Whether the server can know a conversation that was begun on this page. */
  isOpened(conversationId: string): boolean {
    return this.opened.has(conversationId);
  }

  get isClosed(): boolean {
    return this.closing.signal.aborted;
  }

  close() {
    this.closing.abort();
  }

  enqueue(message: Outgoing, onAccepted: OnAccepted) {
    this.store([...this.messages, message].slice(-MAX_MESSAGES));
    void this.flush(onAccepted);
  }

  discard(key: string) {
    this.store(this.messages.filter((one) => one.key !== key));
  }

  /** Send what waits, in order, as long as it takes. A message that is refused stays and says why. */
  async flush(onAccepted: OnAccepted) {
    if (this.isSending) return;
    this.isSending = true;
    const { signal } = this.closing;
    try {
      while (!signal.aborted) {
        const message = this.messages.find((one) => !one.error);
        if (!message) return;
        try {
          const { request_id } = await submit(message);
          this.opened.add(message.conversationId);
          this.discard(message.key);
          if (!signal.aborted) onAccepted(message, request_id);
        } catch (error) {
          if (!(error instanceof ApiError)) throw error;
          if (error.status === 0 || error.status >= 500) await waitForServer(signal).then(() => sleep(1000, signal));
          else if (error.status === 429) await sleep((error.retryAfterS ?? 2) * 1000, signal);
          else if (error.status === 401) return;
          else
            this.store(
              this.messages.map((one) => (one.key === message.key ? { ...one, error: errorText(error) } : one)),
            );
        }
      }
    } finally {
      this.isSending = false;
    }
  }

  private store(next: Outgoing[]) {
    this.messages = next;
    if (!this.isClosed) keep(this.userId, STORED, next.length ? JSON.stringify(next) : "");
    for (const listener of this.listeners) listener();
  }
}

let current: Outbox | null = null;
session.subscribe(() => {
  if (current === null || current.userId === session.userId) return;
  current.close();
  current = null;
});

/** The outbox of the person who is signed in, and the messages in it. */
export function useOutbox(): [Outbox, Outgoing[]] {
  const { userId } = useUser();
  current ??= new Outbox(userId);
  const outbox = current;
  return [outbox, useSyncExternalStore(outbox.subscribe, outbox.get)];
}

/** Upload photos; a message is put into the outbox with their ids. `onProgress` hears how much has gone, 0 to 1. */
export async function upload(userId: string, photos: File[], onProgress: (share: number) => void): Promise<string[]> {
  const ids: string[] = [];
  for (const photo of photos) {
    const form = new FormData();
    form.append("user_id", userId);
    form.append("file", photo);
    const onShare = (share: number) => onProgress((ids.length + share) / photos.length);
    const made: Attachment = await (await sendForm("/v1/attachments", form, onShare)).json();
    ids.push(made.id);
  }
  return ids;
}

function submit(message: Outgoing) {
  return post(
    "/v1/runs",
    {
      user_id: message.userId,
      query: message.text,
      assistant: message.assistant,
      conversation_id: message.conversationId,
      attachment_ids: message.attachmentIds,
      marks: true,
      is_remembered: !message.isTemporary,
      ...(message.replaces ? { replaces: message.replaces } : {}),
      ...(message.mode ? { mode: message.mode } : {}),
      ...(message.isDebugged ? { metadata: { debugLayers: true } } : {}),
    },
    { "idempotency-key": message.key },
  );
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = window.setTimeout(resolve, ms);
    const wake = () => {
      window.clearTimeout(timer);
      resolve();
    };
    signal.addEventListener("abort", wake, { once: true });
  });
}
