// Links by which anybody may read a conversation.

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { get, post, remove } from "../api/http";
import { keys } from "../api/keys";
import { refresh } from "../api/refresh";
import { ConfirmButton } from "../parts/confirm";
import { CopyButton } from "../parts/copy_button";
import { Dialog } from "../parts/dialog";
import { ErrorNotice, Skeleton } from "../parts/notice";
import { Time } from "../parts/time";
import { visible } from "../parts/visible";
import { useUser } from "../session/session";
import { say } from "../texts";

const DAYS = [1, 7, 30, 90, 365]; // to choose from
const USUAL_DAYS = 7;

export function Share({ id, onClose }: { id: string; onClose: () => void }) {
  const { config } = useUser();
  const queries = useQueryClient();
  const [days, setDays] = useState(Math.min(USUAL_DAYS, config.link_days));
  const [hasEvidence, setHasEvidence] = useState(true);
  const choices = [...DAYS.filter((one) => one < config.link_days), config.link_days];
  const create = useMutation({
    mutationFn: () => post(`/v1/conversations/${id}/links`, { days, evidence: hasEvidence }),
    onSuccess: () => refresh(queries, ["links"]),
  });
  const address = create.data && `${window.location.origin}/ui/shared#${create.data.token}`;
  return (
    <Dialog title={say("share.title")} onClose={onClose}>
      <div className="flex flex-col items-start gap-3">
        <p>{say("share.what")}</p>
        {address ? (
          <>
            <p role="status">{say("share.once")}</p>
            <input readOnly className="w-full" aria-label={say("share.link")} value={address} />
            <CopyButton text={address} className="button" />
          </>
        ) : (
          <>
            <label className="flex items-start gap-2">
              <input type="checkbox" checked={hasEvidence} onChange={(event) => setHasEvidence(event.target.checked)} />
              <span>{say("share.evidence")}</span>
            </label>
            <label className="field">
              <span>{say("share.lasts")}</span>
              <select value={days} onChange={(event) => setDays(Number(event.target.value))}>
                {choices.map((one) => (
                  <option key={one} value={one}>
                    {say("share.days", { n: one })}
                  </option>
                ))}
              </select>
            </label>
            <ErrorNotice error={create.error} />
            <button
              type="button"
              className="button primary"
              disabled={create.isPending}
              onClick={() => create.mutate()}
            >
              {say("share.create")}
            </button>
          </>
        )}
      </div>
      <Links conversationId={id} onRevoked={(link) => link === create.data?.id && create.reset()} />
    </Dialog>
  );
}

/** The links to a conversation, or to all of a person's, that still lead somewhere. */
export function Links({ conversationId, onRevoked }: { conversationId?: string; onRevoked?: (id: string) => void }) {
  const { userId } = useUser();
  const queries = useQueryClient();
  const links = useQuery({
    queryKey: keys.links(userId, conversationId),
    queryFn: ({ signal }) => get("/v1/links", { user_id: userId, conversation_id: conversationId }, signal),
  });
  if (!links.data) return links.error ? <ErrorNotice error={links.error} /> : <Skeleton lines={1} />;
  if (!links.data.results.length) return conversationId ? null : <p className="text-quiet">{say("share.none")}</p>;
  return (
    <ul aria-label={say("share.links")} className="mt-4 flex flex-col gap-2 text-small">
      {links.data.results.map((link) => (
        <li key={link.id} className="flex flex-wrap items-baseline gap-x-3">
          {!conversationId && <b>{visible(link.title ?? say("nav.untitled"))}</b>}
          <span>
            {say("share.made")} <Time at={link.created_at} isExact />, {say("share.until")}{" "}
            <Time at={link.expires_at} isExact />
          </span>
          {link.has_evidence && <span className="text-quiet">{say("share.withEvidence")}</span>}
          <ConfirmButton
            label={say("share.revoke")}
            title={say("share.revokeAsk")}
            what={say("share.revokeWhat")}
            className="quiet-button"
            onConfirm={async () => {
              await remove(`/v1/links/${link.id}`);
              onRevoked?.(link.id);
              await refresh(queries, ["links"]);
            }}
          />
        </li>
      ))}
    </ul>
  );
}
