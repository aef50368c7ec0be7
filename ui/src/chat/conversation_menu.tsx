// What can be done with a conversation: rename, pin, archive, share, delete.

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Archive, ArchiveRestore, Pencil, Pin, PinOff, Share2, Trash2 } from "lucide-react";
import { useState } from "react";
import { useLocation } from "wouter";

import { patch, remove } from "../api/http";
import { refresh } from "../api/refresh";
import type { ConversationSummary } from "../api/types";
import { Dialog } from "../parts/dialog";
import { Forgetting, inNumbers } from "../parts/forgetting";
import { type Command, Menu } from "../parts/menu";
import { ErrorNotice } from "../parts/notice";
import { visible } from "../parts/visible";
import { keep } from "../session/kept";
import { useUser } from "../session/session";
import { say } from "../texts";
import { useOutbox } from "./outbox";
import { Share } from "./share";
import { TitleForm } from "./title";

type Props = Pick<ConversationSummary, "id" | "title" | "is_pinned" | "is_archived"> & { more?: Command[] };

export function ConversationMenu({ id, title, is_pinned, is_archived, more = [] }: Props) {
  const { userId, config } = useUser();
  const queries = useQueryClient();
  const [outbox, waiting] = useOutbox();
  const [place, navigate] = useLocation();
  const [open, setOpen] = useState<"rename" | "share" | "delete" | null>(null);
  const change = useMutation({
    mutationFn: (changes: { is_pinned?: boolean; is_archived?: boolean }) => patch(`/v1/conversations/${id}`, changes),
    onSuccess: () => refresh(queries, ["conversations"]),
  });
  const name = visible(title ?? say("nav.untitled"));
  const close = () => setOpen(null);
  const forgetHere = () => {
    keep(userId, `draft.${id}`, "");
    for (const message of waiting) if (message.conversationId === id) outbox.discard(message.key);
    if (place === `/c/${id}`) navigate("/");
    void refresh(queries, ["conversations", "memory", "messages", "runs", "actions", "links"]);
  };
  return (
    <>
      <Menu
        label={say("conversation.menu", { title: name })}
        commands={[
          ...more,
          { label: say("conversation.rename"), icon: <Pencil />, run: () => setOpen("rename") },
          {
            label: say(is_pinned ? "conversation.unpin" : "conversation.pin"),
            icon: is_pinned ? <PinOff /> : <Pin />,
            run: () => change.mutate({ is_pinned: !is_pinned }),
          },
          {
            label: say(is_archived ? "conversation.unarchive" : "conversation.archive"),
            icon: is_archived ? <ArchiveRestore /> : <Archive />,
            run: () => change.mutate({ is_archived: !is_archived }),
          },
          ...(config.link_days > 0
            ? [{ label: say("conversation.share"), icon: <Share2 />, run: () => setOpen("share") }]
            : []),
          { label: say("conversation.delete"), icon: <Trash2 />, isDangerous: true, run: () => setOpen("delete") },
        ]}
      />
      {change.error && (
        <Dialog title={name} onClose={() => change.reset()}>
          <ErrorNotice error={change.error} />
        </Dialog>
      )}
      {open === "rename" && (
        <Dialog title={say("chat.rename")} onClose={close}>
          <TitleForm id={id} title={title ?? ""} onDone={close} />
        </Dialog>
      )}
      {open === "share" && <Share id={id} onClose={close} />}
      {open === "delete" && (
        <Forgetting
          id={id}
          title={say("conversation.deleteTitle")}
          label={say("conversation.delete")}
          quote={name}
          read={(preview) => remove(`/v1/conversations/${id}`, { preview })}
          goes={(found) => goesWith(found)}
          went={(gone) => say("conversation.receipt", { what: inNumbers({ ...ofPage(gone), ...ofMemory(gone) }) })}
          onClose={close}
          onGone={forgetHere}
        />
      )}
    </>
  );
}

type Counts = Record<"messages" | "images" | "schedules" | "logs" | "records" | "facts" | "answers", number>;

function ofPage({ messages, images, schedules }: Counts) {
  return { messages, images, schedules };
}

function ofMemory({ logs, records, facts, answers }: Counts) {
  return { logs, records, facts, elsewhere: answers };
}

function goesWith(found: Counts): string {
  const memory = ofMemory(found);
  return [
    say("conversation.goes", { what: inNumbers(ofPage(found)) }),
    Object.values(memory).some(Boolean) && say("conversation.goesFromMemory", { what: inNumbers(memory) }),
  ]
    .filter(Boolean)
    .join(" ");
}
