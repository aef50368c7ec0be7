// Who somebody is, how the page looks to them, what they have spent, and their password.

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";

import { get, put } from "../api/http";
import { keys } from "../api/keys";
import type { NewProfile, Preferences, Profile, Spending } from "../api/types";
import { isNotifying, setNotifying } from "../chat/notification";
import { Links } from "../chat/share";
import { Apps } from "../parts/apps";
import { ErrorNotice, Skeleton } from "../parts/notice";
import { MakeKey, OwnKeys } from "../parts/own_keys";
import { useTitle } from "../parts/title";
import { chooseScheme, chosenScheme, type Scheme } from "../session/appearance";
import { session, useUser } from "../session/session";
import { chooseLanguage, formatNumber, say, sayOr } from "../texts";
import { Field, Form } from "./sign_in";

const SCHEMES: Scheme[] = ["auto", "light", "dark"];

export function ProfilePage() {
  const user = useUser();
  useTitle(say("profile.title"));
  const { userId } = user;
  const profile = useQuery({
    queryKey: keys.profile(userId),
    queryFn: ({ signal }) => get(`/v1/users/${userId}/profile`, {}, signal),
  });
  const spending = useQuery({
    queryKey: keys.spending(userId),
    queryFn: ({ signal }) => get(`/v1/users/${userId}/spending`, {}, signal),
  });
  const preferences = useQuery({
    queryKey: keys.preferences(userId),
    queryFn: ({ signal }) => get(`/v1/users/${userId}/preferences`, {}, signal),
  });
  const hasPassword = user.email !== null;
  // All at once: what comes later would move a button from under the pointer.
  const isLoading = profile.isLoading || spending.isLoading || preferences.isLoading;
  return (
    <div className="scrolls h-full p-4" tabIndex={0}>
      <div className="mx-auto flex max-w-[56ch] flex-col gap-8">
        <h1 className="text-title font-semibold">{say("profile.title")}</h1>
        {user.email && (
          <p data-email>
            {user.name ? `${user.name}, ` : ""}
            {user.email}
          </p>
        )}
        {isLoading ? (
          <Skeleton lines={8} />
        ) : (
          <>
            <ErrorNotice error={profile.error ?? preferences.error ?? spending.error} />
            {profile.data && <Person profile={profile.data} />}
            {preferences.data && <Wishes found={preferences.data.preferences} />}
            <Look />
            {spending.data && <Spent spending={spending.data} />}
            {user.config.link_days > 0 && (
              <section>
                <h2 className="text-lead font-semibold">{say("share.links")}</h2>
                <Links />
              </section>
            )}
            {user.config.auth === "local" && (
              <section>
                <h2 className="mb-2 text-lead font-semibold">{say("apps.title")}</h2>
                <Apps userId={userId} />
              </section>
            )}
            <div className="flex flex-wrap gap-2">
              <Link href="/schedules" className="button">
                {say("schedule.title")}
              </Link>
              <Link href="/webhooks" className="button">
                {say("webhooks.title")}
              </Link>
            </div>
            {(user.config.auth === "local" || user.config.auth === "jwt") && (
              <section className="flex flex-col gap-3">
                <h2 className="text-lead font-semibold">{say("keys.title")}</h2>
                <p className="text-small text-quiet">{say("keys.what")}</p>
                <OwnKeys userId={userId} />
                <MakeKey userId={userId} />
              </section>
            )}
            {user.config.auth !== "none" && (
              <section className="flex flex-col gap-4">
                <h2 className="text-lead font-semibold">{say("profile.account")}</h2>
                {hasPassword && <Password />}
                <div className="flex flex-wrap gap-2">
                  <button type="button" className="button" onClick={() => void session.signOut()}>
                    {say("nav.signOut")}
                  </button>
                  {hasPassword && (
                    <button type="button" className="button danger" onClick={() => void session.signOut("global")}>
                      {say("profile.signOutAll")}
                    </button>
                  )}
                </div>
              </section>
            )}
          </>
        )}
      </div>
    </div>
  );
}

function Person({ profile }: { profile: Profile }) {
  const { userId } = useUser();
  const queries = useQueryClient();
  const save = useMutation({
    mutationFn: (next: NewProfile) => put(`/v1/users/${userId}/profile`, next),
    onSuccess: (next) => {
      queries.setQueryData(keys.profile(userId), next);
      if (session.userId !== userId) return; // somebody else has signed in meanwhile
      chooseLanguage(next.language);
      session.rename(next.name ?? "");
    },
  });
  return (
    <Form
      submit={save.isSuccess ? say("app.saved") : say("app.save")}
      onSubmit={async (form) => {
        const language = form.get("language") || null;
        await save.mutateAsync({
          name: form.get("name")?.trim() || null,
          position: form.get("position")?.trim() || null,
          department: form.get("department")?.trim() || null,
          language: language as Profile["language"],
        });
      }}
    >
      <Field
        label={say("profile.name")}
        name="name"
        defaultValue={profile.name ?? ""}
        maxLength={200}
        autoComplete="name"
      />
      <Field
        label={say("profile.position")}
        name="position"
        defaultValue={profile.position ?? ""}
        maxLength={200}
        autoComplete="organization-title"
      />
      <Field
        label={say("profile.department")}
        name="department"
        defaultValue={profile.department ?? ""}
        maxLength={200}
      />
      <label className="field">
        <span>{say("profile.language")}</span>
        <select name="language" defaultValue={profile.language ?? ""}>
          <option value="">{say("profile.languageAuto")}</option>
          <option value="en" lang="en">
            English
          </option>
          <option value="ru" lang="ru">
            Русский
          </option>
        </select>
      </label>
    </Form>
  );
}

