// What happens to the runs of a person, wherever they were asked: lists and conversations are read again.

import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";

import { follow } from "./event_stream";
import { refresh } from "./refresh";

const GATHER_MS = 150;

export function useUserEvents(userId: string) {
  const queries = useQueryClient();
  useEffect(() => {
    let controller = new AbortController();
    let timer = 0;
    const refreshSoon = () => {
      window.clearTimeout(timer);
      timer = window.setTimeout(() => {
        void refresh(queries, ["runs", "messages", "conversations", "actions"]);
      }, GATHER_MS);
    };
    const open = () => {
      controller = new AbortController();
      follow(`/v1/users/${userId}/events`, controller.signal, refreshSoon, () => false).catch(() => undefined);
    };
    const change = () => {
      controller.abort(); // a browser keeps few connections to a server: a hidden page gives its own back
      if (!document.hidden) {
        open();
        refreshSoon();
      }
    };
    if (!document.hidden) open();
    document.addEventListener("visibilitychange", change);
    return () => {
      document.removeEventListener("visibilitychange", change);
      window.clearTimeout(timer);
      controller.abort();
    };
  }, [userId, queries]);
}
