// The title of a conversation, which becomes a field when it is pressed.

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";

import { patch } from "../api/http";
import { refresh } from "../api/refresh";
import { ErrorNotice } from "../parts/notice";
import { visible } from "../parts/visible";
import { say } from "../texts";

const MAX_CHARS = 200;

export function Title({ id, title }: { id: string; title: string }) {
  const [isOpen, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const close = () => {
    setOpen(false);
    requestAnimationFrame(() => button.current?.focus());
  };
  if (isOpen) return <TitleForm id={id} title={title} onDone={close} />;
  return (
    <button
      ref={button}
      type="button"
      className="quiet-button max-w-full truncate"
      title={say("chat.rename")}
      onClick={() => setOpen(true)}
    >
      {visible(title)}
    </button>
  );
}

/** The field of a title; what is no other title is not saved. */
export function TitleForm({ id, title, onDone }: { id: string; title: string; onDone: () => void }) {
  const queries = useQueryClient();
  const [text, setText] = useState(title);
  const rename = useMutation({
    mutationFn: (next: string) => patch(`/v1/conversations/${id}`, { title: next }),
    onSuccess: async () => {
      await refresh(queries, ["conversations"]);
      onDone();
    },
  });
  const next = text.trim();
  return (
    <form
      className="flex flex-wrap items-center gap-2"
      onSubmit={(event) => {
        event.preventDefault();
        if (next && next !== title) rename.mutate(next);
        else onDone();
      }}
    >
      <input
        className="min-h-0! min-w-0 flex-1 py-1!"
        aria-label={say("chat.rename")}
        value={text}
        maxLength={MAX_CHARS}
        autoFocus
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => event.key === "Escape" && onDone()}
      />
      <button type="submit" className="button small" disabled={rename.isPending}>
        {say("app.save")}
      </button>
      <ErrorNotice error={rename.error} />
    </form>
  );
}
