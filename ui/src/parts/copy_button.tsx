import { useState } from "react";

import { say } from "../texts";

export function CopyButton({ text, className = "quiet-button" }: { text: string; className?: string }) {
  const [isCopied, setCopied] = useState(false);
  return (
    <button
      type="button"
      className={className}
      onClick={() => void navigator.clipboard.writeText(text).then(() => setCopied(true))}
      onBlur={() => setCopied(false)}
    >
      {say(isCopied ? "app.copied" : "app.copy")}
    </button>
  );
}
