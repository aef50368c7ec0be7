// Every text is used, and each language says all of them.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";

import {
  chooseLanguage,
  formatDate,
  formatDay,
  formatDaysOf,
  formatDistance,
  formatDuration,
  formatFullDate,
  formatMoment,
  formatPeriod,
  say,
  sayOr,
} from "../src/texts";
import { en as enFirst } from "../src/texts/en";
import { enAds } from "../src/texts/en_ads";
import { enPages } from "../src/texts/en_pages";
import { ru as ruFirst } from "../src/texts/ru";
import { ruAds } from "../src/texts/ru_ads";
import { ruPages } from "../src/texts/ru_pages";

const en = { ...enFirst, ...enPages, ...enAds };
const ru = { ...ruFirst, ...ruPages, ...ruAds };
const KEYS = Object.keys(en) as (keyof typeof en)[];
const SOURCES = readdirSync("src", { recursive: true, encoding: "utf8" })
  .filter((path) => /\.tsx?$/.test(path) && !path.startsWith("texts"))
  .map((path) => readFileSync(join("src", path), "utf8"))
  .join("\n");

/** The codes of errors that the server answers, of its own routes and of sign-in. */
const CODES = ["errors.py", "sign_in/__init__.py"].flatMap((path) => {
  const source = readFileSync(join("..", "maas", "http", path), "utf8");
  return Array.from(source.matchAll(/"([a-z]\w*)": (?:[45]\d\d\b|"\w+")/g), ([pair]) => pair.split('"')).map(
    ([, code, , renamed]) => renamed ?? code!,
  );
});

/** The codes of a model that failed. */
const MODEL_CODES = readFileSync(join("..", "shared", "models", "__init__.py"), "utf8")
  .match(/ErrorCode = Literal\[([^\]]+)\]/)![1]!
  .match(/\w+/g)!;

