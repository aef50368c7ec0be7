// Filters that stand in the URL, so that a list can be shared and the way back finds it.

import { type ReactNode, useEffect, useEffectEvent, useState } from "react";
import { useLocation, useSearch } from "wouter";

import { say } from "../texts";

const PAUSE_MS = 300;

export function useFilters<Name extends string>(
  names: readonly Name[],
): [Record<Name, string>, (name: Name, value: string) => void] {
  const search = useSearch();
  const [place, navigate] = useLocation();
  const found = new URLSearchParams(search);
  const values = Object.fromEntries(names.map((name) => [name, found.get(name) ?? ""])) as Record<Name, string>;
  const change = (name: Name, value: string) => {
    const next = new URLSearchParams(search);
    if (value) next.set(name, value);
    else next.delete(name);
    navigate(next.size ? `${place}?${next}` : place, { replace: true });
  };
  return [values, change];
}

export interface FilterProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
  type?: "text" | "date" | "search";
  options?: readonly string[];
  nameOf?: (option: string) => string;
  all?: string;
}

export function Filter({ label, value, onChange, type = "text", options, nameOf, all }: FilterProps) {
  return (
    <label className="field">
      <span>{label}</span>
      {options ? (
        <select value={value} onChange={(event) => onChange(event.target.value)}>
          <option value="">{all}</option>
          {options.map((one) => (
            <option key={one} value={one} title={nameOf && one}>
              {nameOf ? nameOf(one) : one}
            </option>
          ))}
        </select>
      ) : (
        <TypedFilter type={type} value={value} onChange={onChange} />
      )}
    </label>
  );
}

/** Filters side by side; on a phone behind a button, which says how many are set. */
export function Filters({ set, children }: { set: number; children: ReactNode }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button
        type="button"
        className="button small self-start sm:hidden"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        {say("app.filters", { set })}
      </button>
      <div className={`filters ${isOpen ? "" : "max-sm:hidden!"}`}>{children}</div>
    </>
  );
}

/** What is typed applies when one pauses, leaves the field or presses Enter: a list is read once, not for each letter. */
function TypedFilter({ type, value, onChange }: Pick<FilterProps, "type" | "value" | "onChange">) {
  const [typed, setTyped] = useState(value);
  const [applied, setApplied] = useState(value);
  if (value !== applied) {
    setApplied(value); // changed from outside, by the way back for example
    setTyped(value);
  }
  const apply = () => {
    if (typed !== value) onChange(typed);
  };
  const applyLate = useEffectEvent(apply);
  useEffect(() => {
    if (typed === value) return;
    const timer = window.setTimeout(() => applyLate(), PAUSE_MS);
    return () => window.clearTimeout(timer);
  }, [typed, value]);
  return (
    <input
      type={type}
      value={typed}
      maxLength={200}
      onChange={(event) => setTyped(event.target.value)}
      onBlur={apply}
      onKeyDown={(event) => event.key === "Enter" && apply()}
    />
  );
}

/** The beginning of a day of the browser's zone as a timestamp; of the day after it with `isEnd`. */
export function dayToTime(day: string, isEnd = false): string | null {
  if (!day) return null;
  const at = new Date(`${day}T00:00:00`);
  if (Number.isNaN(at.getTime())) return null;
  if (isEnd) at.setDate(at.getDate() + 1);
  return at.toISOString();
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Whether a text is not empty and no id: a list by it would be one of all users. */
export function isPart(text: string): boolean {
  return text.trim() !== "" && wholeId(text) === null;
}

/** An id that is whole; null while it is being typed. */
export function wholeId(text: string): string | null {
  return UUID.test(text.trim()) ? text.trim() : null;
}
