import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { post, remove } from "../api/http";
import { refresh } from "../api/refresh";
import { Field, Form } from "../pages/sign_in";
import { ConfirmButton } from "../parts/confirm";
import { CopyButton } from "../parts/copy_button";
import { Dialog } from "../parts/dialog";
import { Empty, ErrorNotice, Skeleton } from "../parts/notice";
import { Time } from "../parts/time";
import { useMore } from "../parts/use_more";
import { visible } from "../parts/visible";
import { say } from "../texts";
import { Pause } from "./pauses";
import { Sheet } from "./sheet";
import { Table } from "./table";
import { UserLink } from "./users";

const SCOPES = ["ask", "read", "metrics", "admin"] as const;

export function KeysPage() {
  const queries = useQueryClient();
  const [secret, setSecret] = useState<string | null>(null);
  const list = useMore("keys", "/v1/admin/keys");
  const readAgain = () => refresh(queries, ["keys"]);
  return (
    <Sheet title={say("admin.keys")}>
      <details className="card">
        <summary>{say("admin.keyCreate")}</summary>
        <div className="mt-3 max-w-md">
          <Form
            submit={say("admin.keyCreate")}
            onSubmit={async (form) => {
              const scopes = SCOPES.filter((scope) => form.has(`scope-${scope}`));
              const text = (name: string) => form.get(name)?.trim() || null;
              const number = (name: string) => (text(name) === null ? null : Number(text(name)));
              const made = await post("/v1/admin/keys", {
                name: form.get("name")!,
                scopes,
                user_id: text("user"),
                prefix: text("prefix"),
                per_minute: number("perMinute"),
                days: number("days"),
              });
              setSecret(made.key);
              await readAgain();
            }}
          >
            <Field label={say("admin.keyName")} name="name" required maxLength={100} />
            <fieldset className="flex flex-col gap-1">
              <legend className="text-small text-quiet">{say("admin.scopes")}</legend>
              {SCOPES.map((scope) => (
                <label key={scope} className="flex items-center gap-2">
                  <input
                    type="checkbox"
                    className="min-h-0!"
                    name={`scope-${scope}`}
                    defaultChecked={scope === "ask" || scope === "read"}
                  />{" "}
                  {say(`admin.scope.${scope}`)}
                </label>
              ))}
            </fieldset>
            <Field label={say("admin.keyUser")} name="user" maxLength={36} />
            <Field label={say("admin.keyPrefix")} name="prefix" maxLength={200} />
            <Field label={say("admin.keyPerMinute")} name="perMinute" type="number" min={1} max={1_000_000} />
            <Field label={say("admin.keyDays")} name="days" type="number" min={1} />
          </Form>
        </div>
      </details>
      <ErrorNotice error={list.error} />
      {list.isPending && <Skeleton lines={4} />}
      {list.isSuccess && !list.items.length && <Empty>{say("app.empty")}</Empty>}
      {list.items.length > 0 && (
        <Table
          label="admin.keys"
          rows={list.items}
          idOf={(key) => key.id}
          columns={[
            {
              head: "admin.keyName",
              cell: (key) => (
                <>
                  {visible(key.name)} <span className="font-mono text-quiet">{key.id}</span>
                </>
              ),
            },
            { head: "admin.scopes", cell: (key) => key.scopes.join(", ") },
            {
              head: "admin.user",
              cell: (key) =>
                key.user_id ? (
                  <UserLink id={key.user_id} name={key.user_name} />
                ) : key.prefix ? (
                  `${visible(key.prefix)}…`
                ) : (
                  say("app.all")
                ),
            },
            { head: "admin.created", cell: (key) => <Time at={key.created_at} /> },
            { head: "admin.lastUsed", cell: (key) => (key.last_used_at ? <Time at={key.last_used_at} /> : "–") },
            { head: "admin.expires", cell: (key) => (key.expires_at ? <Time at={key.expires_at} /> : "–") },
            { head: "admin.perMinute", isNumber: true, cell: (key) => key.per_minute ?? "–" },
            {
              head: "app.acts",
              cell: (key) =>
                key.state !== "active" ? (
                  <span className="text-quiet">{say(`admin.${key.state}`)}</span>
                ) : (
                  <div className="flex flex-wrap gap-2">
                    <Pause subject="key" name={key.id} title={key.name} />
                    <ConfirmButton
                      label={say("admin.revoke")}
                      title={say("admin.revokeAsk", { name: visible(key.name) })}
                      what={say("admin.revokeWhat")}
                      className="button small danger"
                      onConfirm={() => remove(`/v1/admin/keys/${key.id}`).then(readAgain)}
                    />
                  </div>
                ),
            },
          ]}
        />
      )}
      <div ref={list.mark} className="h-8" />
      {secret && (
        <Dialog title={say("admin.keyCreate")} onClose={() => setSecret(null)}>
          <p className="mb-2">{say("admin.keyOnce")}</p>
          <pre className="whitespace-pre-wrap rounded bg-raised p-3">{secret}</pre>
          <CopyButton text={secret} className="button mt-3" />
        </Dialog>
      )}
    </Sheet>
  );
}
