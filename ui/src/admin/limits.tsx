// What one user may have and do: quotas and rates, changed without a restart.

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { get, put, remove } from "../api/http";
import { keys } from "../api/keys";
import type { Item } from "../api/route";
import { Field, Form } from "../pages/sign_in";
import { ConfirmButton } from "../parts/confirm";
import { Dialog } from "../parts/dialog";
import { megabytes } from "../parts/files";
import { ErrorNotice, Skeleton } from "../parts/notice";
import { Time } from "../parts/time";
import { visible } from "../parts/visible";
import { formatNumber, say, sayOr } from "../texts";
import { Sheet } from "./sheet";
import { Table } from "./table";

type Limit = Item<"/v1/admin/limits">;

const MIN_MEGABYTES = 1024 * 1024;

export function LimitsPage() {
  const queries = useQueryClient();
  const [edited, setEdited] = useState<Limit | null>(null);
  const list = useQuery({
    queryKey: keys.limits(),
    queryFn: ({ signal }) => get("/v1/admin/limits", {}, signal),
  });
  const take = (found: { results: Limit[] } | undefined) => queries.setQueryData(keys.limits(), found);
  return (
    <Sheet title={say("limits.title")} note={say("limits.what")}>
      <ErrorNotice error={list.error} onRetry={() => void list.refetch()} />
      {list.isPending && <Skeleton lines={8} />}
      {list.data && (
        <Table
          label="limits.title"
          rows={list.data.results}
          idOf={(limit) => limit.name}
          columns={[
            {
              head: "limits.limit",
              className: "align-middle!",
              cell: (limit) => (
                <button type="button" className="text-left underline" onClick={() => setEdited(limit)}>
                  {nameOf(limit)}
                </button>
              ),
            },
            {
              head: "limits.value",
              isNumber: true,
              className: (limit) => (limit.changed_by === null ? "align-middle!" : "align-middle! font-semibold"),
              cell: (limit) => amountOf(limit, limit.value),
            },
            {
              head: "limits.configured",
              isNumber: true,
              className: "align-middle! text-quiet",
              cell: (limit) => amountOf(limit, limit.configured),
            },
            {
              head: "admin.changed",
              className: "align-middle!",
              cell: (limit) =>
                limit.changed_by !== null &&
                limit.updated_at && (
                  <>
                    {visible(limit.changed_by)}, <Time at={limit.updated_at} />
                  </>
                ),
            },
            {
              head: "app.acts",
              className: "align-middle!",
              cell: (limit) =>
                limit.changed_by !== null && (
                  <ConfirmButton
                    label={say("limits.drop")}
                    title={say("limits.dropAsk", { name: nameOf(limit) })}
                    what={say("limits.dropWhat", { value: amountOf(limit, limit.configured) })}
                    onConfirm={() => remove(`/v1/admin/limits/${limit.name}`).then(take)}
                  />
                ),
            },
          ]}
        />
      )}
      {edited && (
        <Dialog title={nameOf(edited)} onClose={() => setEdited(null)}>
          <Form
            submit={say("app.save")}
            onSubmit={async (form) => {
              const value = Number(form.get("value"));
              take(await put(`/v1/admin/limits/${edited.name}`, { value }));
              setEdited(null);
            }}
          >
            <Field
              label={say(edited.name.endsWith("_bytes") ? "limits.bytes" : "limits.number")}
              help={say("limits.bounds", { from: edited.minimum, to: edited.maximum })}
              name="value"
              type="number"
              required
              min={edited.minimum}
              max={edited.maximum}
              step={1}
              defaultValue={edited.value}
            />
          </Form>
        </Dialog>
      )}
    </Sheet>
  );
}

function nameOf({ name }: Limit): string {
  return sayOr(`limits.name.${name}`, name);
}

function amountOf({ name }: Limit, value: number): string {
  return name.endsWith("_bytes") && value >= MIN_MEGABYTES ? megabytes(value) : formatNumber(value);
}
