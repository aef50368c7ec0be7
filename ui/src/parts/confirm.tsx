import { type ReactNode, useState } from "react";

import { say } from "../texts";
import { Dialog } from "./dialog";
import { ErrorNotice } from "./notice";

interface Props {
  label: string; // of the button
  title: string; // the question
  what: ReactNode; // what will happen
  word?: string; // what must be typed first
  className?: string;
  disabled?: boolean;
  onConfirm: () => Promise<unknown>;
}

/** A button that asks before it acts, and stays open with the error if that fails. */
export function ConfirmButton({ label, title, what, word, className = "button small", disabled, onConfirm }: Props) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" className={className} disabled={disabled} onClick={() => setOpen(true)}>
        {label}
      </button>
      {isOpen && (
        <Dialog title={title} onClose={() => setOpen(false)}>
          <ConfirmForm label={label} what={what} word={word} onConfirm={onConfirm} onDone={() => setOpen(false)} />
        </Dialog>
      )}
    </>
  );
}

/** What will happen, and what must be typed before it does. */
export function ConfirmForm({
  label,
  what,
  word,
  onConfirm,
  onDone,
}: Pick<Props, "label" | "what" | "word" | "onConfirm"> & { onDone: () => void }) {
  const [typed, setTyped] = useState("");
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  return (
    <form
      className="flex flex-col items-start gap-4"
      onSubmit={async (event) => {
        event.preventDefault();
        setBusy(true);
        try {
          await onConfirm();
          onDone();
        } catch (cause) {
          setError(cause);
          setBusy(false);
        }
      }}
    >
      <div>{what}</div>
      {word !== undefined && (
        <label className="field self-stretch">
          <span>{say("memory.eraseConfirm", { word })}</span>
          <input value={typed} autoComplete="off" onChange={(event) => setTyped(event.target.value)} />
        </label>
      )}
      <ErrorNotice error={error} />
      <button
        type="submit"
        className="button danger"
        disabled={isBusy || (word !== undefined && typed.trim() !== word.trim())}
      >
        {label}
      </button>
    </form>
  );
}
