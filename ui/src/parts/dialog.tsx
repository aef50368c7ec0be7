import { type ReactNode, useEffect, useId, useRef } from "react";

import { say } from "../texts";
import { useFocusReturn } from "./focus_return";

interface Props {
  title: string;
  onClose: () => void;
  children: ReactNode;
  isWide?: boolean;
}

/** A modal window: the browser's own, which keeps the focus and closes with Escape. */
export function Dialog({ title, onClose, children, isWide }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useFocusReturn();
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  return (
    <dialog
      ref={dialog}
      aria-labelledby={titleId}
      onClose={onClose}
      onClick={(event) => event.target === dialog.current && dialog.current?.close()}
      className={`m-auto max-h-[90dvh] w-[calc(100%-32px)] rounded border border-line bg-page p-6 text-ink shadow-xl backdrop:bg-scrim ${isWide ? "max-w-5xl" : "max-w-lg"}`}
    >
      <div className="mb-4 flex items-start justify-between gap-4">
        <h2 id={titleId} className="text-lead font-semibold">
          {title}
        </h2>
        <button type="button" className="button small" onClick={() => dialog.current?.close()}>
          {say("app.close")}
        </button>
      </div>
      {children}
    </dialog>
  );
}
