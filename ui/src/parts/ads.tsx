// The businesses of a user: how each is connected to Facebook, amoCRM and WhatsApp, and what is not set up yet.

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { get, post } from "../api/http";
import { keys } from "../api/keys";
import { refresh } from "../api/refresh";
import type { AdsBusiness, AdsConnection, AdsState, FacebookCheck } from "../api/types";
import { Field, Form } from "../pages/sign_in";
import { formatDay, formatNumber, say, sayOr } from "../texts";
import { Empty, ErrorNotice, Skeleton } from "./notice";
import { Time } from "./time";
import { visible } from "./visible";

const BUSY_MS = 2000;
const IDLE_MS = 30_000;
const MAX_TOKEN = 8000;

export function AdsConnections({ userId }: { userId: string }) {
  const state = useQuery({
    queryKey: keys.ads(userId),
    queryFn: ({ signal }) => get(`/v1/users/${userId}/ads`, {}, signal),
    refetchInterval: ({ state: { data } }) => (data?.businesses.some(isBusy) ? BUSY_MS : IDLE_MS),
  });
  return (
    <>
      <p className="text-small text-quiet">{say("ads.what")}</p>
      <ErrorNotice error={state.error} onRetry={() => void state.refetch()} />
      {state.isPending && <Skeleton lines={4} className="h-16" />}
      {state.data && !state.data.businesses.length && <Empty>{say("ads.none")}</Empty>}
      {state.data?.businesses.map((business) => (
        <Business key={business.id} business={business} userId={userId} />
      ))}
      {state.data && <Connect key={userId} state={state.data} userId={userId} />}
    </>
  );
}

function isBusy(business: AdsBusiness): boolean {
  return business.connections.some((one) => one.is_syncing || one.is_waiting);
}

function Business({ business, userId }: { business: AdsBusiness; userId: string }) {
  const queries = useQueryClient();
  const sync = useMutation({
    mutationFn: () => post(`/v1/users/${userId}/ads/sync`, { business_id: business.id }),
    onSuccess: () => refresh(queries, [keys.ads(userId)]),
  });
  return (
    <section className="card flex flex-col gap-3" aria-label={visible(business.name)}>
      <div className="flex flex-wrap items-center justify-between gap-2">
        <h2 className="font-semibold">{visible(business.name)}</h2>
        <button
          type="button"
          className="button small"
          disabled={sync.isPending || isBusy(business)}
          onClick={() => sync.mutate()}
        >
          {say("ads.read")}
        </button>
      </div>
      <ErrorNotice error={sync.error} />
      <ul className="flex flex-col gap-3">
        {business.connections.map((one) => (
          <Connection key={`${one.service} ${one.id}`} connection={one} />
        ))}
      </ul>
      {business.missing.length > 0 && (
        <div className="text-small">
          <h3 className="text-quiet">{say("ads.missing")}</h3>
          <ul className="ml-4 list-disc">
            {business.missing.map((one) => (
              <li key={one}>{say(`ads.missing.${one}`)}</li>
            ))}
          </ul>
        </div>
      )}
    </section>
  );
}

function Connection({ connection }: { connection: AdsConnection }) {
  const { service, title, currency, timezone, synced_at, token_ends_at, problems, error, progress } = connection;
  const about = [currency, timezone].filter(Boolean).join(", ");
  const rows = Object.entries(progress).map(([kind, n]) => `${sayOr(`ads.rows.${kind}`, kind)} ${formatNumber(n)}`);
  return (
    <li>
      <p>
        {service} · {visible(title)} {about && <span className="text-small text-quiet">({about})</span>}
      </p>
      <p role="status" className="flex flex-wrap gap-x-3 text-small text-quiet">
        {connection.is_syncing ? (
          <span>{say("ads.reading", { rows: rows.join(", ") })}</span>
        ) : connection.is_waiting ? (
          <span>{say("ads.waiting")}</span>
        ) : (
          rows.length > 0 && <span>{say("ads.lastRead", { rows: rows.join(", ") })}</span>
        )}
        {synced_at && (
          <span>
            {say("ads.dataOf")} <Time at={synced_at} />
          </span>
        )}
      </p>
      {problems.map((one) => (
        <p key={one} className="text-small text-warn">
          {say(`ads.problem.${one}`, { day: token_ends_at ? formatDay(token_ends_at) : "" })}
        </p>
      ))}
      {error && (
        <p lang="en" className="text-small text-quiet">
          {visible(error)}
        </p>
      )}
    </li>
  );
}

