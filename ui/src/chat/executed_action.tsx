// Where an approved action is executed: what was approved, in the place of a question that nobody wrote.

import { useQuery } from "@tanstack/react-query";

import { get } from "../api/http";
import { keys } from "../api/keys";
import { ErrorNotice, Skeleton } from "../parts/notice";
import { ActionCard } from "./action_card";

export function ExecutedAction({ id, userId }: { id: string; userId: string }) {
  const action = useQuery({
    queryKey: keys.action(id),
    queryFn: ({ signal }) => get(`/v1/actions/${id}`, { user_id: userId }, signal),
  });
  if (action.error) return <ErrorNotice error={action.error} />;
  return action.data ? <ActionCard action={action.data} /> : <Skeleton lines={1} />;
}
