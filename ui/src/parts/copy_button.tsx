import { useState } from "react";

import { say } from "../texts";
import { copy } from "./copy";

interface Props {
  text: string;
  label?: string; // what the button says; by default that it copies
  className?: string;
}

/** Copies a text and says whether it did, until the focus leaves. */
export function CopyButton({ text, label = say("app.copy"), className = "quiet-button" }: Props) {
  const [isCopied, setCopied] = useState<boolean | null>(null);
  return (
    <button
      type="button"
      className={className}
      onClick={() => void copy(text).then(setCopied)}
      onBlur={() => setCopied(null)}
    >
      <span aria-live="polite">{isCopied === null ? label : say(isCopied ? "app.copied" : "app.notCopied")}</span>
    </button>
  );
}
