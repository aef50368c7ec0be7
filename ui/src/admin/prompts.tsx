import { Link } from "wouter";

import { ErrorNotice, Skeleton } from "../parts/notice";
import { Time } from "../parts/time";
import { useMore } from "../parts/use_more";
import { visible } from "../parts/visible";
import { formatNumber, say } from "../texts";
import { ofNumbers, Sheet, Table } from "./sheet";

export function PromptsPage() {
  const list = useMore("prompts", "/v1/admin/prompts");
  return (
    <Sheet title={say("admin.prompts")}>
      <ErrorNotice error={list.error} />
      {list.isPending && <Skeleton lines={8} />}
      {list.items.length > 0 && (
        <Table
          columns={[
            say("admin.role"),
            say("admin.version"),
            say("admin.changed"),
            say("admin.changedBy"),
            say("admin.active"),
            ofNumbers(say("admin.characters")),
          ]}
        >
          {list.items.map((prompt) => (
            <tr key={prompt.role}>
              <td>
                <Link href={`/admin/prompts/${encodeURIComponent(prompt.role)}`}>{prompt.role}</Link>
              </td>
              <td>{prompt.version}</td>
              <td>
                <Time at={prompt.updated_at} />
              </td>
              <td>{visible(prompt.changed_by ?? "–")}</td>
              <td>{say(prompt.is_active ? "app.yes" : "app.no")}</td>
              <td className="text-right">{formatNumber(prompt.characters)}</td>
            </tr>
          ))}
        </Table>
      )}
    </Sheet>
  );
}
