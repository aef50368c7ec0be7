// What has changed in memory within a week: what is new, what took the place of what, what ended, what was corrected.

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { get } from "../api/http";
import { keys } from "../api/keys";
import type { Fact } from "../api/types";
import { ErrorNotice, Skeleton } from "../parts/notice";
import { unique } from "../parts/use_more";
import { visible } from "../parts/visible";
import { useUser } from "../session/session";
import { formatDay, say } from "../texts";

const DAYS = 7;
const PAGE = 100;
const MAX_PAGES = 5;
const MAX_SHOWN = 5; // of each kind, until one asks for more
const KINDS = ["added", "replaced", "ended", "corrected"] as const;

/** What was known, what is known instead, and the day of the change. */
interface Change {
  before?: Fact | undefined;
  after?: Fact | undefined;
  day: string;
}

type Changes = Record<(typeof KINDS)[number], Change[]>;

export function WeekOfFacts() {
  const { userId } = useUser();
  const { data, error, isPending, refetch } = useQuery({
    queryKey: keys.weekOfFacts(userId),
    queryFn: ({ signal }) => readNewest(userId, signal),
  });
  if (error) return <ErrorNotice error={error} onRetry={() => void refetch()} />;
  if (isPending) return <Skeleton lines={1} />;
  if (!data.facts.length) return null;
  const changes = changesOf(data.facts, new Date());
  const changed = KINDS.filter((kind) => changes[kind].length);
  return (
    <section aria-label={say("facts.week")} className="card">
      <h2 className="text-lead font-semibold">{say("facts.week")}</h2>
      {changed.map((kind) => (
        <Group key={kind} title={say(`facts.week.${kind}`)} changes={changes[kind]} />
      ))}
      {!changed.length && <p className="text-quiet">{say("facts.unchanged")}</p>}
      {!data.isWhole && <p className="text-small text-quiet">{say("facts.newest", { count: data.facts.length })}</p>}
    </section>
  );
}

function Group({ title, changes }: { title: string; changes: Change[] }) {
  const [isOpen, setOpen] = useState(false);
  const shown = isOpen ? changes : changes.slice(0, MAX_SHOWN);
  return (
    <>
      <h3 className="mt-2 text-small text-quiet">{title}</h3>
      <ul aria-label={title}>
        {shown.map(({ before, after, day }) => (
          <li key={(before ?? after)!.id}>
            {before && <del className="text-quiet">{visible(before.fact)}</del>}
            {before && after && " → "}
            {after && <ins className="no-underline">{visible(after.fact)}</ins>}{" "}
            <span className="whitespace-nowrap text-small text-quiet">{formatDay(day)}</span>
          </li>
        ))}
      </ul>
      {shown.length < changes.length && (
        <button type="button" className="quiet-button" onClick={() => setOpen(true)}>
          {say("facts.more", { count: changes.length - shown.length })}
        </button>
      )}
    </>
  );
}

/** The facts in every state, newest first, and whether these are all. */
async function readNewest(userId: string, signal: AbortSignal) {
  let facts: Fact[] = [];
  let before: string | null = null;
  for (let page = 0; page < MAX_PAGES; page++) {
    const read: { results: Fact[]; next: string | null } = await get(
      `/v1/users/${userId}/facts`,
      { state: "all", limit: PAGE, before },
      signal,
    );
    facts = facts.concat(read.results);
    before = read.next;
    if (!before) break;
  }
  return { facts: unique(facts, (one) => one.id), isWhole: !before };
}

/** The changes of the last days, by the times of the facts; what a person wants nothing used of is left out. */
export function changesOf(facts: Fact[], now: Date): Changes {
  const from = new Date(now.getFullYear(), now.getMonth(), now.getDate() - DAYS + 1);
  const until = new Date(from.getFullYear(), from.getMonth(), from.getDate() + DAYS + 1); // the server may be a day ahead
  const isWithin = (at: string) => toTime(at) >= from && toTime(at) < until;
  const known = new Map(facts.filter((one) => one.state !== "unused").map((one) => [one.id, one]));
  const changes: Changes = { added: [], replaced: [], ended: [], corrected: [] };
  for (const fact of known.values()) {
    if (fact.state === "true" || fact.state === "uncertain") {
      if (isWithin(fact.created_at) && !known.has(fact.replaces ?? ""))
        changes.added.push({ after: fact, day: fact.created_at });
      continue;
    }
    const after = known.get(fact.replaced_by ?? "");
    const day = [after?.created_at, fact.since].find((at) => at && isWithin(at));
    if (day) changes[kindOf(fact)].push({ before: fact, after, day });
  }
  for (const kind of KINDS) changes[kind].sort((a, b) => toTime(b.day).getTime() - toTime(a.day).getTime());
  return changes;
}

function kindOf(before: Fact) {
  if (before.state === "ended") return "ended";
  return before.state === "corrected" || before.state === "wrong" ? "corrected" : "replaced";
}

/** A time, or the beginning of a day. */
function toTime(at: string): Date {
  return new Date(at.length === "2026-01-01".length ? `${at}T00:00` : at);
}
