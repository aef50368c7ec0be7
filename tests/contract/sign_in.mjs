// Supabase's own client of its auth server, against ours: node sign_in.mjs URL EMAIL LINK_TOKEN; prints what came.
import { AuthClient, isAuthApiError, isAuthWeakPasswordError, isAuthSessionMissingError } from "@supabase/auth-js";

const [base, email, link] = process.argv.slice(2);
const url = `${base}/auth/v1`;
const password = "the cello of Lisbon";

function open() {
  const kept = new Map();
  const storage = {
    getItem: (key) => kept.get(key) ?? null,
    setItem: (key, value) => void kept.set(key, value),
    removeItem: (key) => void kept.delete(key),
  };
  return new AuthClient({ url, storage, autoRefreshToken: false, persistSession: true, detectSessionInUrl: false });
}

const failed = ({ error }) => ({ api: isAuthApiError(error), status: error?.status, code: error?.code });
const user = ({ data, error }) => (error ? failed({ error }) : { id: data.user.id, email: data.user.email, name: data.user.user_metadata.name });

const here = open();
const elsewhere = open();
const got = {};
got.weak = await here.signUp({ email, password: "short" }).then(({ error }) => ({ weak: isAuthWeakPasswordError(error), reasons: error.reasons }));
got.signUp = user(await here.signUp({ email, password, options: { data: { name: "Ann" } } }));
got.again = failed(await open().signUp({ email, password }));
got.wrong = failed(await elsewhere.signInWithPassword({ email, password: "wrong password" }));
got.signIn = user(await elsewhere.signInWithPassword({ email, password }));
const before = (await here.getSession()).data.session;
got.refreshed = user(await here.refreshSession());
const after = (await here.getSession()).data.session;
got.tokensDiffer = before.refresh_token !== after.refresh_token;
got.tabs = (await Promise.all([open(), open()].map((tab) => tab.setSession({ ...after, access_token: expired(after.access_token) })))).map(user);
got.getUser = user(await here.getUser());
const { data: claims } = await here.getClaims();
got.claims = { sub: claims.claims.sub, role: claims.claims.role, aal: claims.claims.aal };
got.renamed = user(await here.updateUser({ data: { name: "Ann of Lisbon" } }));
got.password = user(await here.updateUser({ password: "another cello", current_password: password }));
got.same = failed(await here.updateUser({ password: "another cello" }));
got.elsewhereIsOut = failed(await elsewhere.refreshSession());
got.elsewhereHasNoSession = await elsewhere.getUser().then(({ error }) => isAuthSessionMissingError(error));
got.runs = (await fetch(`${base}/v1/runs`, { headers: { authorization: `Bearer ${(await here.getSession()).data.session.access_token}` } })).status;
const { refresh_token } = (await here.getSession()).data.session;
got.signOut = await here.signOut();
got.afterwards = failed(await open().refreshSession({ refresh_token }));
got.verified = user(await here.verifyOtp({ type: "recovery", token_hash: link }));
got.usedLink = failed(await open().verifyOtp({ type: "recovery", token_hash: link }));
console.log(JSON.stringify(got));

// The same token as if its time were over, so that the client refreshes; the server is sent no such token.
function expired(token) {
  const [head, body, seal] = token.split(".");
  const read = JSON.parse(Buffer.from(body, "base64url").toString());
  return [head, Buffer.from(JSON.stringify({ ...read, exp: 1 })).toString("base64url"), seal].join(".");
}
