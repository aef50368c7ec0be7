import { useQueryClient } from "@tanstack/react-query";

import { useRef } from "react";

import { remove, send } from "../api/http";
import { refresh } from "../api/refresh";
import type { Item } from "../api/route";
import { Form } from "../pages/sign_in";
import { ConfirmButton } from "../parts/confirm";
import { Empty, ErrorNotice, Skeleton } from "../parts/notice";
import { Time } from "../parts/time";
import { unique, useMore } from "../parts/use_more";
import { visible } from "../parts/visible";
import { formatNumber, say } from "../texts";
import { ofNumbers, Sheet, Table } from "./sheet";

type SharedDocument = Item<"/v1/admin/knowledge">;

/** The documents that every user's search finds. */
export function DocumentsPage() {
  const queries = useQueryClient();
  const input = useRef<HTMLInputElement>(null);
  const readAgain = () => refresh(queries, ["documents"]);
  const list = useMore("documents", "/v1/admin/knowledge", { limit: 50 });
  const documents = unique(list.items, (one) => one.id);
  return (
    <Sheet title={say("admin.documents")} note={say("admin.documentsWhat")}>
      <details className="card">
        <summary>{say("admin.documentAdd")}</summary>
        <div className="mt-3 max-w-md">
          <Form
            submit={say("admin.documentAdd")}
            onSubmit={async () => {
              const file = input.current?.files?.[0];
              if (!file) return;
              const form = new FormData();
              form.append("name", file.name);
              form.append("file", file);
              await send("POST", "/v1/admin/knowledge", form);
              await readAgain();
            }}
          >
            <label className="field">
              <span>{say("admin.file")}</span>
              <input ref={input} type="file" required />
            </label>
          </Form>
        </div>
      </details>
      <ErrorNotice error={list.error} onRetry={() => void list.refetch()} />
      {list.isPending && <Skeleton lines={4} />}
      {list.isSuccess && !documents.length && <Empty>{say("app.empty")}</Empty>}
      {documents.length > 0 && (
        <DocumentsTable
          documents={documents}
          onRemove={(one) => remove(`/v1/admin/knowledge/${one.id}`).then(readAgain)}
        />
      )}
      <div ref={list.mark} className="h-8" />
    </Sheet>
  );
}

export function DocumentsTable({
  documents,
  onRemove,
}: {
  documents: SharedDocument[];
  onRemove?: (one: SharedDocument) => Promise<unknown>;
}) {
  return (
    <Table
      columns={[
        say("admin.created"),
        say("profile.name"),
        say("admin.status"),
        ofNumbers(say("admin.passages")),
        ...(onRemove ? [""] : []),
      ]}
    >
      {documents.map((one) => (
        <tr key={one.id}>
          <td className="whitespace-nowrap">
            <Time at={one.created_at} isExact />
          </td>
          <td>{visible(one.name)}</td>
          <td className={one.error ? "text-bad" : ""}>{visible(one.error ?? one.status)}</td>
          <td className="text-right">{formatNumber(one.chunks)}</td>
          {onRemove && (
            <td>
              <ConfirmButton
                label={say("evidence.forget")}
                title={say("admin.documentAsk", { name: visible(one.name) })}
                what={say("admin.documentWhat")}
                className="button small danger"
                onConfirm={() => onRemove(one)}
              />
            </td>
          )}
        </tr>
      ))}
    </Table>
  );
}
