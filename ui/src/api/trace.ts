import { useQuery } from "@tanstack/react-query";

import { get } from "./http";
import { keys } from "./keys";
import type { Run } from "./types";

/** How an answer came about; it is read again when the answer is in memory. */
export function useTrace(run: Pick<Run, "request_id" | "archive_status">, isWanted: boolean) {
  return useQuery({
    queryKey: keys.trace(run.request_id, run.archive_status),
    queryFn: ({ signal }) => get(`/v1/runs/${run.request_id}/trace`, {}, signal),
    enabled: isWanted,
  });
}
