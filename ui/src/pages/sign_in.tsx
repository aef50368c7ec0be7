// Signing in, signing up, and setting a password by a link of an administrator.

import { type ReactNode, useState } from "react";
import { ApiError } from "../api/error";
import { Logo } from "../parts/logo";
import { ErrorNotice } from "../parts/notice";
import { type Config, session } from "../session/session";
import { say } from "../texts";

const MIN_PASSWORD = 8;

export function SignInPage({ config, why }: { config: Config; why?: "expired" }) {
  const isReset = window.location.pathname === "/ui/reset";
  const hasPasswords = config.auth === "local" || config.auth_url !== null;
  return (
    <main className="mx-auto flex min-h-full max-w-sm flex-col justify-center gap-6 p-6">
      <header className="flex flex-col gap-2">
        <h1 className="flex items-center gap-3 text-title font-semibold">
          <Logo className="size-8" /> {say("app.name")}
        </h1>
        <p className="text-quiet">{say("chat.what")}</p>
      </header>
      {why === "expired" && (
        <p role="status" className="text-warn">
          {say("sign.expired")}
        </p>
      )}
      {isReset ? <Reset /> : hasPasswords ? <PasswordForm config={config} /> : <KeyForm />}
    </main>
  );
}

function PasswordForm({ config }: { config: Config }) {
  const [isNew, setNew] = useState(false);
  return (
    <>
      <Form
        submit={say(isNew ? "sign.up" : "sign.in")}
        onSubmit={(form) =>
          isNew
            ? session.signUp(form.get("email")!, form.get("password")!, form.get("name") ?? "", form.get("code") ?? "")
            : session.signIn(form.get("email")!, form.get("password")!)
        }
      >
        <Field label={say("sign.email")} name="email" type="email" autoComplete="username" required maxLength={254} />
        <Field
          label={say("sign.password")}
          name="password"
          type="password"
          required
          maxLength={1000}
          autoComplete={isNew ? "new-password" : "current-password"}
          minLength={isNew ? MIN_PASSWORD : 1}
          help={isNew ? say("sign.passwordRule") : undefined}
        />
        {isNew && <Field label={say("sign.name")} name="name" autoComplete="name" maxLength={200} />}
        {isNew && config.auth === "local" && (
          <details>
            <summary className="mb-2 text-small text-quiet">{say("sign.hasCode")}</summary>
            <Field
              label={say("sign.adminCode")}
              name="code"
              autoComplete="off"
              maxLength={200}
              help={say("sign.adminCodeRule")}
            />
          </details>
        )}
      </Form>
      {config.is_signup_open && (
        <p className="text-small">
          {say(isNew ? "sign.hasAccount" : "sign.noAccount")}{" "}
          <button type="button" className="text-accent underline" onClick={() => setNew(!isNew)}>
            {say(isNew ? "sign.in" : "sign.up")}
          </button>
        </p>
      )}
      {!isNew && <p className="text-small text-quiet">{say("sign.forgotten")}</p>}
    </>
  );
}

function KeyForm() {
  return (
    <Form submit={say("sign.in")} onSubmit={(form) => session.signInWithKey(form.get("key")!, form.get("user") ?? "")}>
      <Field label={say("sign.key")} name="key" type="password" autoComplete="off" required maxLength={16000} />
      <Field
        label={say("sign.keyUser")}
        name="user"
        maxLength={200}
        autoComplete="username"
        help={say("sign.keyUserRule")}
      />
    </Form>
  );
}

function Reset() {
  return (
    <Form
      submit={say("sign.reset")}
      onSubmit={async (form) => {
        const token = new URLSearchParams(window.location.hash.slice(1)).get("token") ?? "";
        const password = form.get("password")!;
        try {
          await session.resetPassword(token, password);
        } catch (error) {
          throw error instanceof ApiError && error.code !== "otp_expired" ? error : new Error(say("sign.badLink"));
        }
        window.history.replaceState(null, "", "/ui/");
      }}
    >
      <Field
        label={say("sign.newPassword")}
        name="password"
        type="password"
        autoComplete="new-password"
        required
        minLength={MIN_PASSWORD}
        maxLength={1000}
        help={say("sign.passwordRule")}
      />
    </Form>
  );
}

interface FieldProps extends React.InputHTMLAttributes<HTMLInputElement> {
  label: string;
  help?: string;
}

export function Field({ label, help, ...input }: FieldProps) {
  return (
    <label className="field">
      <span>{label}</span>
      <input {...input} />
      {help && <span>{help}</span>}
    </label>
  );
}

interface FormProps {
  submit: string;
  onSubmit: (form: Map<string, string>) => Promise<void>;
  children: ReactNode;
}

/** A form whose error stands above its button, and which cannot be sent twice at a time. */
export function Form({ submit, onSubmit, children }: FormProps) {
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={async (event) => {
        event.preventDefault();
        const values = new Map(
          [...new FormData(event.currentTarget)].map(([name, value]) => [name, String(value)] as const),
        );
        setBusy(true);
        setError(null);
        try {
          await onSubmit(values);
        } catch (cause) {
          setError(cause);
        } finally {
          setBusy(false);
        }
      }}
    >
      {children}
      <ErrorNotice error={error} />
      <button type="submit" className="button primary" disabled={isBusy}>
        {submit}
      </button>
    </form>
  );
}
