import { useRef } from "react";

interface Props<Name extends string> {
  label: string;
  panel: string; // the id of what the tabs choose
  names: readonly Name[];
  chosen: Name;
  titleOf: (name: Name) => string;
  onChoose: (name: Name) => void;
  className?: string;
}

/** Tabs: one stop of the Tab key, the arrows, Home and End choose. Their panel is labelled by `tabId`. */
export function Tabs<Name extends string>({
  label,
  panel,
  names,
  chosen,
  titleOf,
  onChoose,
  className = "",
}: Props<Name>) {
  const list = useRef<HTMLDivElement>(null);
  const press = (event: React.KeyboardEvent) => {
    const at = names.indexOf(chosen);
    const places: Record<string, number> = {
      ArrowRight: at + 1,
      ArrowLeft: at - 1 + names.length,
      Home: 0,
      End: names.length - 1,
    };
    const next = places[event.key];
    if (next === undefined) return;
    event.preventDefault();
    onChoose(names[next % names.length]!);
    list.current?.querySelectorAll("button")[next % names.length]?.focus();
  };
  return (
    <div ref={list} role="tablist" aria-label={label} className={`flex gap-1 ${className}`} onKeyDown={press}>
      {names.map((name) => (
        <button
          key={name}
          type="button"
          role="tab"
          id={tabId(panel, name)}
          aria-selected={name === chosen}
          aria-controls={panel}
          tabIndex={name === chosen ? 0 : -1}
          className={`button small shrink-0 whitespace-nowrap ${name === chosen ? "primary" : ""}`}
          onClick={() => onChoose(name)}
        >
          {titleOf(name)}
        </button>
      ))}
    </div>
  );
}

export function tabId(panel: string, name: string): string {
  return `${panel}-tab-${name}`;
}
