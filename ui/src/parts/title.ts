// The name of the browser's tab: that of what is shown, or for a moment a notice.

import { useEffect } from "react";

import { say } from "../texts";

let page = "";

/** Name the tab after what is shown; without a name it is that of the product. */
export function useTitle(name: string) {
  useEffect(() => {
    page = name;
    showTitle();
    return () => {
      page = "";
    };
  }, [name]);
}

/** Show the name of the page, in place of a notice. */
export function showTitle() {
  document.title = page ? `${page} · ${say("app.name")}` : say("app.name");
}
