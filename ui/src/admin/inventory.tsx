import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";

import { get } from "../api/http";
import { keys } from "../api/keys";
import { ErrorNotice, Skeleton } from "../parts/notice";
import { visible } from "../parts/visible";
import { formatNumber, say, sayOr } from "../texts";
import { Pause } from "./pauses";
import { ofNumbers, Sheet, Table } from "./sheet";

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
            <Table columns={[say("admin.assistant"), say("admin.role"), say("admin.plugin"), say("admin.state"), ""]}>
              {data.assistants.map((one) => (
                <tr key={one.name}>
                  <td>
                    <Link href={`/admin/runs?assistant=${encodeURIComponent(one.name)}`}>{visible(one.title)}</Link>{" "}
                    <span className="font-mono text-quiet">{visible(one.name)}</span>
                  </td>
                  <td>
                    <Link href={`/admin/prompts/${encodeURIComponent(one.role)}`}>{visible(one.role)}</Link>
                  </td>
                  <td>{visible(one.plugin ?? "–")}</td>
                  <td className={one.is_active ? "" : "min-w-60 text-bad"}>
                    {one.is_active
                      ? say("admin.works")
                      : visible(one.inactive_reason ?? "") || say("admin.switchedOff")}
                  </td>
                  <td>
                    <Pause subject="assistant" name={one.name} title={one.title} />
                  </td>
                </tr>
              ))}
            </Table>
          </section>
          <section>
            <h2 className="mb-2 text-lead font-semibold">{say("admin.models")}</h2>
            <p className="mb-2 text-small text-quiet">{say("admin.modelsWhat")}</p>
            {!data.models.length && <p className="text-quiet">–</p>}
            {data.models.length > 0 && (
              <Table
                columns={[
                  say("admin.model"),
                  say("trace.stages"),
                  ofNumbers(say("admin.calls")),
                  ofNumbers(say("admin.failed")),
                  ofNumbers(say("admin.timeouts")),
                  say("admin.lastError"),
                  "",
                ]}
              >
                {data.models.map((one) => (
                  <tr key={`${one.stage} ${one.role} ${one.model}`}>
                    <td>{visible(one.model)}</td>
                    <td>
                      {sayOr(`stage.${one.stage}`, one.stage)} <span className="text-quiet">{visible(one.role)}</span>
                    </td>
                    <td className="text-right">{formatNumber(one.calls)}</td>
                    <td className={one.failures ? "text-right text-bad" : "text-right"}>
                      {formatNumber(one.failures)}
                    </td>
                    <td className="text-right">{formatNumber(one.timeouts)}</td>
                    <td>{visible(one.last_error ?? "–").slice(0, 500)}</td>
                    <td>
                      <Pause subject="model" name={one.model} />
                    </td>
                  </tr>
                ))}
              </Table>
            )}
          </section>
          <section>
            <h2 className="mb-2 text-lead font-semibold">{say("admin.tools")}</h2>
            <Table columns={[say("admin.tool"), say("admin.effect"), say("admin.description")]}>
              {data.tools.map((one) => (
                <tr key={one.name}>
                  <td>
                    <span className="font-mono">{visible(one.name)}</span>{" "}
                    <span className="text-quiet">{visible(one.domain)}</span>
                  </td>
                  <td className={one.effect === "dangerous" ? "text-bad" : ""}>{one.effect}</td>
                  <td>{visible(one.description).slice(0, 500)}</td>
                </tr>
              ))}
            </Table>
          </section>
        </>
      )}
    </Sheet>
  );
}
