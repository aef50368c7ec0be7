// What models cost: dollars for a million tokens, changed without a restart.

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";

import { get, post, put } from "../api/http";
import { keys } from "../api/keys";
import type { Item } from "../api/route";
import { Field, Form } from "../pages/sign_in";
import { ConfirmButton } from "../parts/confirm";
import { ErrorNotice, Skeleton } from "../parts/notice";
import { Time } from "../parts/time";
import { visible } from "../parts/visible";
import { formatNumber, say } from "../texts";
import { type Column, Table } from "./table";

type Price = Item<"/v1/admin/prices">;

const MAX_DOLLARS = 1_000_000;
const DIGITS = 6;
const NUMBERS = ["input", "cached", "output", "image"] as const;

export function Prices() {
  const queries = useQueryClient();
  const [isOpen, setOpen] = useState(false);
  const [edited, setEdited] = useState<Price | null>(null);
  const [saved, setSaved] = useState({ name: "", times: 0 });
  const sheet = useRef<HTMLDivElement>(null);
  const list = useQuery({
    queryKey: keys.prices(),
    queryFn: ({ signal }) => get("/v1/admin/prices", {}, signal),
    enabled: isOpen,
  });
  const take = (found: { results: Price[] }) => queries.setQueryData(keys.prices(), found);
  const drop = useMutation({
    mutationFn: ({ provider, model }: Price) => post("/v1/admin/prices/drop", { provider, model }),
    onSuccess: take,
  });
  useEffect(() => {
    const all = saved.name ? (sheet.current?.querySelectorAll<HTMLElement>("[data-row]") ?? []) : [];
    Array.from(all)
      .find((row) => row.dataset.row === saved.name)
      ?.scrollIntoView({ block: "nearest" });
  }, [saved, list.data]);
  return (
    <details className="card" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{say("prices.title")}</summary>
      <div ref={sheet} className="mt-3 flex flex-col gap-4">
        <p className="text-small text-quiet">{say("prices.what")}</p>
        <div className="max-w-md">
          <Form
            key={`${saved.times} ${edited && nameOf(edited)}`} // fields are as one edits them, or empty for the next one
            submit={say("app.save")}
            onSubmit={async (form) => {
              const number = (name: string) => (form.get(name)?.trim() ? Number(form.get(name)) : null);
              const named = { provider: form.get("provider")!.trim(), model: form.get("model")!.trim() };
              take(
                await put("/v1/admin/prices", {
                  ...named,
                  input: number("input") ?? 0,
                  cached: number("cached"),
                  output: number("output") ?? 0,
                  image: number("image"),
                }),
              );
              setEdited(null);
              setSaved(({ times }) => ({ name: nameOf(named), times: times + 1 }));
            }}
          >
            <Field
              label={say("prices.provider")}
              name="provider"
              required
              autoFocus={saved.times > 0}
              maxLength={50}
              defaultValue={edited?.provider ?? ""}
            />
            <Field
              label={say("prices.model")}
              name="model"
              required
              maxLength={200}
              defaultValue={edited?.model ?? ""}
            />
            {NUMBERS.map((name) => (
              <Field
                key={name}
                label={say(`prices.${name}`)}
                name={name}
                type="number"
                min={0}
                max={MAX_DOLLARS}
                step="any"
                required={name === "input" || name === "output"}
                defaultValue={edited?.[name] ?? ""}
              />
            ))}
          </Form>
          {saved.name && (
            <p role="status" className="mt-2 text-small text-quiet">
              {say("prices.saved", { model: visible(saved.name) })}
            </p>
          )}
        </div>
        <ErrorNotice error={list.error ?? drop.error} />
        {isOpen && list.isPending && <Skeleton lines={4} />}
        {list.data && (
          <Table
            label="prices.title"
            rows={withFirst(saved.name, list.data.results)}
            idOf={nameOf}
            columns={[
              {
                head: "admin.model",
                className: (price) => (nameOf(price) === saved.name ? "bg-mark" : ""),
                cell: (price) => visible(nameOf(price)),
              },
              ...NUMBERS.map(
                (name): Column<Price> => ({
                  head: `prices.${name}`,
                  isNumber: true,
                  sortBy: (price) => price[name],
                  cell: (price) => (price[name] === null ? "–" : formatNumber(price[name], DIGITS)),
                }),
              ),
              { head: "admin.changed", cell: (price) => <Time at={price.updated_at} /> },
              {
                head: "app.acts",
                cell: (price) => (
                  <div className="flex gap-2">
                    <button type="button" className="button small" onClick={() => setEdited(price)}>
                      {say("prices.change")}
                    </button>
                    <ConfirmButton
                      label={say("prices.delete")}
                      title={say("prices.deleteAsk", { model: visible(nameOf(price)) })}
                      what={say("prices.deleteWhat")}
                      onConfirm={() => drop.mutateAsync(price)}
                    />
                  </div>
                ),
              },
            ]}
          />
        )}
      </div>
    </details>
  );
}

/** The price of this name first, right under the form by which it was saved. */
function withFirst(name: string, prices: Price[]): Price[] {
  return [...prices.filter((one) => nameOf(one) === name), ...prices.filter((one) => nameOf(one) !== name)];
}

function nameOf({ provider, model }: Pick<Price, "provider" | "model">): string {
  return `${provider}:${model}`;
}