/** The arguments that have a name for people, but for those that only results and steps of plans have. */
const LABELS = Array.from(
  readFileSync(join("..", "maas", "tools", "labels.py"), "utf8").matchAll(/^ {4}"(\w+)": \{"en"/gm),
  ([, name]) => name!,
).filter((name) => !/^(not_sent|sent|created|failed|items|tool|arguments|prompt)$/.test(name));

/** The keys that are put together: what begins them, and what may follow. */
const BUILT: Record<string, string[]> = {
  "action.": ["pending", "approved", "rejected", "expired", "executing", "done", "failed", "in_doubt"].concat(
    ["read", "write", "dangerous"], // effects
  ),
  "admin.": ["dashboard", "runs", "prompts", "memories", "users", "keys", "webhooks", "ads", "audit"].concat(
    ["spending", "limits", "inventory", "documents", "active", "expired", "revoked"], // states of keys
  ),
  "argument.": LABELS,
  "ads.missing.": ["Facebook", "amoCRM", "WhatsApp", "directions", "stages"],
  "ads.problem.": ["no_token", "token_ended", "token_ends", "failed", "never_read", "stale"],
  "ads.rows.": ["ad sets", "ads", "days of ad sets", "days of ads", "leads by forms"].concat([
    "stages",
    "leads",
    "deleted leads",
    "leads with a creative",
    "messages",
  ]),
  "ads.whatsapp.": ["open", "administrators", "not_configured"],
  "ads.without.": ["ads_management", "leads_retrieval"],
  "admin.begunBy.": ["password", "recovery"],
  "admin.effect.": ["read", "write", "dangerous"],
  "admin.by.": ["day", "user", "assistant", "model", "stage"],
  "admin.scope.": ["ask", "read", "metrics", "admin"],
  "apps.may.": ["read", "ask"],
  "apps.short.": ["read", "ask"],
  "chat.memory.": [
    "search_failed",
    "embedder_busy",
    "embedder_unavailable",
    "vectors_unreadable",
    "vectors_behind",
  ].concat(["archive_failed", "archive_skipped", "archive_behind", "client_messages_cut"]),
  "chat.mode.": ["auto", "plan", "ask"],
  "error.": [...new Set(CODES), "internal"],
  "failed.": [...MODEL_CODES, "engine_died", "bad_data", "in_doubt", "not_allowed", "unknown_tool", "failed"],
  "facts.decide.": ["pinned", "ended", "wrong", "unused", "free"],
  "facts.kind.": ["identity", "relation", "preference", "plan", "event", "state", "possession", "question"].concat([
    "profile",
    "note",
  ]),
  "facts.state.": ["uncertain", "replaced", "ended", "corrected", "wrong", "unused"],
  "facts.week.": ["added", "replaced", "ended", "corrected"],
  "kind.": ["ask", "action", "task", "archive", "trial", "call"],
  "goes.": ["messages", "images", "schedules", "logs", "records", "facts", "answers", "elsewhere"],
  "limits.name.": ["user_queue_limit", "user_conversations", "user_documents", "user_document_bytes"].concat(
    ["user_images", "user_image_bytes", "user_webhooks", "user_webhook_events", "user_schedules", "user_memory_bytes"],
    ["user_rate", "sign_in_rate", "sign_in_address_rate"],
  ),
  "logs.": ["timeline", "byLayer"],
  "memory.level.": ["0", "1", "2", "3"],
  "memory.of.": ["2", "3"],
  "pause.": ["assistant", "model", "key", "user"],
  "prices.": ["input", "cached", "output", "image"],
  "profile.look.": ["auto", "light", "dark"],
  "queue.": ["inbox", "waiting", "runnable", "deferred", "in_flight", "paused", "scheduled"],
  "tag.": ["Discussion", "Unanswered"],
  "searched.": ["yes", "perhaps", "no", "unused"],
  "slot.": ["competencies", "communication_style", "meeting_preferences", "focus_time"].concat([
    "working_style",
    "career_goals",
    "problem_solving",
  ]),
  "stage.": ["NEW", "ANALYZING", "ANALYZED", "ASSEMBLING", "READY", "RESPONDING", "COMPLETED", "FAILED"].concat([
    "ARCHIVED",
    "queue",
    "analyzer",
    "draft_builder",
    "assembler",
    "final_responder",
    "archivist",
  ]),
  "file.state.": ["pending", "processing", "processed", "failed"],
  "schedule.rhythm.": ["day", "workdays", "week", "month", "cron"],
  "step.": ["pending", "running", "waiting", "done", "failed", "in_doubt", "skipped"],
  "webhooks.column.": ["event", "when", "state", "attempts", "answer"],
  "webhooks.delivery.": ["waiting", "delivered", "failed"],
  "webhooks.error.": ["unknown_host", "not_public", "not_https", "timeout", "unreachable", "no_answer"],
  "webhooks.on.": ["run.completed", "run.failed", "run.approval_required", "memory.added", "memory.forgotten"].concat([
    "fact.changed",
    "task.progress",
    "user.erased",
  ]),
  "webhooks.state.": ["enabled", "asked", "gone", "failing", "queue_full"],
};

afterEach(() => chooseLanguage(null));

test("no text is unused", () => {
  const prefixes = SOURCES.matchAll(/(?:say|sayOr)\(`([\w.]+)\$\{/g);
  expect([...new Set(Array.from(prefixes, ([, prefix]) => prefix))].sort()).toEqual(Object.keys(BUILT).sort());
  const built = Object.entries(BUILT).flatMap(([prefix, names]) => names.map((name) => prefix + name));
  const written = Array.from(SOURCES.matchAll(/"([a-z]+(?:\.\w+)+)"/g), ([, key]) => key);
  const used = new Set([...built, ...written]);
  expect(built.filter((key) => !(key in en))).toEqual([]);
  expect(KEYS.filter((key) => !used.has(key))).toEqual([]);
});

/** The sources that are there before anything of `withTexts` is: what main.tsx imports, and what that imports. */
function sourcesOfFirst(path = join("src", "main.tsx"), seen = new Map<string, string>()): Map<string, string> {
  if (seen.has(path) || path.startsWith(join("src", "texts"))) return seen;
  const source = readFileSync(path, "utf8");
  seen.set(path, source);
  for (const [, fixed, later] of source.matchAll(
    /^import (?!type )[^"]*"(\.[^"]+)"|(?<!withTexts\()import\("(\.[^"]+)"\)/gm,
  )) {
    const imported = join(dirname(path), fixed ?? later!);
    const found = [`${imported}.ts`, `${imported}.tsx`].find(existsSync);
    if (found) sourcesOfFirst(found, seen);
  }
  return seen;
}

test("what is loaded first has the sentences that it says, and no others", () => {
  const sources = [...sourcesOfFirst().values()].join("\n");
  const prefixes = Array.from(sources.matchAll(/(?:say|sayOr)\(`([\w.]+)\$\{/g), ([, prefix]) => prefix!);
  const isSaid = (key: string) =>
    sources.includes(`"${key}"`) || prefixes.some((prefix) => key.startsWith(prefix) && BUILT[prefix]);
  expect(sources).toContain("export function App");
  expect(Object.keys(enPages).filter(isSaid)).toEqual([]);
  expect(Object.keys(enFirst).filter((key) => !isSaid(key))).toEqual([]);
});

test("a page loads the sentences of one language: no module brings those of both", () => {
  const fixed = readdirSync("src", { recursive: true, encoding: "utf8" })
    .filter((path) => /\.tsx?$/.test(path))
    .flatMap((path) => {
      const source = readFileSync(join("src", path), "utf8");
      return Array.from(
        source.matchAll(/^import (?!type ).*"[./]+(?:texts\/)?((?:en|ru)(?:_\w+)?)"/gm),
        ([, texts]) => [path, texts],
      );
    });
  expect(fixed).toEqual([]);
});

test("both languages have the same texts, with the same values in them", () => {
  expect(Object.keys(ru)).toEqual(KEYS);
  const namesOf = (text: string) => [...new Set(Array.from(text.matchAll(/\{(\w+)\}/g), ([, name]) => name))].sort();
  expect(KEYS.filter((key) => namesOf(en[key]).join() !== namesOf(ru[key]).join())).toEqual([]);
});

test("a text that counts has the plural forms of its language", () => {
  const formsOf = (text: string) => text.split(" | ").length;
  const counted = KEYS.filter((key) => formsOf(en[key]) > 1 || formsOf(ru[key]) > 1);
  expect(counted.length).toBeGreaterThan(3);
  expect(counted.filter((key) => formsOf(en[key]) !== 2 || formsOf(ru[key]) !== 3)).toEqual([]);
});

test("a sentence is filled in, and counts in its language", async () => {
  await chooseLanguage("ru");
  const forms = ru["chat.memories"].split(" | ");
  const said = [1, 2, 5, 21].map((n) => say("chat.memories", { n }).replace(/\d+/, "{n}"));
  expect(said).toEqual([forms[0], forms[1], forms[2], forms[0]]);
  await chooseLanguage("en");
  expect([1, 2].map((n) => say("chat.memories", { n }))).toEqual(["1 memory", "2 memories"]);
  expect(say("profile.today", { tokens: 1234, dollars: "0.5" })).toBe("Today: 1,234 tokens, $0.5");
  expect(say("app.requestId")).toBe("Request "); // a value that is not there
});

test("a name that the page does not know is shown as it is", () => {
  expect([sayOr("stage.queue", "queue"), sayOr("stage.new_one", "new_one")]).toEqual(["Queue", "new_one"]);
});

test("a date says no more than one needs to know", async () => {
  await chooseLanguage("en");
  const now = new Date(2026, 4, 6, 15, 0);
  expect(formatDate(new Date(2026, 4, 6, 9, 5), now)).toMatch(/^0?9:05/);
  expect(formatDate(new Date(2026, 2, 1), now)).toBe("Mar 1");
  expect(formatDate(new Date(2025, 2, 1), now)).toBe("Mar 1, 2025");
});

test("a period is said in words, a week as its days", async () => {
  await chooseLanguage("en");
  expect(formatPeriod("2026-Week-48").replaceAll(/\s/g, " ")).toBe("November 23 – 29, 2026");
  expect(formatPeriod("2026-Week-01").replaceAll(/\s/g, " ")).toBe("December 29, 2025 – January 4, 2026");
  expect(formatPeriod("2026-Month-11")).toBe("November 2026");
  expect(formatPeriod("last spring")).toBe("last spring");
  expect(formatDay("2026-11-01")).toBe("November 1, 2026");
  await chooseLanguage("ru");
  expect(formatPeriod("2026-Week-48")).toMatch(/^23\s?–\s?29 ноября 2026/);
});

test.each([
  ["2026-Month-04", "March 30 – May 3, 2026"],
  ["2026-Month-01", "December 29, 2025 – February 1, 2026"],
  ["2026-Month-12", "November 30, 2026 – January 3, 2027"],
  ["2026-Week-48", "November 23 – 29, 2026"],
  ["last spring", "last spring"],
])("the days of %s are whole weeks", async (period, days) => {
  await chooseLanguage("en");
  expect(formatDaysOf(period).replaceAll(/\s/g, " ")).toBe(days);
});

test.each([
  [-30, "30 seconds ago"],
  [90, "in 2 minutes"],
  [-7200, "2 hours ago"],
  [86_400, "tomorrow"],
])("%i s from now is %s", async (seconds, words) => {
  await chooseLanguage("en");
  expect(formatDistance(new Date(1_000_000 + seconds * 1000), 1_000_000)).toBe(words);
});

test.each([
  [30 * 60_000, "30 minutes", "30 минут"],
  [60_000, "60 seconds", "60 секунд"],
  [-1, "0 seconds", "0 секунд"],
  [7_200_000, "2 hours", "2 часа"],
])("%i ms are %s", async (ms, english, russian) => {
  await chooseLanguage("en");
  expect(formatDuration(ms)).toBe(english);
  await chooseLanguage("ru");
  expect(formatDuration(ms)).toBe(russian);
});

test("signs are icons: no letter of a font stands for one", () => {
  const signs = /[\u2190\u2191\u2193-\u21ff\u2300-\u25ce\u25d0-\u27bf\u22ef\u2039\u203a]|[\ud83c-\ud83e]./g; // but → and ●
  const found = readdirSync("src", { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".tsx") && !path.startsWith("admin"))
    .flatMap((path) => Array.from(readFileSync(join("src", path), "utf8").matchAll(signs), ([sign]) => [path, sign]));
  expect(found).toEqual([]);
});

test("dates and numbers share their formats: rows that scroll by have no time to make one each", () => {
  const slow = [
    ...(["toLocaleString", "toLocaleDateString", "toLocaleTimeString"] as const).map((name) =>
      vi.spyOn(Date.prototype, name),
    ),
    vi.spyOn(Number.prototype, "toLocaleString"), // each call makes a format
  ];
  const now = new Date(2031, 4, 5, 12);
  for (let day = 1; day <= 28; day++) {
    formatDate(new Date(2031, 3, day), now);
    formatFullDate(new Date(2031, 3, day));
    expect(say("chat.memories", { n: day })).toContain(String(day));
  }
  expect(slow.flatMap((one) => one.mock.calls)).toEqual([]);
});

test("what is no time is a dash", () => {
  expect([formatDate(""), formatFullDate("never"), formatMoment("")]).toEqual(["–", "–", "–"]);
});

test.each(["en", "ru"] as const)("what waits is said in one line of the sidebar: %s", async (language) => {
  await chooseLanguage(language);
  for (const n of [1, 2, 21, 100]) expect(say("action.waiting", { n }).length).toBeLessThanOrEqual(20);
});