function Connect({ state, userId }: { state: AdsState; userId: string }) {
  const [business, setBusiness] = useState(state.businesses[0]?.name ?? "");
  const [isOpen, setOpen] = useState(!state.businesses.length); // and it stays open while services are connected
  const queries = useQueryClient();
  const readAgain = () => refresh(queries, [keys.ads(userId)]);
  const own = { business, userId, onDone: readAgain };
  return (
    <details className="card" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{say("ads.connect")}</summary>
      <div className="mt-3 flex max-w-xl flex-col gap-6">
        <Field
          label={say("ads.business")}
          help={say("ads.businessHelp")}
          value={business}
          maxLength={200}
          required
          onChange={(event) => setBusiness(event.currentTarget.value)}
        />
        <Facebook {...own} />
        <Crm {...own} proposed={state.crm_url} />
        <Whatsapp {...own} allowed={state.whatsapp} />
      </div>
    </details>
  );
}

interface Own {
  business: string;
  userId: string;
  onDone: () => Promise<void>;
}

/** The token is kept until accounts are chosen, and never longer. */
function Facebook({ business, userId, onDone }: Own) {
  const [found, setFound] = useState<{ token: string; check: FacebookCheck } | null>(null);
  const [connected, setConnected] = useState(0);
  return (
    <fieldset className="flex flex-col gap-3">
      <legend className="font-semibold">Facebook</legend>
      <p className="text-small text-quiet">{say("ads.facebookHelp")}</p>
      {connected > 0 && (
        <p role="status" className="text-small">
          {say("ads.connected", { n: connected })}
        </p>
      )}
      {!found ? (
        <Form
          submit={say("ads.check")}
          onSubmit={async (form) => {
            const token = form.get("token")!.trim();
            const { facebook } = await post(`/v1/users/${userId}/ads/check`, { facebook: { token } });
            setConnected(0);
            setFound({ token, check: facebook! });
          }}
        >
          <Token label={say("ads.facebookToken")} />
        </Form>
      ) : (
        <Form
          submit={say("ads.connectAccounts")}
          onSubmit={async (form) => {
            const accounts = found.check.accounts.map(({ id }) => id).filter((id) => form.has(id));
            if (!accounts.length) throw new Error(say("ads.chooseOne"));
            await post(`/v1/users/${userId}/ads/connections`, {
              business: named(business),
              facebook: { token: found.token, accounts },
            });
            setFound(null);
            setConnected(accounts.length);
            await onDone();
          }}
        >
          <Answer check={found.check} />
          <fieldset className="flex flex-col gap-1">
            <legend className="text-small text-quiet">{say("ads.accounts")}</legend>
            {found.check.accounts.map((one, _, all) => (
              <label key={one.id} className="flex items-center gap-2">
                <input type="checkbox" className="min-h-0!" name={one.id} defaultChecked={all.length === 1} />
                <span>
                  {visible(one.name)}{" "}
                  <span className="text-small text-quiet">
                    {one.id}, {one.currency}, {one.timezone}
                    {!one.can_run_ads && `, ${say("ads.cannotRun")}`}
                  </span>
                </span>
              </label>
            ))}
          </fieldset>
          <button type="button" className="quiet-button text-left" onClick={() => setFound(null)}>
            {say("ads.otherToken")}
          </button>
        </Form>
      )}
    </fieldset>
  );
}

