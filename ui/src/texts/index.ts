// The language of the page, and its sentences, numbers and dates.

import { useSyncExternalStore } from "react";

import type { en } from "./en";
import type { enAds } from "./en_ads";
import type { enPages } from "./en_pages";

type Language = "ru" | "en";
export type Key = keyof typeof en | keyof typeof enPages | keyof typeof enAds;
type Part = "first" | "pages" | "ads"; // what the first view says, the pages that come later, and those of a plugin
type Values = Record<string, string | number>;
const LOADERS: Record<Language, Record<Part, () => Promise<Partial<Record<Key, string>>>>> = {
  en: {
    first: () => import("./en").then((module) => module.en),
    pages: () => import("./en_pages").then((module) => module.enPages),
    ads: () => import("./en_ads").then((module) => module.enAds),
  },
  ru: {
    first: () => import("./ru").then((module) => module.ru),
    pages: () => import("./ru_pages").then((module) => module.ruPages),
    ads: () => import("./ru_ads").then((module) => module.ruAds),
  },
};
const TEXTS: Record<Language, Partial<Record<Key, string>>> = { en: {}, ru: {} };
const wanted = new Set<Part>(["first"]);
const STORED = "maas.language";
const listeners = new Set<() => void>();
const formats = new Map<string, unknown>();

let chosen = stored();
apply();

/** The language that is shown: the one that was chosen, else the browser's. */
export function language(): Language {
  return chosen ?? browsers();
}

/** Show another language, or with null the browser's, once its sentences are there. */
export async function chooseLanguage(next: Language | null) {
  if (next) localStorage.setItem(STORED, next);
  else localStorage.removeItem(STORED);
  await loadTexts().catch(() => undefined); // those that are there stand in
  chosen = stored(); // another one may have been chosen meanwhile
  apply();
  for (const listener of listeners) listener();
}

/** Load the sentences of the language that is to be shown. English stands in for those that cannot be loaded. */
export async function loadTexts() {
  const next = stored() ?? browsers();
  await Promise.all(Array.from(wanted, (part) => loadPart(next, part)));
}

/** A module of pages that come later, once the sentences are there that only such pages say, or those of a plugin. */
export async function withTexts<Module>(module: Promise<Module>, ofPlugin?: "ads"): Promise<Module> {
  wanted.add("pages");
  if (ofPlugin) wanted.add(ofPlugin);
  const [loaded] = await Promise.all([module, loadTexts()]);
  return loaded;
}

async function loadPart(next: Language, part: Part) {
  try {
    Object.assign(TEXTS[next], await LOADERS[next][part]());
  } catch (error) {
    if (next === "en") throw error;
    await loadPart("en", part);
  }
}

function stored(): Language | null {
  return localStorage.getItem(STORED) as Language | null;
}

function browsers(): Language {
  return navigator.languages.some((one) => one.toLowerCase().startsWith("ru")) ? "ru" : "en";
}

export function useLanguage(): Language {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, language);
}

/** The sentence of a key; `n` chooses among its plural forms. */
export function say(key: Key, values: Values = {}): string {
  const sentence = TEXTS[language()][key] ?? TEXTS.en[key] ?? TEXTS.ru[key] ?? key;
  const forms = sentence.split(" | ");
  const text = forms.length > 1 ? forms[pluralIndex(Number(values.n), forms.length)]! : forms[0]!;
  return text.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = values[name];
    return typeof value === "number" ? formatNumber(value) : (value ?? "");
  });
}

/** Whether a text is one of the keys; for names that the server gives. */
function isKey(text: string): text is Key {
  return text in TEXTS.en || text in TEXTS.ru;
}

export function sayOr(key: string, otherwise: string): string {
  return isKey(key) ? say(key) : otherwise;
}

export function formatNumber(value: number, digits = 1): string {
  return formatOf(Intl.NumberFormat, { maximumFractionDigits: digits }).format(value);
}

/** Several things in one sentence: "a, b, and c". */
export function formatList(things: string[]): string {
  return formatOf(Intl.ListFormat, { type: "conjunction" }).format(things);
}

/** Dollars, with as many digits as small sums need. */
export function formatDollars(value: number): string {
  return `$${formatNumber(value, Math.abs(value) < 1 ? 5 : 2)}`;
}

/** Today the time, this year the day and month, else the whole date. */
export function formatDate(at: string | Date, now = new Date()): string {
  const date = new Date(at);
  if (date.toDateString() === now.toDateString()) return formatTime(date, { hour: "2-digit", minute: "2-digit" });
  const year = date.getFullYear() === now.getFullYear() ? undefined : "numeric";
  return formatTime(date, { day: "numeric", month: "short", year });
}