const SLOTS = [
  "competencies",
  "communication_style",
  "meeting_preferences",
  "focus_time",
  "working_style",
  "career_goals",
  "problem_solving",
];

function Wishes({ found }: { found: Preferences["preferences"] }) {
  const { userId } = useUser();
  const queries = useQueryClient();
  const save = useMutation({
    mutationFn: (preferences: Record<string, string>) => put(`/v1/users/${userId}/preferences`, { preferences }),
    onSuccess: (next) => queries.setQueryData(keys.preferences(userId), next),
  });
  const names = [
    ...SLOTS.filter((name) => name in found),
    ...Object.keys(found).filter((name) => !SLOTS.includes(name)),
  ];
  if (names.length === 0) return null;
  return (
    <section data-preferences>
      <h2 className="mb-2 text-lead font-semibold">{say("profile.preferences")}</h2>
      <p className="mb-3 text-quiet">{say("profile.preferencesHelp")}</p>
      <Form
        submit={save.isSuccess ? say("app.saved") : say("app.save")}
        onSubmit={async (form) => {
          const answers = names.map((name) => [name, form.get(name)?.trim() ?? ""] as const);
          await save.mutateAsync(Object.fromEntries(answers.filter(([, answer]) => answer !== "")));
        }}
      >
        {names.map((name) => (
          <Field
            key={name}
            label={sayOr(`slot.${name}`, name)}
            name={name}
            defaultValue={found[name]?.value ?? ""}
            maxLength={500}
          />
        ))}
      </Form>
    </section>
  );
}

function Spent({ spending }: { spending: Spending }) {
  return (
    <section>
      <h2 className="mb-2 text-lead font-semibold">{say("profile.spending")}</h2>
      <ul className="tabular">
        <li>
          {say("profile.today", { tokens: spending.tokens_today, dollars: formatNumber(spending.dollars_today, 4) })}
        </li>
        <li>{say("profile.total", { tokens: spending.tokens, dollars: formatNumber(spending.dollars, 4) })}</li>
        <li className="text-quiet">{say("profile.budget", { budget: budgetOf(spending) })}</li>
      </ul>
    </section>
  );
}

function budgetOf({ daily_tokens, daily_dollars }: Spending): string {
  const parts = [
    daily_tokens !== null && say("profile.tokens", { n: daily_tokens }),
    daily_dollars !== null && `$${formatNumber(daily_dollars, 2)}`,
  ];
  return parts.filter(Boolean).join(", ") || say("profile.none");
}

function Look() {
  const { userId } = useUser();
  const [scheme, setScheme] = useState(chosenScheme());
  const [isNotified, setNotified] = useState(() => isNotifying(userId));
  return (
    <section className="flex flex-col gap-4">
      <label className="field">
        <span>{say("profile.look")}</span>
        <select
          value={scheme}
          onChange={(event) => {
            const next = event.target.value as Scheme;
            chooseScheme(next);
            setScheme(next);
          }}
        >
          {SCHEMES.map((one) => (
            <option key={one} value={one}>
              {say(`profile.look.${one}`)}
            </option>
          ))}
        </select>
      </label>
      <label className="flex items-center gap-2">
        <input
          type="checkbox"
          className="min-h-0!"
          checked={isNotified}
          onChange={(event) => void setNotifying(userId, event.target.checked).then(setNotified)}
        />
        {say("profile.notify")}
      </label>
    </section>
  );
}

function Password() {
  const [isDone, setDone] = useState(false);
  if (isDone) return <p role="status">{say("profile.passwordDone")}</p>;
  return (
    <details>
      <summary>{say("profile.password")}</summary>
      <div className="mt-3">
        <Form
          submit={say("profile.password")}
          onSubmit={async (form) => {
            await session.changePassword(form.get("password")!, form.get("current")!);
            setDone(true);
          }}
        >
          <Field
            label={say("sign.currentPassword")}
            name="current"
            type="password"
            autoComplete="current-password"
            required
            maxLength={1000}
          />
          <Field
            label={say("sign.newPassword")}
            name="password"
            type="password"
            autoComplete="new-password"
            required
            minLength={8}
            maxLength={1000}
            help={say("sign.passwordRule")}
          />
        </Form>
      </div>
    </details>
  );
}
