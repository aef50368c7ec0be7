import { useQuery } from "@tanstack/react-query";

import { get } from "../api/http";
import { keys } from "../api/keys";
import { say } from "../texts";
import { Filter, type FilterProps, isPart, wholeId } from "./filters";
import { nameOf, usePerson } from "./users";

const OFFERED = 5;

/** The filter of one user: by id, or chosen among those whose name has what is typed. */
export function UserFilter({ value, onChange }: Pick<FilterProps, "value" | "onChange">) {
  const { data: person } = usePerson(wholeId(value) ?? undefined);
  const query = { q: value.trim(), limit: OFFERED };
  const found = useQuery({
    queryKey: keys.list("users", "/v1/admin/users", query),
    queryFn: ({ signal }) => get("/v1/admin/users", query, signal),
    enabled: isPart(value),
  });
  return (
    <div className="flex flex-col gap-1">
      <Filter label={say("admin.user")} value={value} onChange={onChange} />
      {person && <span className="text-small text-quiet">{nameOf(person)}</span>}
      {isPart(value) && (
        <>
          <span role="status" className="text-small text-warn">
            {say("admin.wholeId")}
          </span>
          {found.data?.results.map((one) => (
            <button
              key={one.user_id}
              type="button"
              className="quiet-button text-left"
              onClick={() => onChange(one.user_id)}
            >
              {nameOf(one)}
            </button>
          ))}
        </>
      )}
    </div>
  );
}
