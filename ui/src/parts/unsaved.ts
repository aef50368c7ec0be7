// What would be lost when one leaves the page: it is asked for first.

import { useEffect } from "react";
import type { AroundNavHandler } from "wouter";

import { say } from "../texts";

let unsaved = 0;

/** Follow a link only if nothing unsaved is lost, or the person agrees. */
export const askToLeave: AroundNavHandler = (navigate, to, options) => {
  if (mayLeave()) navigate(to, options);
};

/** Ask before the page is left while something is unsaved: by a link, by the way back, or by closing the tab. */
export function useUnsaved(isUnsaved: boolean) {
  useEffect(() => {
    if (!isUnsaved) return;
    const here = window.location.href;
    const close = (event: BeforeUnloadEvent) => event.preventDefault();
    const goBack = () => {
      if (window.location.href !== here && !mayLeave()) window.history.pushState(null, "", here);
    };
    unsaved += 1;
    window.addEventListener("beforeunload", close);
    window.addEventListener("popstate", goBack, true); // before the router looks where it is
    return () => {
      unsaved -= 1;
      window.removeEventListener("beforeunload", close);
      window.removeEventListener("popstate", goBack, true);
    };
  }, [isUnsaved]);
}

function mayLeave(): boolean {
  return unsaved === 0 || window.confirm(say("confirm.leave"));
}
