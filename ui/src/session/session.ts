// Who uses the page. The access token stays in memory; the refresh token is an HttpOnly cookie that no script reads.

import { useSyncExternalStore } from "react";

import { ApiError, readError } from "../api/error";
import type { Caller, User } from "../api/types";
import { keepFor } from "./kept";

/** What the server says about itself in /ui/config.json. */
export interface Config {
  auth: "none" | "keys" | "jwt" | "local";
  local_user_id: string | null; // MAAS_AUTH=none: the user of this machine
  is_signup_open: boolean;
  auth_url: string | null; // of another issuer that speaks GoTrue, such as Supabase
  anon_key: string | null;
  attachment_bytes: number; // a picture may have
  knowledge_bytes: number; // a document may have
  link_days: number; // how long links to conversations last; 0: there are none
  trace_url: string | null; // of the page of a trace at OpenTelemetry, with {trace_id} in it
  version: string;
}

type SessionState =
  | { kind: "loading"; config?: Config } // with it while a session of an earlier visit is looked for
  | { kind: "unreachable" }
  | { kind: "anonymous"; config: Config; why?: "expired" }
  | { kind: "open"; config: Config; userId: string; name: string; email: string | null; isAdmin: boolean };

interface Tokens {
  access_token: string;
  refresh_token: string;
  expires_in: number;
  user: { id: string; email: string | null; user_metadata?: { name?: string }; app_metadata?: { is_admin?: boolean } };
}

const KEY = "maas.key"; // an API key, for MAAS_AUTH=keys; ends with the tab
const FOREIGN_REFRESH = "maas.refresh"; // of another issuer, which cannot set our cookie; ends with the tab
const HAD_SESSION = "maas.had-session"; // whose cookie may be there; other tabs see it change

class Session {
  private state: SessionState = { kind: "loading" };
  private listeners = new Set<() => void>();
  private accessToken: string | null = null;
  private apiKey: string | null = null;
  private renewing: Promise<boolean> | null = null;
  private timer = 0;
  private last: string | null = null; // who was signed in last
  private ended = 0; // how many sessions have ended: what was asked for in one of them is not taken afterwards

  constructor() {
    window.addEventListener("storage", (event) => (event.key === HAD_SESSION || event.key === null) && this.heed());
    window.addEventListener("pageshow", (event) => event.persisted && this.heed()); // a page that the browser had put aside
  }

  get = (): SessionState => this.state;

