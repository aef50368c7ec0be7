// Where events are sent: a person's own addresses, or those of operators; what came of each delivery.

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { patch, post, remove } from "../api/http";
import { refresh } from "../api/refresh";
import type { UserEvent, Webhook, WebhookDelivery } from "../api/types";
import { ConfirmButton } from "../parts/confirm";
import { CopyButton } from "../parts/copy_button";
import { Dialog } from "../parts/dialog";
import { Empty, ErrorNotice, Skeleton } from "../parts/notice";
import { Time } from "../parts/time";
import { useTitle } from "../parts/title";
import { unique, useMore } from "../parts/use_more";
import { visible } from "../parts/visible";
import { useUser } from "../session/session";
import { say } from "../texts";
import { Field, Form } from "./sign_in";

const BUSY_MS = 3000; // between two looks at deliveries that are on their way

const EVENTS: UserEvent[] = [
  "run.completed",
  "run.failed",
  "run.approval_required",
  "memory.added",
  "memory.forgotten",
  "fact.changed",
  "task.progress",
];

export function WebhooksPage() {
  const { userId } = useUser();
  useTitle(say("webhooks.title"));
  return (
    <div className="scrolls h-full p-4" tabIndex={0}>
      <div className="mx-auto flex max-w-[80ch] flex-col gap-4">
        <h1 className="text-title font-semibold">{say("webhooks.title")}</h1>
        <Webhooks userId={userId} />
      </div>
    </div>
  );
}

/** The webhooks of a user; without one those of operators, for events of all users. */
export function Webhooks({ userId }: { userId: string | null }) {
  const queries = useQueryClient();
  const [secret, setSecret] = useState<string | null>(null);
  const own = useMore("webhooks", "/v1/webhooks", { user_id: userId }, userId !== null);
  const shared = useMore("webhooks", "/v1/admin/webhooks", undefined, userId === null);
  const list = userId === null ? shared : own;
  const readAgain = () => refresh(queries, ["webhooks"]);
  return (
    <>
      <p className="text-small text-quiet">{say(userId === null ? "webhooks.whatAll" : "webhooks.what")}</p>
      <details className="card">
        <summary>{say("webhooks.create")}</summary>
        <div className="mt-3 max-w-md">
          <Form
            submit={say("webhooks.create")}
            onSubmit={async (form) => {
              const wanted = {
                url: form.get("url")!.trim(),
                events: EVENTS.filter((event) => form.has(event)),
                texts: form.has("texts"),
              };
              const made =
                userId === null
                  ? await post("/v1/admin/webhooks", {
                      ...wanted,
                      events: form.has("user.erased") ? [...wanted.events, "user.erased"] : wanted.events,
                    })
                  : await post("/v1/webhooks", { ...wanted, user_id: userId });
              setSecret(made.secret);
              await readAgain();
            }}
          >
            <Field
              label={say("webhooks.url")}
              name="url"
              type="url"
              required
              maxLength={2000}
              placeholder="https://example.com/maas"
            />
            <fieldset className="flex flex-col gap-1">
              <legend className="text-small text-quiet">{say("webhooks.events")}</legend>
              {[...EVENTS, ...(userId === null ? ["user.erased" as const] : [])].map((event) => (
                <label key={event} className="flex items-center gap-2">
                  <input type="checkbox" className="min-h-0!" name={event} defaultChecked />{" "}
                  {say(`webhooks.on.${event}`)}
                </label>
              ))}
            </fieldset>
            <label className="flex items-center gap-2">
              <input type="checkbox" className="min-h-0!" name="texts" /> {say("webhooks.texts")}
            </label>
          </Form>
        </div>
      </details>
      <ErrorNotice error={list.error} onRetry={() => void list.refetch()} />
      {list.isPending && <Skeleton lines={3} className="h-16" />}
      {list.isSuccess && !list.items.length && <Empty>{say("webhooks.none")}</Empty>}
      <ul className="flex flex-col gap-2">
        {list.items.map((webhook) => (
          <Card key={webhook.id} webhook={webhook} onSecret={setSecret} />
        ))}
      </ul>
      {secret && (
        <Dialog title={say("webhooks.secret")} onClose={() => setSecret(null)}>
          <p className="mb-2">{say("webhooks.secretOnce")}</p>
          <pre className="whitespace-pre-wrap rounded bg-raised p-3 break-all">{secret}</pre>
          <CopyButton text={secret} className="button mt-3" />
        </Dialog>
      )}
    </>
  );
}

