// The keys that act for one person: their own page makes and ends them, an operator's ends them.

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { get, post, remove } from "../api/http";
import { keys } from "../api/keys";
import { refresh } from "../api/refresh";
import { Field, Form } from "../pages/sign_in";
import { say } from "../texts";
import { ConfirmButton } from "./confirm";
import { CopyButton } from "./copy_button";
import { Dialog } from "./dialog";
import { ErrorNotice, Skeleton } from "./notice";
import { Time } from "./time";
import { visible } from "./visible";

const SCOPES = ["ask", "read"] as const;
const MAX_DAYS = 36_500;

export function OwnKeys({ userId }: { userId: string }) {
  const queries = useQueryClient();
  const list = useQuery({
    queryKey: keys.ownKeys(userId),
    queryFn: ({ signal }) => get(`/v1/users/${userId}/keys`, {}, signal),
  });
  if (!list.data) return list.error ? <ErrorNotice error={list.error} /> : <Skeleton lines={1} />;
  if (!list.data.results.length) return <p className="text-quiet">{say("keys.none")}</p>;
  return (
    <ul aria-label={say("admin.keys")} className="flex flex-col gap-3 text-small">
      {list.data.results.map((key) => (
        <li key={key.id} className="flex flex-wrap items-baseline gap-x-3">
          <b>{visible(key.name)}</b>
          <span className="font-mono text-quiet">{key.id}</span>
          <span>{key.scopes.join(", ")}</span>
          <span className="text-quiet">
            {say("admin.created")} <Time at={key.created_at} />
          </span>
          <span className="text-quiet">
            {key.last_used_at ? (
              <>
                {say("admin.lastUsed")} <Time at={key.last_used_at} />
              </>
            ) : (
              say("keys.neverUsed")
            )}
          </span>
          {key.state === "active" && key.expires_at && (
            <span className="text-quiet">
              {say("admin.expires")} <Time at={key.expires_at} isExact />
            </span>
          )}
          {key.state === "active" ? (
            <ConfirmButton
              label={say("admin.revoke")}
              title={say("admin.revokeAsk", { name: visible(key.name) })}
              what={say("admin.revokeWhat")}
              className="quiet-button"
              onConfirm={() =>
                remove(`/v1/users/${userId}/keys/${key.id}`).then(() => refresh(queries, ["ownKeys", "keys"]))
              }
            />
          ) : (
            <span className="text-quiet">{say(`admin.${key.state}`)}</span>
          )}
        </li>
      ))}
    </ul>
  );
}

/** Makes a key, and shows it once. */
export function MakeKey({ userId }: { userId: string }) {
  const queries = useQueryClient();
  const [secret, setSecret] = useState<string | null>(null);
  return (
    <details className="card">
      <summary>{say("admin.keyCreate")}</summary>
      <div className="mt-3 max-w-md">
        <Form
          submit={say("admin.keyCreate")}
          onSubmit={async (form) => {
            const days = form.get("days")?.trim();
            const made = await post(`/v1/users/${userId}/keys`, {
              name: form.get("name")!,
              scopes: SCOPES.filter((scope) => form.has(`scope-${scope}`)),
              days: days ? Number(days) : null,
            });
            setSecret(made.key);
            await refresh(queries, ["ownKeys", "keys"]);
          }}
        >
          <Field label={say("admin.keyName")} name="name" required maxLength={100} placeholder={say("keys.example")} />
          <fieldset className="flex flex-col gap-1">
            <legend className="text-small text-quiet">{say("admin.scopes")}</legend>
            {SCOPES.map((scope) => (
              <label key={scope} className="flex items-center gap-2">
                <input type="checkbox" className="min-h-0!" name={`scope-${scope}`} defaultChecked />{" "}
                {say(`admin.scope.${scope}`)}
              </label>
            ))}
          </fieldset>
          <Field label={say("admin.keyDays")} name="days" type="number" min={1} max={MAX_DAYS} />
        </Form>
      </div>
      {secret && (
        <Dialog title={say("admin.keyCreate")} onClose={() => setSecret(null)}>
          <p className="mb-2">{say("admin.keyOnce")}</p>
          <pre className="whitespace-pre-wrap break-all rounded bg-raised p-3">{secret}</pre>
          <CopyButton text={secret} className="button mt-3" />
        </Dialog>
      )}
    </details>
  );
}
