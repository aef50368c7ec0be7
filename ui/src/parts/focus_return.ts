import { useEffect, useState } from "react";

/** Give the focus back to what had it before this was shown, where it would be lost because this goes. */
export function useFocusReturn() {
  const [before] = useState(() => document.activeElement);
  useEffect(
    () => () => {
      requestAnimationFrame(() => {
        if (document.activeElement === document.body && before instanceof HTMLElement && before.isConnected)
          before.focus();
      });
    },
    [before],
  );
}
