import { useState } from "react";

import { say } from "../texts";
import { copy } from "./copy";

/** Copies a text and says whether it did, until the focus leaves. */
export function CopyButton({ text, className = "quiet-button" }: { text: string; className?: string }) {
  const [isCopied, setCopied] = useState<boolean | null>(null);
  return (
    <button
      type="button"
      className={className}
      onClick={() => void copy(text).then(setCopied)}
      onBlur={() => setCopied(null)}
    >
      <span aria-live="polite">{say(isCopied === null ? "app.copy" : isCopied ? "app.copied" : "app.notCopied")}</span>
    </button>
  );
}