  subscribe = (listener: () => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  /** The id of the person who is signed in. */
  get userId(): string | null {
    return this.state.kind === "open" ? this.state.userId : null;
  }

  headers(): Record<string, string> {
    const credential = this.accessToken ?? this.apiKey;
    return credential ? { authorization: `Bearer ${credential}` } : {};
  }

  /** Find out how this server signs people in, and go on with the session of an earlier visit. */
  async start() {
    let config: Config;
    try {
      const response = await fetch("/ui/config.json");
      if (!response.ok) throw await readError(response);
      config = await response.json();
    } catch {
      this.set({ kind: "unreachable" });
      return;
    }
    this.set({ kind: "loading", config });
    if (config.auth === "none") {
      this.open({ userId: config.local_user_id!, name: "", email: null, isAdmin: true });
      return;
    }
    const key = sessionStorage.getItem(KEY);
    if (key)
      await this.signInWithKey(key, sessionStorage.getItem(`${KEY}.user`) ?? "").catch(() =>
        sessionStorage.removeItem(KEY),
      );
    else if (this.mayHaveSession(config)) await this.renew();
    if (this.get().kind === "open") return;
    const isUnknown = !key && this.mayHaveSession(config); // the server could not be asked, and did not refuse
    this.set(isUnknown ? { kind: "unreachable" } : { kind: "anonymous", config });
  }

  async signIn(email: string, password: string) {
    this.take(await this.call("/token?grant_type=password", { email, password }));
  }

  async signUp(email: string, password: string, name: string, adminCode: string) {
    const data = { ...(name ? { name } : {}), ...(adminCode ? { admin_code: adminCode } : {}) };
    this.take(await this.call("/signup", { email, password, data }));
  }

  /** Set a password by the one-time token of a link that an administrator made, and sign in. */
  async resetPassword(token: string, password: string) {
    const tokens = await this.call("/verify", { type: "recovery", token_hash: token });
    this.accessToken = tokens.access_token;
    await this.call("/user", { password }, "PUT");
    this.take(tokens);
  }

  async changePassword(password: string, current: string) {
    await this.call("/user", { password, ...(current ? { current_password: current } : {}) }, "PUT");
  }

  /** Sign in with an API key; one that serves many people needs the name of one. */
  async signInWithKey(key: string, user: string) {
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const caller = await fetch("/v1/caller", { headers });
    if (!caller.ok) throw await readError(caller);
    const { user_id, scopes, prefix, name }: Caller = await caller.json();
    let userId: string | null = user_id;
    if (!userId) {
      if (!user) throw new ApiError(400, "user_required", "", null);
      const found = await fetch("/v1/users", { method: "POST", headers, body: JSON.stringify({ external_id: user }) });
      if (!found.ok) throw await readError(found);
      userId = ((await found.json()) as User).user_id;
    }
    this.apiKey = key;
    sessionStorage.setItem(KEY, key);
    sessionStorage.setItem(`${KEY}.user`, user);
    const isAdmin = scopes.includes("admin") && !user_id && !prefix;
    this.open({ userId, name: user || name, email: null, isAdmin });
  }

  async signOut(scope: "local" | "global" = "local") {
    if (this.accessToken) await this.call(`/logout?scope=${scope}`, {}).catch(() => undefined);
    this.end();
  }

  /** Get a new access token; false when the session is over. Several callers share one attempt. */
  renew(): Promise<boolean> {
    this.renewing ??= this.renewOnce().finally(() => (this.renewing = null));
    return this.renewing;
  }

  /** The server refuses the credential for good. */
  expire() {
    if (this.state.kind === "open" && this.state.config.auth !== "none") this.end("expired");
  }

  rename(name: string) {
    if (this.state.kind === "open") this.set({ ...this.state, name });
  }

  /** Another tab has signed out, or somebody else in: this one must not go on as before. */
  private heed() {
    if (this.accessToken && this.state.kind === "open" && localStorage.getItem(HAD_SESSION) !== this.state.userId)
      this.end();
  }

  private async renewOnce(): Promise<boolean> {
    if (this.apiKey || !this.config || this.config.auth === "none") return false;
    const foreign = sessionStorage.getItem(FOREIGN_REFRESH);
    const ended = this.ended;
    try {
      const tokens = await this.call("/token?grant_type=refresh_token", foreign ? { refresh_token: foreign } : {});
      if (ended !== this.ended) return false;
      this.take(tokens);
      return true;
    } catch (error) {
      if (ended === this.ended && error instanceof ApiError && isRefusal(error.status)) this.end("expired");
      return false;
    }
  }

  private mayHaveSession(config: Config): boolean {
    return config.auth_url
      ? sessionStorage.getItem(FOREIGN_REFRESH) !== null
      : localStorage.getItem(HAD_SESSION) !== null;
  }

  private async call(path: string, body: object, method = "POST"): Promise<Tokens> {
    const config = this.config;
    if (!config) throw new ApiError(0, "unreachable", "", null);
    const { auth_url, anon_key } = config;
    const headers: Record<string, string> = { "content-type": "application/json", ...this.headers() };
    if (auth_url && anon_key) headers.apikey = anon_key;
    if (!auth_url) headers["x-maas-session"] = "cookie";
    let response: Response;
    try {
      response = await fetch(`${auth_url ?? "/auth/v1"}${path}`, { method, headers, body: JSON.stringify(body) });
    } catch (error) {
      throw new ApiError(0, "unreachable", String(error), null);
    }
    if (!response.ok) throw await readError(response);
    return response.status === 204 ? (undefined as unknown as Tokens) : response.json();
  }

  private take(tokens: Tokens) {
    this.accessToken = tokens.access_token;
    if (tokens.refresh_token) sessionStorage.setItem(FOREIGN_REFRESH, tokens.refresh_token);
    localStorage.setItem(HAD_SESSION, tokens.user.id);
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.renew(), Math.max(1, tokens.expires_in * 0.8) * 1000);
    const { id, email, user_metadata, app_metadata } = tokens.user;
    this.open({ userId: id, name: user_metadata?.name ?? "", email, isAdmin: app_metadata?.is_admin === true });
  }

  private open(user: { userId: string; name: string; email: string | null; isAdmin: boolean }) {
    const config = this.config;
    if (!config) return;
    keepFor(user.userId);
    if (this.last !== null && this.last !== user.userId) window.history.replaceState(null, "", "/ui/"); // theirs was another place
    this.last = user.userId;
    this.set({ kind: "open", config, ...user });
  }

  /** Forget the person who was signed in: credentials, and all that the browser keeps for them. */
  private end(why?: "expired") {
    this.ended += 1;
    const [state, had] = [this.state, localStorage.getItem(HAD_SESSION)];
    this.accessToken = this.apiKey = null;
    window.clearTimeout(this.timer);
    for (const name of [KEY, `${KEY}.user`, FOREIGN_REFRESH]) sessionStorage.removeItem(name);
    if (state.kind !== "open" || had === state.userId) localStorage.removeItem(HAD_SESSION); // not that of somebody else
    keepFor(null);
    if (state.kind === "open") this.set({ kind: "anonymous", config: state.config, ...(why ? { why } : {}) });
  }

  private get config(): Config | undefined {
    return "config" in this.state ? this.state.config : undefined;
  }

  private set(state: SessionState) {
    this.state = state;
    for (const listener of this.listeners) listener();
  }
}

/** Whether a status says that the session is over, and not that the server is busy or away. */
function isRefusal(status: number): boolean {
  return status >= 400 && status < 500 && status !== 429;
}

export const session = new Session();

export function useSession(): SessionState {
  return useSyncExternalStore(session.subscribe, session.get);
}

/** The person who is signed in; only below pages that need one. */
export function useUser() {
  const state = useSession();
  if (state.kind !== "open") throw new Error("nobody is signed in");
  return state;
}