function Answer({ check }: { check: FacebookCheck }) {
  return (
    <ul className="ml-4 list-disc text-small">
      {check.missing_permissions.map((one) => (
        <li key={one} className="text-warn">
          {say("ads.noPermission", { name: one, without: sayOr(`ads.without.${one}`, "") })}
        </li>
      ))}
      {check.permissions_unknown && (
        <li>
          {say("ads.permissionsUnknown")} <span lang="en">{visible(check.permissions_unknown)}</span>
        </li>
      )}
      <li>{check.token_ends_at ? say("ads.tokenEnds", { day: formatDay(check.token_ends_at) }) : say("ads.noEnd")}</li>
    </ul>
  );
}

function Crm({ business, userId, onDone, proposed }: Own & { proposed: string | null }) {
  const [said, setSaid] = useState<string | null>(null);
  return (
    <fieldset className="flex flex-col gap-3">
      <legend className="font-semibold">amoCRM</legend>
      <p className="text-small text-quiet">{say("ads.crmHelp")}</p>
      <Form
        key={said}
        submit={say("ads.connectCrm")}
        onSubmit={async (form) => {
          const crm = { url: form.get("url")!.trim(), token: form.get("token")!.trim() };
          const name = named(business);
          const { crm: answer } = await post(`/v1/users/${userId}/ads/check`, { crm });
          await post(`/v1/users/${userId}/ads/connections`, { business: name, crm });
          const { stages, currency, token_ends_at } = answer!;
          const end = token_ends_at ? say("ads.tokenEnds", { day: formatDay(token_ends_at) }) : say("ads.noEnd");
          setSaid(`${say("ads.crmAnswer", { n: stages, currency })} ${end}`);
          await onDone();
        }}
      >
        <Field
          label={say("ads.crmUrl")}
          name="url"
          type="url"
          required
          maxLength={300}
          defaultValue={proposed ?? ""}
          placeholder="https://name.amocrm.ru"
        />
        <Token label={say("ads.crmToken")} />
      </Form>
      {said && (
        <p role="status" className="text-small">
          {said}
        </p>
      )}
    </fieldset>
  );
}

const LINKED = {
  true: "ads.whatsappLinked",
  false: "ads.whatsappNotLinked",
  null: "ads.whatsappAnswer",
} as const; // whether the instance has a telephone

function Whatsapp({ business, userId, onDone, allowed }: Own & { allowed: AdsState["whatsapp"] }) {
  const [said, setSaid] = useState<string | null>(null);
  return (
    <fieldset className="flex flex-col gap-3">
      <legend className="font-semibold">WhatsApp</legend>
      <p className="text-small text-quiet">{say(`ads.whatsapp.${allowed}`)}</p>
      {allowed === "open" && (
        <Form
          submit={say("ads.connectWhatsapp")}
          onSubmit={async (form) => {
            const whatsapp = { instance: form.get("instance")!.trim() };
            const name = named(business);
            const { whatsapp: answer } = await post(`/v1/users/${userId}/ads/check`, { whatsapp });
            await post(`/v1/users/${userId}/ads/connections`, { business: name, whatsapp });
            setSaid(say(LINKED[String(answer!.is_linked) as keyof typeof LINKED]));
            await onDone();
          }}
        >
          <Field label={say("ads.instance")} name="instance" required maxLength={100} pattern="[A-Za-z0-9_\-]+" />
        </Form>
      )}
      {said && (
        <p role="status" className="text-small">
          {said}
        </p>
      )}
    </fieldset>
  );
}

function Token({ label }: { label: string }) {
  return (
    <Field
      label={label}
      name="token"
      type="password"
      autoComplete="off"
      spellCheck={false}
      required
      minLength={8}
      maxLength={MAX_TOKEN}
    />
  );
}

/** The name of the business, which stands outside of the forms. Throws where there is none. */
function named(business: string): string {
  if (!business.trim()) throw new Error(say("ads.nameFirst"));
  return business.trim();
}
