// The apps that somebody has connected, and the end of that.

import { useQuery, useQueryClient } from "@tanstack/react-query";

import { get, remove } from "../api/http";
import { keys } from "../api/keys";
import { refresh } from "../api/refresh";
import type { ConnectedApp } from "../api/types";
import { say } from "../texts";
import { ConfirmButton } from "./confirm";
import { ErrorNotice, Skeleton } from "./notice";
import { Time } from "./time";
import { visible } from "./visible";

/** Where a person is sent back to, in words. */
export function placeOf({ redirect_kind, redirect_to }: Pick<ConnectedApp, "redirect_kind" | "redirect_to">): string {
  return redirect_kind === "computer" ? say("apps.computer") : visible(redirect_to);
}

export function Apps({ userId }: { userId: string }) {
  const queries = useQueryClient();
  const apps = useQuery({
    queryKey: keys.apps(userId),
    queryFn: ({ signal }) => get("/v1/apps", { user_id: userId }, signal),
  });
  if (!apps.data) return apps.error ? <ErrorNotice error={apps.error} /> : <Skeleton lines={1} />;
  if (!apps.data.results.length) return <p className="text-quiet">{say("apps.none")}</p>;
  return (
    <ul aria-label={say("apps.title")} className="flex flex-col gap-3 text-small">
      {apps.data.results.map((app) => (
        <li key={app.id} className="flex flex-wrap items-baseline gap-x-3">
          <b>{visible(app.name)}</b>
          <span className="text-quiet">{placeOf(app)}</span>
          <span>
            {say("apps.since")} <Time at={app.created_at} isExact />
            {app.renewed_at && (
              <>
                , {say("apps.renewed")} <Time at={app.renewed_at} />
              </>
            )}
          </span>
          <span className="text-quiet">{app.scopes.map((scope) => say(`apps.short.${scope}`)).join(", ")}</span>
          <ConfirmButton
            label={say("apps.disconnect")}
            title={say("apps.disconnectAsk", { name: visible(app.name) })}
            what={say("apps.disconnectWhat")}
            className="quiet-button"
            onConfirm={() => remove(`/v1/apps/${app.id}`).then(() => refresh(queries, ["apps"]))}
          />
        </li>
      ))}
    </ul>
  );
}
