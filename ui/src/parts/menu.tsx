import { Check, Ellipsis } from "lucide-react";
import { type ReactNode, useEffect, useRef, useState } from "react";

export interface Command {
  label: string;
  icon?: ReactNode;
  isChosen?: boolean; // of commands that choose one thing of several; others have none
  isSwitch?: boolean; // chosen or not apart from others; the menu stays open
  isDangerous?: boolean;
  run: () => void;
}

const REST_MS = 500; // letters that follow each other sooner are one word

/** A button with a menu of commands: the arrows and letters walk it, Escape closes it. */
export function Menu({ label, icon, commands }: { label: string; icon?: ReactNode; commands: Command[] }) {
  const [isOpen, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const typed = useRef({ word: "", at: 0 });
  useEffect(() => {
    if (!isOpen) return;
    list.current?.querySelector("button")?.focus();
    list.current?.scrollIntoView?.({ block: "nearest" }); // all of it, at the end of a list, too
  }, [isOpen]);
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  /** The item that begins with what is being typed; the same letter again leads to the next one. */
  const find = (key: string, items: HTMLButtonElement[], at: number) => {
    const now = Date.now();
    const word = (now - typed.current.at < REST_MS ? typed.current.word : "") + key.toLocaleLowerCase();
    typed.current = { word, at: now };
    const isRepeated = [...word].every((letter) => letter === word[0]);
    const from = isRepeated ? at + 1 : Math.max(at, 0);
    const start = isRepeated ? word[0]! : word;
    return [...items.slice(from), ...items.slice(0, from)].find((item) =>
      item.textContent.trim().toLocaleLowerCase().startsWith(start),
    );
  };
  const press = (event: React.KeyboardEvent) => {
    const items = [...(list.current?.querySelectorAll("button") ?? [])];
    const at = items.indexOf(document.activeElement as HTMLButtonElement);
    const places: Record<string, number> = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 };
    const isLetter =
      event.key.length === 1 && /\S/.test(event.key) && !(event.ctrlKey || event.metaKey || event.altKey);
    if (!isOpen && event.key !== "ArrowDown") return;
    if (!isOpen) setOpen(true);
    else if (event.key === "Escape") close();
    else if (event.key in places) items.at(places[event.key]! % items.length)?.focus();
    else if (isLetter) find(event.key, items, at)?.focus();
    else return;
    event.preventDefault();
    event.stopPropagation(); // what is around it knows these keys, too
  };
  return (
    <div
      className="relative shrink-0"
      onKeyDown={press}
      onBlur={(event) => !event.currentTarget.contains(event.relatedTarget) && setOpen(false)}
    >
      <button
        ref={button}
        type="button"
        className="quiet-button px-2 no-underline! pointer-coarse:min-h-11 pointer-coarse:min-w-11"
        aria-haspopup="menu"
        aria-expanded={isOpen}
        aria-label={label}
        title={label}
        onClick={() => setOpen(!isOpen)}
      >
        {icon ?? <Ellipsis className="inline" />}
      </button>
      {isOpen && (
        <div
          ref={list}
          role="menu"
          aria-label={label}
          className="absolute right-0 z-10 w-52 rounded border border-line bg-page p-1 shadow-lg"
        >
          {commands.map((command) => (
            <button
              key={command.label}
              type="button"
              {...(command.isChosen === undefined
                ? { role: "menuitem" }
                : { role: `menuitem${command.isSwitch ? "checkbox" : "radio"}`, "aria-checked": command.isChosen })}
              tabIndex={-1}
              className={`row-link flex! w-full items-center gap-2 text-left ${command.isDangerous ? "text-bad!" : ""}`}
              onMouseDown={(event) => event.preventDefault()} // the focus stays, and with it the menu
              onClick={() => {
                if (!command.isSwitch) close();
                command.run();
              }}
            >
              {command.isChosen ? <Check /> : (command.icon ?? <span className="w-4" />)}
              <span className="min-w-0">{command.label}</span>
            </button>
          ))}
        </div>
      )}
    </div>
  );
}
