// An account for somebody, made by an operator: the link by which they set a password is shown once.

import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";

import { post } from "../api/http";
import { refresh } from "../api/refresh";
import { Field, Form } from "../pages/sign_in";
import { CopyButton } from "../parts/copy_button";
import { Dialog } from "../parts/dialog";
import { useUser } from "../session/session";
import { say } from "../texts";

const MAX_EMAIL = 254;
const MAX_NAME = 200;

/** Nothing where people do not sign in with a password of ours. */
export function Invite() {
  const { config } = useUser();
  const queries = useQueryClient();
  const [made, setMade] = useState<{ user_id: string; url_path: string } | null>(null);
  if (config.auth !== "local") return null;
  const address = made && window.location.origin + made.url_path;
  return (
    <details className="card">
      <summary>{say("invite.title")}</summary>
      <div className="mt-3 flex max-w-md flex-col gap-3">
        <p className="text-small text-quiet">
          {say(config.is_signup_open ? "invite.signupOpen" : "invite.signupClosed")}
        </p>
        <Form
          key={made?.user_id}
          submit={say("invite.do")}
          onSubmit={async (form) => {
            setMade(
              await post("/v1/admin/accounts", {
                email: form.get("email")!.trim(),
                name: form.get("name")?.trim() || null,
              }),
            );
            await refresh(queries, ["users"]);
          }}
        >
          <Field label={say("sign.email")} name="email" type="email" required maxLength={MAX_EMAIL} />
          <Field label={say("sign.name")} name="name" maxLength={MAX_NAME} />
        </Form>
      </div>
      {made && address && (
        <Dialog title={say("invite.title")} onClose={() => setMade(null)}>
          <p className="mb-2">{say("admin.resetOnce")}</p>
          <pre className="whitespace-pre-wrap rounded bg-raised p-3 break-all">{address}</pre>
          <div className="mt-3 flex flex-wrap items-center gap-3">
            <CopyButton text={address} className="button" />
            <Link href={`/admin/users/${made.user_id}`}>{say("admin.user")}</Link>
          </div>
        </Dialog>
      )}
    </details>
  );
}
