import { useQuery } from "@tanstack/react-query";
import { Hand } from "lucide-react";
import { Link } from "wouter";

import { get } from "../api/http";
import { keys } from "../api/keys";
import { useUser } from "../session/session";
import { formatNumber, say } from "../texts";

const COUNTED = 100; // more are shown as 100+
const REFRESH_MS = 60_000; // what expires sends no event

/** The way to what waits, with its number; nothing while nothing waits. */
export function WaitingBadge({ className, isShort = false }: { className: string; isShort?: boolean }) {
  const { userId } = useUser();
  const { data } = useQuery({
    queryKey: keys.waitingActions(userId),
    queryFn: ({ signal }) => get("/v1/actions", { user_id: userId, status: "pending", limit: COUNTED }, signal),
    refetchInterval: REFRESH_MS,
  });
  if (!data?.results.length) return null;
  const text = say("action.waiting", { n: data.results.length }) + (data.next ? "+" : "");
  return (
    <Link href="/actions" className={className} aria-label={text} title={text}>
      <Hand />
      {isShort ? `${formatNumber(data.results.length)}${data.next ? "+" : ""}` : text}
    </Link>
  );
}
