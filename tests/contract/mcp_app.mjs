// The official client in Node signs in by OAuth: it finds the authorization server, registers, sends the person to the
// page, exchanges the code, renews its token when that was refused, and calls a tool before and after.
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from "@modelcontextprotocol/client";

const [url, accessToken] = process.argv.slice(2);
const kept = {};
const asked = [];

/** The person on the page: says yes to what the address asks for, and returns what comes back to the client. */
async function sayYes(address) {
  const response = await fetch(new URL("/v1/apps", address), {
    method: "POST",
    headers: { authorization: `Bearer ${accessToken}`, "content-type": "application/json" },
    body: JSON.stringify(Object.fromEntries(address.searchParams)),
  });
  if (!response.ok) throw new Error(await response.text());
  return new URL((await response.json()).redirect_url).searchParams;
}

const authProvider = {
  redirectUrl: "http://localhost:4711/callback",
  clientMetadata: {
    client_name: "Node",
    redirect_uris: ["http://localhost:4711/callback"],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
  },
  state: () => "a state",
  clientInformation: () => kept.client,
  saveClientInformation: (client) => (kept.client = client),
  tokens: () => kept.tokens,
  saveTokens: (tokens) => (kept.tokens = tokens),
  redirectToAuthorization: (address) => asked.push(address),
  saveCodeVerifier: (verifier) => (kept.verifier = verifier),
  codeVerifier: () => kept.verifier,
};

async function call() {
  const client = new Client({ name: "maas-contract-tests", version: "1.0.0" });
  const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider });
  await client.connect(transport);
  const result = await client.callTool({ name: "add_memory", arguments: { memory: "Node was here." } });
  await client.close();
  return result;
}

const first = new StreamableHTTPClientTransport(new URL(url), { authProvider });
await new Client({ name: "maas-contract-tests", version: "1.0.0" }).connect(first).catch((error) => {
  if (!(error instanceof UnauthorizedError)) throw error;
});
await first.finishAuth(await sayYes(asked[0]));
const results = [await call()];
const old = { ...kept.tokens };
kept.tokens.access_token = `${old.access_token}x`; // which the server refuses, so the client renews it
results.push(await call());
console.log(
  JSON.stringify({
    asked: asked.length,
    results,
    isRenewed: kept.tokens.refresh_token !== old.refresh_token && kept.tokens.access_token !== old.access_token,
  }),
);
