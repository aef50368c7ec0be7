// An app has sent somebody here to be connected: they see who asks for what, and say yes or no.

import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";

import { post } from "../api/http";
import { keys } from "../api/keys";
import type { AppRequest } from "../api/types";
import { placeOf } from "../parts/apps";
import { EmptyPage, ErrorNotice, Skeleton } from "../parts/notice";
import { useTitle } from "../parts/title";
import { visible } from "../parts/visible";
import { useUser } from "../session/session";
import { say } from "../texts";

const PARAMETERS = [
  "redirect_uri",
  "response_type",
  "code_challenge",
  "code_challenge_method",
  "scope",
  "state",
  "resource",
] as const;

function readRequest(): AppRequest {
  const sent = new URLSearchParams(window.location.search);
  const request: AppRequest = { client_id: sent.get("client_id") ?? "" };
  for (const name of PARAMETERS) if (sent.has(name)) request[name] = sent.get(name);
  return request;
}

export function ConnectPage() {
  const user = useUser();
  const [request] = useState(readRequest);
  useTitle(say("connect.title"));
  const asking = useQuery({
    queryKey: keys.asking(user.userId, request),
    queryFn: () => post("/v1/apps/preview", request),
    staleTime: Infinity,
    enabled: request.client_id !== "",
  });
  const connect = useMutation({
    mutationFn: () => post("/v1/apps", request),
    onSuccess: ({ redirect_url }) => window.location.assign(redirect_url),
  });
  if (!request.client_id)
    return (
      <EmptyPage why={say("connect.nothing")}>
        <Link href="/">{say("app.toStart")}</Link>
      </EmptyPage>
    );
  const app = asking.data;
  const name = app && visible(app.name);
  return (
    <div className="scrolls h-full p-4" tabIndex={0}>
      <div className="mx-auto flex max-w-[56ch] flex-col gap-4">
        <h1 className="text-title font-semibold">{say("connect.title")}</h1>
        <ErrorNotice error={asking.error} />
        {asking.isPending && <Skeleton lines={6} />}
        {app && connect.data && (
          <p role="status">
            {say("connect.done", { name: name! })} <a href={connect.data.redirect_url}>{placeOf(app)}</a>
          </p>
        )}
        {app?.problem && (
          <>
            <p role="alert">{say("connect.problem", { name: name!, problem: app.problem })}</p>
            <a className="button self-start" href={app.refusal_url}>
              {say("connect.back", { place: placeOf(app) })}
            </a>
          </>
        )}
        {app && !app.problem && !connect.data && (
          <>
            <p className="text-lead break-words">{say("connect.asks", { name: name! })}</p>
            <ul className="list-disc pl-6">
              {app.scopes.map((scope) => (
                <li key={scope}>{say(`apps.may.${scope}`)}</li>
              ))}
            </ul>
            {app.document_host && <p>{say("connect.document", { host: visible(app.document_host) })}</p>}
            <p>{say("connect.place", { place: placeOf(app) })}</p>
            <p>{say("connect.as", { name: user.email ?? user.name })}</p>
            <p className="text-warn">{say("connect.unverified")}</p>
            <ErrorNotice error={connect.error} />
            <div className="flex flex-wrap gap-2">
              <button
                type="button"
                className="button primary"
                disabled={connect.isPending}
                onClick={() => connect.mutate()}
              >
                {say("connect.yes")}
              </button>
              <a className="button" href={app.refusal_url}>
                {say("connect.no")}
              </a>
            </div>
          </>
        )}
      </div>
    </div>
  );
}
