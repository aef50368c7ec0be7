import { useQuery } from "@tanstack/react-query";

import { get } from "../api/http";
import { keys } from "../api/keys";
import { formatDay, say } from "../texts";
import { Time } from "./time";

/** How much is remembered of a person, since when, and when something was saved last. */
export function Totals({ userId }: { userId: string }) {
  const { data } = useQuery({
    queryKey: keys.totals(userId),
    queryFn: ({ signal }) => get(`/v1/users/${userId}/memory`, {}, signal),
  });
  if (!data?.since || !data.last_saved_at) return null;
  return (
    <p className="flex flex-wrap gap-x-3 text-small text-quiet">
      <span>{say("memory.messages", { n: data.messages })}</span>
      <span>{say("memory.summaries", { n: data.summaries })}</span>
      <span>{say("memory.since", { day: formatDay(data.since) })}</span>
      <span>
        {say("memory.saved")} <Time at={data.last_saved_at} />
      </span>
    </p>
  );
}
