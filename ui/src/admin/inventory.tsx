import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";

import { get } from "../api/http";
import { keys } from "../api/keys";
import { ErrorNotice, Skeleton } from "../parts/notice";
import { visible } from "../parts/visible";
import { formatNumber, say, sayOr } from "../texts";
import { Pause } from "./pauses";
import { Sheet } from "./sheet";
import { Table } from "./table";

/** Which assistants, tools and models there are, and why one does not work. */
export function InventoryPage() {
  const inventory = useQuery({
    queryKey: keys.inventory(),
    queryFn: ({ signal }) => get("/v1/admin/inventory", {}, signal),
  });
  const { data } = inventory;
  return (
    <Sheet title={say("admin.inventory")}>
      <ErrorNotice error={inventory.error} onRetry={() => void inventory.refetch()} />
      {inventory.isPending && <Skeleton lines={8} />}
      {data && (
        <>
          <section>
            <h2 className="mb-2 text-lead font-semibold">{say("admin.assistants")}</h2>
            <Table
              label="admin.assistants"
              rows={data.assistants}
              idOf={(one) => one.name}
              columns={[
                {
                  head: "admin.assistant",
                  cell: (one) => (
                    <>
                      <Link href={`/admin/runs?assistant=${encodeURIComponent(one.name)}`}>{visible(one.title)}</Link>{" "}
                      <span className="font-mono text-quiet">{visible(one.name)}</span>
                    </>
                  ),
                },
                {
                  head: "admin.role",
                  cell: (one) => (
                    <Link href={`/admin/prompts/${encodeURIComponent(one.role)}`}>{visible(one.role)}</Link>
                  ),
                },
                { head: "admin.plugin", cell: (one) => visible(one.plugin ?? "–") },
                {
                  head: "admin.state",
                  className: (one) => (one.is_active ? "" : "min-w-60 text-bad"),
                  cell: (one) =>
                    one.is_active ? say("admin.works") : visible(one.inactive_reason ?? "") || say("admin.switchedOff"),
                },
                { head: "app.acts", cell: (one) => <Pause subject="assistant" name={one.name} title={one.title} /> },
              ]}
            />
          </section>
          <section>
            <h2 className="mb-2 text-lead font-semibold">{say("admin.models")}</h2>
            <p className="mb-2 text-small text-quiet">{say("admin.modelsWhat")}</p>
            {!data.models.length && <p className="text-quiet">–</p>}
            {data.models.length > 0 && (
              <Table
                label="admin.models"
                rows={data.models}
                idOf={(one) => `${one.stage} ${one.role} ${one.model}`}
                columns={[
                  { head: "admin.model", cell: (one) => visible(one.model) },
                  {
                    head: "trace.stages",
                    cell: (one) => (
                      <>
                        {sayOr(`stage.${one.stage}`, one.stage)} <span className="text-quiet">{visible(one.role)}</span>
                      </>
                    ),
                  },
                  {
                    head: "admin.calls",
                    isNumber: true,
                    sortBy: (one) => one.calls,
                    cell: (one) => formatNumber(one.calls),
                  },
                  {
                    head: "admin.failed",
                    isNumber: true,
                    className: (one) => (one.failures ? "text-bad" : ""),
                    sortBy: (one) => one.failures,
                    cell: (one) => formatNumber(one.failures),
                  },
                  {
                    head: "admin.timeouts",
                    isNumber: true,
                    sortBy: (one) => one.timeouts,
                    cell: (one) => formatNumber(one.timeouts),
                  },
                  { head: "admin.lastError", cell: (one) => visible(one.last_error ?? "–").slice(0, 500) },
                  { head: "app.acts", cell: (one) => <Pause subject="model" name={one.model} /> },
                ]}
              />
            )}
          </section>
          <section>
            <h2 className="mb-2 text-lead font-semibold">{say("admin.tools")}</h2>
            <Table
              label="admin.tools"
              rows={data.tools}
              idOf={(one) => one.name}
              columns={[
                {
                  head: "admin.tool",
                  className: "max-sm:min-w-44 max-sm:wrap-anywhere",
                  cell: (one) => (
                    <>
                      <span className="font-mono">{visible(one.name)}</span>{" "}
                      <span className="text-quiet max-sm:block">{visible(one.domain)}</span>
                    </>
                  ),
                },
                {
                  head: "admin.effect",
                  className: (one) => `whitespace-nowrap ${one.effect === "dangerous" ? "text-bad" : ""}`,
                  cell: (one) => <span title={say(`action.${one.effect}`)}>{say(`admin.effect.${one.effect}`)}</span>,
                },
                {
                  head: "admin.description",
                  className: "min-w-60",
                  cell: (one) => visible(one.description).slice(0, 500),
                },
              ]}
            />
          </section>
        </>
      )}
    </Sheet>
  );
}
