import { Link } from "wouter";

import { ErrorNotice, Skeleton } from "../parts/notice";
import { Time } from "../parts/time";
import { useMore } from "../parts/use_more";
import { visible } from "../parts/visible";
import { formatNumber, say } from "../texts";
import { Sheet } from "./sheet";
import { Table } from "./table";

export function PromptsPage() {
  const list = useMore("prompts", "/v1/admin/prompts");
  return (
    <Sheet title={say("admin.prompts")}>
      <ErrorNotice error={list.error} />
      {list.isPending && <Skeleton lines={8} />}
      {list.items.length > 0 && (
        <Table
          label="admin.prompts"
          rows={list.items}
          idOf={(prompt) => prompt.role}
          columns={[
            {
              head: "admin.role",
              cell: (prompt) => <Link href={`/admin/prompts/${encodeURIComponent(prompt.role)}`}>{prompt.role}</Link>,
            },
            { head: "admin.version", cell: (prompt) => prompt.version },
            { head: "admin.changed", cell: (prompt) => <Time at={prompt.updated_at} /> },
            { head: "admin.changedBy", cell: (prompt) => visible(prompt.changed_by ?? "–") },
            { head: "admin.active", cell: (prompt) => say(prompt.is_active ? "app.yes" : "app.no") },
            { head: "admin.characters", isNumber: true, cell: (prompt) => formatNumber(prompt.characters) },
          ]}
        />
      )}
    </Sheet>
  );
}