function Card({ webhook, onSecret }: { webhook: Webhook; onSecret: (secret: string) => void }) {
  const queries = useQueryClient();
  const [isOpen, setOpen] = useState(false);
  const readAgain = () => refresh(queries, ["webhooks"]);
  const isEnabled = webhook.state === "enabled";
  const turn = useMutation({
    mutationFn: () => patch(`/v1/webhooks/${webhook.id}`, { enabled: !isEnabled }),
    onSuccess: readAgain,
  });
  return (
    <li className="card">
      <p className="break-all font-mono">{visible(webhook.url)}</p>
      <p className="flex flex-wrap gap-x-3 text-small text-quiet">
        {isEnabled ? (
          <span>{say("webhooks.state.enabled")}</span>
        ) : (
          <b className="text-warn">{say(`webhooks.state.${webhook.state}`)}</b>
        )}
        <span>{webhook.events.map((event) => say(`webhooks.on.${event}`)).join(", ")}</span>
        {webhook.texts && <span>{say("webhooks.hasTexts")}</span>}
        {webhook.waiting > 0 && <span>{say("webhooks.waiting", { n: webhook.waiting })}</span>}
        {webhook.failing_since && (
          <span className="text-warn">
            {say("webhooks.failingSince")} <Time at={webhook.failing_since} />
          </span>
        )}
      </p>
      <div className="mt-1 flex flex-wrap gap-x-4">
        <button type="button" className="quiet-button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {say("webhooks.deliveries")}
        </button>
        <button type="button" className="quiet-button" disabled={turn.isPending} onClick={() => turn.mutate()}>
          {say(isEnabled ? "webhooks.disable" : "webhooks.enable")}
        </button>
        <ConfirmButton
          label={say("webhooks.rotate")}
          title={say("webhooks.rotateAsk")}
          what={say("webhooks.rotateWhat")}
          className="quiet-button"
          onConfirm={async () => {
            const { secret } = await post(`/v1/webhooks/${webhook.id}/rotate`, { hours: 24 });
            onSecret(secret);
          }}
        />
        <ConfirmButton
          label={say("webhooks.delete")}
          title={say("webhooks.deleteAsk")}
          what={say("webhooks.deleteWhat")}
          className="quiet-button"
          onConfirm={() => remove(`/v1/webhooks/${webhook.id}`).then(readAgain)}
        />
      </div>
      <ErrorNotice error={turn.error} />
      {isOpen && <Deliveries webhook={webhook} />}
    </li>
  );
}

function Deliveries({ webhook }: { webhook: Webhook }) {
  const queries = useQueryClient();
  const list = useMore("webhooks", `/v1/webhooks/${webhook.id}/deliveries`, { limit: 20 }, true, (items) =>
    items.some(({ state }) => state === "waiting") ? BUSY_MS : false,
  );
  const replay = useMutation({
    mutationFn: (deliveryId: string | null) => post(`/v1/webhooks/${webhook.id}/replay`, { delivery_id: deliveryId }),
    onSuccess: () => refresh(queries, ["webhooks"]),
  });
  const deliveries = unique(list.items, (one) => one.id);
  return (
    <div className="mt-2 flex flex-col gap-2">
      <div className="flex flex-wrap gap-2">
        <button type="button" className="button small" onClick={() => void list.refetch()}>
          {say("webhooks.readAgain")}
        </button>
        <button type="button" className="button small" disabled={replay.isPending} onClick={() => replay.mutate(null)}>
          {say("webhooks.replayFailed")}
        </button>
      </div>
      <ErrorNotice error={list.error ?? replay.error} />
      {list.isPending && <Skeleton lines={3} />}
      {list.isSuccess && !deliveries.length && <Empty>{say("app.empty")}</Empty>}
      {deliveries.length > 0 && (
        <div className="scrolls" tabIndex={0}>
          <table className="data">
            <thead>
              <tr>
                {(["event", "when", "state", "attempts", "answer"] as const).map((column) => (
                  <th key={column} scope="col">
                    {say(`webhooks.column.${column}`)}
                  </th>
                ))}
                <th scope="col" className="relative">
                  <span className="sr-only">{say("webhooks.replay")}</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {deliveries.map((delivery) => (
                <tr key={delivery.id}>
                  <td title={delivery.id}>{say(`webhooks.on.${delivery.type}`)}</td>
                  <td>
                    <Time at={delivery.created_at} />
                  </td>
                  <td>
                    {say(`webhooks.delivery.${delivery.state}`)}
                    {delivery.next_at && delivery.attempts > 0 && (
                      <>
                        , {say("webhooks.next")} <Time at={delivery.next_at} />
                      </>
                    )}
                  </td>
                  <td className="text-right">{delivery.attempts}</td>
                  <td>{answerOf(delivery)}</td>
                  <td>
                    {delivery.state !== "waiting" && (
                      <button
                        type="button"
                        className="quiet-button"
                        disabled={replay.isPending}
                        onClick={() => replay.mutate(delivery.id)}
                      >
                        {say("webhooks.replay")}
                      </button>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      <div ref={list.mark} className="h-4" />
    </div>
  );
}

function answerOf({ status, error }: WebhookDelivery): string {
  return status !== null ? `HTTP ${status}` : error !== null ? say(`webhooks.error.${error}`) : "–";
}