/** The day and the time to the minute. */
export function formatMoment(at: string | Date): string {
  return formatTime(new Date(at), { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
}

/** A day of the calendar, or that of a time: "30 November 2026". */
export function formatDay(at: string): string {
  const isDay = /^\d{4}-\d\d-\d\d$/.test(at);
  return new Date(isDay ? `${at}T00:00` : at).toLocaleDateString(language(), { dateStyle: "long" });
}

/** A day of a year that is known: "30 November". */
export function formatDayOfYear(day: string): string {
  return new Date(`${day}T00:00`).toLocaleDateString(language(), { day: "numeric", month: "long" });
}

/** The month of a day in its short form: "Nov". */
export function formatMonth(day: string): string {
  return new Date(`${day}T00:00`).toLocaleDateString(language(), { month: "short" }).replace(/\.$/, "");
}

/** The label of a period in words: 2026-Week-48 is "November 23 – 29, 2026", 2026-Month-11 "November 2026". */
export function formatPeriod(period: string): string {
  const [, year, month] = /^(\d{4})-Month-(\d\d)$/.exec(period) ?? [];
  if (!month) return formatDaysOf(period);
  return new Date(Number(year), Number(month) - 1, 1).toLocaleDateString(language(), {
    year: "numeric",
    month: "long",
  });
}

/** The days that a period has, which are whole weeks: 2026-Month-04 is "March 30 – May 3, 2026". */
export function formatDaysOf(period: string): string {
  const [, year, unit, number] = /^(\d{4})-(Week|Month)-(\d\d)$/.exec(period) ?? [];
  if (!unit) return period;
  const [y, n] = [Number(year), Number(number)];
  const first = unit === "Month" ? mondayOf(y, n - 1, 4) : mondayOf(y, 0, 4 + 7 * (n - 1)); // a week is where its Thursday is
  const end = unit === "Month" ? mondayOf(y, n, 4) : mondayOf(y, 0, 4 + 7 * n);
  const last = new Date(end.getFullYear(), end.getMonth(), end.getDate() - 1);
  return new Intl.DateTimeFormat(language(), { dateStyle: "long" }).formatRange(first, last);
}

function mondayOf(year: number, month: number, day: number): Date {
  const weekday = (new Date(year, month, day).getDay() + 6) % 7;
  return new Date(year, month, day - weekday);
}

/** The name of a day of the week; 0 is Sunday. */
export function formatWeekday(day: number): string {
  return new Date(2026, 10, 1 + day).toLocaleDateString(language(), { weekday: "long" }); // 1 November 2026 is a Sunday
}

export function formatFullDate(at: string | Date): string {
  return formatTime(new Date(at), { dateStyle: "full", timeStyle: "medium" });
}

/** The distance of a time from now in words: "in 5 minutes". */
export function formatDistance(at: string | Date, now = Date.now()): string {
  const seconds = (new Date(at).getTime() - now) / 1000;
  const format = new Intl.RelativeTimeFormat(language(), { numeric: "auto" });
  for (const [unit, length] of [
    ["day", 86400],
    ["hour", 3600],
    ["minute", 60],
  ] as const) {
    if (Math.abs(seconds) >= length) return format.format(Math.round(seconds / length), unit);
  }
  return format.format(Math.round(seconds), "second");
}

/** A length of time in words: "30 minutes". */
export function formatDuration(ms: number): string {
  const seconds = Math.max(0, ms / 1000);
  const [unit, length] = seconds >= 5400 ? ["hour", 3600] : seconds >= 90 ? ["minute", 60] : ["second", 1];
  return new Intl.NumberFormat(language(), { style: "unit", unit, unitDisplay: "long" }).format(
    Math.round(seconds / length),
  );
}

/** A time in the language that is shown; what is no time is a dash. */
function formatTime(at: Date, options: Intl.DateTimeFormatOptions): string {
  return Number.isNaN(at.getTime()) ? "–" : formatOf(Intl.DateTimeFormat, options).format(at);
}

/** A format of the language that is shown, made once: making one takes a browser far longer than using it. */
function formatOf<Options, Format>(
  Kind: { new (language: string, options: Options): Format; name: string },
  options: Options,
): Format {
  const key = `${Kind.name} ${language()} ${JSON.stringify(options)}`;
  const known = formats.get(key) as Format | undefined;
  if (known) return known;
  const made = new Kind(language(), options);
  formats.set(key, made);
  return made;
}

function pluralIndex(n: number, forms: number): number {
  const order: Intl.LDMLPluralRule[] = forms === 3 ? ["one", "few", "many"] : ["one", "other"];
  const rule = formatOf(Intl.PluralRules, {}).select(n);
  return Math.max(0, order.indexOf(rule) === -1 ? forms - 1 : order.indexOf(rule));
}

function apply() {
  document.documentElement.lang = language();
}
