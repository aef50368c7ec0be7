// Ctrl-K: conversations, assistants, pages and commands by a few letters.

import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useRef, useState } from "react";
import { useLocation } from "wouter";

import { PAGES, placeOfPage } from "../admin/pages";
import { get } from "../api/http";
import { keys } from "../api/keys";
import { useAssistants, useHasAds } from "../parts/assistants";
import { Dialog } from "../parts/dialog";
import { visible } from "../parts/visible";
import { chooseScheme } from "../session/appearance";
import { session, useUser } from "../session/session";
import { chooseLanguage, language, say } from "../texts";

const MAX_SHOWN = 12;
const LANGUAGES = { en: "English", ru: "Русский" };
const SCHEMES = ["auto", "light", "dark"] as const;

interface Entry {
  id: string;
  name: string;
  act: () => void;
}

export function Palette({ onClose }: { onClose: () => void }) {
  const { userId, isAdmin, config } = useUser();
  const [, navigate] = useLocation();
  const [typed, setTyped] = useState("");
  const [chosen, setChosen] = useState(0);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => input.current?.focus(), []);
  const assistants = useAssistants();
  const hasAds = useHasAds();
  const conversations = useQuery({
    queryKey: keys.conversations(),
    queryFn: ({ signal }) => get("/v1/conversations", { user_id: userId, limit: 100 }, signal),
  });
  const entries = useMemo(() => {
    const pages: [string, string][] = [
      ["/", say("nav.new")],
      ["/actions", say("action.inbox")],
      ["/history", say("nav.history")],
      ["/memory", say("nav.memory")],
      ["/profile", say("nav.profile")],
      ["/schedules", say("schedule.title")],
      ["/webhooks", say("webhooks.title")],
    ];
    if (hasAds) pages.push(["/ads", say("ads.title")]);
    if (isAdmin) {
      for (const page of PAGES.filter((one) => one !== "ads" || hasAds))
        pages.push([placeOfPage(page), `${say("nav.admin")}: ${say(`admin.${page}`)}`]);
    }
    for (const one of assistants.data?.results ?? [])
      pages.push([`/?assistant=${encodeURIComponent(one.name)}`, `${say("nav.new")}: ${one.title ?? one.name}`]);
    for (const one of conversations.data?.results ?? [])
      pages.push([`/c/${one.id}`, visible(one.title ?? say("nav.untitled"))]);
    const entries = pages.map(([path, name]): Entry => ({ id: path, name, act: () => navigate(path) }));
    for (const scheme of SCHEMES)
      entries.push({
        id: `scheme ${scheme}`,
        name: `${say("profile.look")}: ${say(`profile.look.${scheme}`)}`,
        act: () => chooseScheme(scheme),
      });
    const other = language() === "ru" ? "en" : "ru";
    entries.push({ id: "language", name: LANGUAGES[other], act: () => chooseLanguage(other) });
    if (config.auth !== "none")
      entries.push({ id: "sign out", name: say("nav.signOut"), act: () => void session.signOut() });
    const words = typed.toLocaleLowerCase().split(/\s+/);
    return entries
      .filter(({ name }) => words.every((word) => name.toLocaleLowerCase().includes(word)))
      .slice(0, MAX_SHOWN);
  }, [typed, isAdmin, hasAds, config, navigate, assistants.data, conversations.data]);
  const go = (entry: Entry | undefined) => {
    if (!entry) return;
    onClose();
    entry.act();
  };
  return (
    <Dialog title={say("nav.palette")} onClose={onClose}>
      <input
        ref={input}
        role="combobox"
        aria-expanded="true"
        aria-controls="palette"
        aria-activedescendant={`palette-${chosen}`}
        className="w-full"
        maxLength={100}
        aria-label={say("nav.palettePlaceholder")}
        placeholder={say("nav.palettePlaceholder")}
        value={typed}
        onChange={(event) => {
          setTyped(event.target.value);
          setChosen(0);
        }}
        onKeyDown={(event) => {
          const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
          if (step) {
            event.preventDefault();
            setChosen((chosen + step + entries.length) % Math.max(1, entries.length));
          } else if (event.key === "Enter") {
            event.preventDefault();
            go(entries[chosen]);
          }
        }}
      />
      <ul id="palette" role="listbox" aria-label={say("nav.palette")} className="mt-3">
        {entries.map((entry, index) => (
          <li
            key={entry.id}
            id={`palette-${index}`}
            role="option"
            aria-selected={index === chosen}
            className={`row-link cursor-pointer truncate ${index === chosen ? "bg-line" : ""}`}
            onClick={() => go(entry)}
          >
            {entry.name}
          </li>
        ))}
      </ul>
      {!entries.length && <p className="mt-3 text-quiet">{say("nav.nothingFound")}</p>}
    </Dialog>
  );
}
