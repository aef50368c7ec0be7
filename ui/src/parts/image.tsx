import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";

import { send } from "../api/http";
import { keys } from "../api/keys";
import { useUser } from "../session/session";

/** An image of the user. It is fetched with the credential, which an <img> cannot send. */
export function Image({ id, alt }: { id: string; alt: string }) {
  const { userId } = useUser();
  const { data: blob, error } = useQuery({
    queryKey: keys.image(id),
    queryFn: async ({ signal }) =>
      (await send("GET", `/v1/attachments/${id}/content?user_id=${userId}`, undefined, signal)).blob(),
    staleTime: Infinity,
  });
  const [url, setUrl] = useState<string>();
  useEffect(() => {
    if (!blob) return;
    const made = URL.createObjectURL(blob);
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [blob]);
  if (error) return <span className="text-small text-quiet">{alt}</span>;
  return url ? (
    <img src={url} alt={alt} className="max-h-64 max-w-full rounded border border-line" />
  ) : (
    <div className="skeleton h-32 w-32" />
  );
}
