// Filters of a list that an operator keeps by name: chosen, saved as they stand in the address, deleted.

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useLocation, useSearch } from "wouter";

import { get, put, remove } from "../api/http";
import { keys } from "../api/keys";
import { refresh } from "../api/refresh";
import { ErrorNotice } from "../parts/notice";
import { visible } from "../parts/visible";
import { say } from "../texts";
import { nameOfPath } from "./names";

const pathOf = (list: string, name: string) => `/v1/admin/filters/${list}/${encodeURIComponent(name)}` as const;

export function SavedFilters({ list }: { list: "runs" | "users" }) {
  const queries = useQueryClient();
  const query = useSearch();
  const [place, navigate] = useLocation();
  const [name, setName] = useState<string | null>(null); // while one is typed
  const saved = useQuery({
    queryKey: keys.savedFilters(),
    queryFn: ({ signal }) => get("/v1/admin/filters", {}, signal),
  });
  const readAgain = () => refresh(queries, ["savedFilters"]);
  const save = useMutation({
    mutationFn: (chosen: string) => put(pathOf(list, chosen), { query }),
    onSuccess: async () => {
      setName(null);
      await readAgain();
    },
  });
  const drop = useMutation({ mutationFn: (old: string) => remove(pathOf(list, old)), onSuccess: readAgain });
  const own = saved.data?.results.filter((one) => one.list === list) ?? [];
  const current = own.find((one) => one.query === query) ?? null;
  if (!own.length && !query) return null;
  return (
    <div className="flex flex-wrap items-end gap-3">
      {own.length > 0 && (
        <label className="field">
          <span>{say("filters.saved")}</span>
          <select
            value={current?.name ?? ""}
            onChange={(event) => {
              const chosen = own.find((one) => one.name === event.target.value);
              if (chosen) navigate(chosen.query ? `${place}?${chosen.query}` : place);
            }}
          >
            <option value="">–</option>
            {own.map((one) => (
              <option key={one.name} value={one.name}>
                {visible(one.name)}
              </option>
            ))}
          </select>
        </label>
      )}
      {current ? (
        <button
          type="button"
          className="button small"
          disabled={drop.isPending}
          onClick={() => drop.mutate(current.name)}
        >
          {say("filters.delete")}
        </button>
      ) : name === null ? (
        query && (
          <button type="button" className="button small" onClick={() => setName("")}>
            {say("filters.save")}
          </button>
        )
      ) : (
        <form
          className="flex flex-wrap items-end gap-3"
          onSubmit={(event) => {
            event.preventDefault();
            save.mutate(nameOfPath(name));
          }}
        >
          <label className="field">
            <span>{say("filters.name")}</span>
            <input autoFocus required maxLength={100} value={name} onChange={(event) => setName(event.target.value)} />
          </label>
          <button type="submit" className="button small" disabled={!name.trim() || save.isPending}>
            {say("app.save")}
          </button>
        </form>
      )}
      <ErrorNotice error={saved.error ?? save.error ?? drop.error} />
    </div>
  );
}
