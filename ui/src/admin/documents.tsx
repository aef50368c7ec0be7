import { useQueryClient } from "@tanstack/react-query";

import { useRef } from "react";

import { remove, send } from "../api/http";
import { refresh } from "../api/refresh";
import type { Item } from "../api/route";
import { Form } from "../pages/sign_in";
import { ConfirmButton } from "../parts/confirm";
import { pollOfReading } from "../parts/documents";
import { Empty, ErrorNotice, Skeleton } from "../parts/notice";
import { Time } from "../parts/time";
import { unique, useMore } from "../parts/use_more";
import { visible } from "../parts/visible";
import { formatNumber, say } from "../texts";
import { Sheet } from "./sheet";
import { Table } from "./table";

type SharedDocument = Item<"/v1/admin/knowledge">;

/** The documents that every user's search finds. */
export function DocumentsPage() {
  const queries = useQueryClient();
  const input = useRef<HTMLInputElement>(null);
  const readAgain = () => refresh(queries, ["documents"]);
  const list = useMore("documents", "/v1/admin/knowledge", { limit: 50 }, true, pollOfReading);
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
      label="admin.documents"
      rows={documents}
      idOf={(one) => one.id}
      columns={[
        {
          head: "admin.created",

          cell: (one) => <Time at={one.created_at} isExact />,
        },
        { head: "profile.name", cell: (one) => visible(one.name) },
        {
          head: "admin.status",
          className: (one) => (one.error ? "text-bad" : ""),
          cell: (one) => <span title={one.status}>{visible(one.error ?? say(`file.state.${one.status}`))}</span>,
        },
        { head: "admin.passages", isNumber: true, cell: (one) => formatNumber(one.chunks) },
        {
          head: "app.acts",
          isLeftOut: !onRemove,
          cell: (one) => (
            <ConfirmButton
              label={say("evidence.forget")}
              title={say("admin.documentAsk", { name: visible(one.name) })}
              what={say("admin.documentWhat")}
              className="button small danger"
              onConfirm={async () => onRemove?.(one)}
            />
          ),
        },
      ]}
    />
  );
}
