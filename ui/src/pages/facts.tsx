// What is known of a person and of those whom they speak of: each statement with its times, and what a person decides
// about it.

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { useFilters } from "../admin/filters";
import { post } from "../api/http";
import { refresh } from "../api/refresh";
import type { Fact, Verdict } from "../api/types";
import { Words } from "../chat/evidence";
import { Dialog } from "../parts/dialog";
import { type Marked, useMarked } from "../parts/marked";
import { Empty, ErrorNotice, Skeleton } from "../parts/notice";
import { unique, useMore } from "../parts/use_more";
import { visible } from "../parts/visible";
import { Windowed } from "../parts/windowed";
import { useUser } from "../session/session";
import { formatDay, formatNumber, say } from "../texts";
import { WeekOfFacts } from "./changes";

const PAGE = 100;
const USER = "user"; // whom a fact is about that names nobody else
const MAX_NAME = 100;
const CARD_PX = 104; // of most cards
const KINDS = [
  "identity",
  "profile",
  "relation",
  "preference",
  "plan",
  "event",
  "state",
  "possession",
  "question",
  "note",
] as const satisfies Fact["kind"][];

export function Facts() {
  const { userId } = useUser();
  const [filters, setFilter] = useFilters(["kind", "state"]);
  const isAll = filters.state === "all";
  const kind = KINDS.find((one) => one === filters.kind);
  const list = useMore("memory", `/v1/users/${userId}/facts`, { state: isAll ? "all" : null, limit: PAGE });
  const open = useMarked();
  const facts = unique(list.items, (one) => one.id);
  const shown = kind ? facts.filter((one) => one.kind === kind) : facts;
  const isWhole = list.isSuccess && !list.hasNextPage;
  return (
    <>
      <WeekOfFacts />
      <label className="flex items-center gap-2 text-small">
        <input
          type="checkbox"
          className="min-h-0!"
          checked={isAll}
          onChange={(event) => setFilter("state", event.target.checked ? "all" : "")}
        />
        {say("facts.all")}
      </label>
      {facts.length > 0 && (
        <Kinds facts={facts} isWhole={isWhole} chosen={kind} onChoose={(one) => setFilter("kind", one ?? "")} />
      )}
      <ErrorNotice error={list.error} onRetry={() => void list.refetch()} />
      {list.isPending && <Skeleton lines={4} className="h-16" />}
      {isWhole && !shown.length && <Empty>{say(facts.length ? "facts.noneOfKind" : "facts.none")}</Empty>}
      <Windowed
        groups={bySubject(shown).map(([about, rows], index) => ({
          key: about,
          region: about === USER ? say("facts.you") : visible(about),
          heading: (
            <div className={`flex flex-wrap items-baseline justify-between gap-3 pb-2 ${index ? "pt-2" : ""}`}>
              <h2 className="text-lead font-semibold">{about === USER ? say("facts.you") : visible(about)}</h2>
              {about !== USER && <SameAs name={about} />}
            </div>
          ),
          rows,
        }))}
        keyOf={(fact) => fact.id}
        rowPx={CARD_PX}
        hasMore={list.hasNextPage}
      >
        {(fact) => <FactCard fact={fact} open={open} />}
      </Windowed>
      <div ref={list.mark} className="h-8">
        {list.isFetchingNextPage && <Skeleton lines={1} />}
      </div>
    </>
  );
}

/** The kinds that there are, with how many facts of each; a plus where not all have been read. */
function Kinds({
  facts,
  isWhole,
  chosen,
  onChoose,
}: {
  facts: Fact[];
  isWhole: boolean;
  chosen: Fact["kind"] | undefined;
  onChoose: (kind: Fact["kind"] | undefined) => void;
}) {
  const countOf = (kind?: Fact["kind"]) => facts.filter((one) => !kind || one.kind === kind).length;
  return (
    <div role="group" aria-label={say("facts.kinds")} className="flex flex-wrap gap-2">
      {[undefined, ...KINDS.filter((one) => one === chosen || countOf(one))].map((one) => (
        <button
          key={one ?? ""}
          type="button"
          aria-pressed={chosen === one}
          className={`button small ${chosen === one ? "primary" : ""}`}
          onClick={() => onChoose(one)}
        >
          {one ? say(`facts.kind.${one}`) : say("app.all")}{" "}
          <span className="tabular">{`${formatNumber(countOf(one))}${isWhole ? "" : "+"}`}</span>
        </button>
      ))}
    </div>
  );
}

/** The user first, then the others in the order in which they were spoken of last. */
function bySubject(facts: Fact[]): [string, Fact[]][] {
  const subjects = new Map<string, Fact[]>([[USER, []]]);
  for (const fact of facts) subjects.set(fact.about, [...(subjects.get(fact.about) ?? []), fact]);
  return [...subjects].filter(([, known]) => known.length);
}

function FactCard({ fact, open }: { fact: Fact; open: Marked }) {
  const { userId } = useUser();
  const queries = useQueryClient();
  const isOpen = open.has(fact.id);
  const decide = useMutation({
    mutationFn: (verdict: Verdict) => post(`/v1/facts/${fact.id}/decide`, { user_id: userId, verdict }),
    onSuccess: () => refresh(queries, ["memory"]),
  });
  const verdicts: Verdict[] = VERDICTS[fact.state] ?? [];
  const offered = fact.is_pinned ? ["free" as const, ...verdicts.filter((one) => one !== "pinned")] : verdicts;
  return (
    <div className="card mb-2">
      <p className={fact.state === "true" ? "" : "text-quiet"}>{visible(fact.fact)}</p>
      <p className="flex flex-wrap gap-x-3 text-small text-quiet">
        <span>{say(`facts.kind.${fact.kind}`)}</span>
        <span>
          {fact.true_from
            ? say("facts.from", { day: formatDay(fact.true_from) })
            : say("facts.said", { day: formatDay(fact.said_at) })}
        </span>
        {fact.true_until && <span>{say("facts.until", { day: formatDay(fact.true_until) })}</span>}
        {fact.state !== "true" && (
          <b className="text-warn">
            {say(`facts.state.${fact.state}`)}
            {fact.since && `, ${formatDay(fact.since)}`}
          </b>
        )}
        {fact.is_pinned && <b>{say("facts.pinned")}</b>}
      </p>
      <div className="mt-1 flex flex-wrap gap-x-4">
        <button type="button" className="quiet-button" aria-expanded={isOpen} onClick={() => open.toggle(fact.id)}>
          {say("memory.unfold")}
        </button>
        {offered.map((verdict) => (
          <button
            key={verdict}
            type="button"
            className="quiet-button"
            disabled={decide.isPending}
            onClick={() => decide.mutate(verdict)}
          >
            {say(`facts.decide.${verdict}`)}
          </button>
        ))}
      </div>
      <ErrorNotice error={decide.error} />
      {isOpen && <Words memoryId={fact.id} />}
    </div>
  );
}

/** What a person may decide about a fact in a state; about one that others took the place of, nothing. */
const VERDICTS: Partial<Record<Fact["state"], Verdict[]>> = {
  true: ["pinned", "ended", "wrong", "unused"],
  uncertain: ["ended", "wrong", "unused"],
  ended: ["free"],
  wrong: ["free"],
  unused: ["free"],
};

/** Says that a name and another one are the same person. */
function SameAs({ name }: { name: string }) {
  const { userId } = useUser();
  const queries = useQueryClient();
  const [isOpen, setOpen] = useState(false);
  const [other, setOther] = useState("");
  const merge = useMutation({
    mutationFn: () => post(`/v1/users/${userId}/facts/names`, { name, same_as: other }),
    onSuccess: () => {
      setOpen(false);
      return refresh(queries, ["memory"]);
    },
  });
  return (
    <>
      <button type="button" className="quiet-button" onClick={() => setOpen(true)}>
        {say("facts.sameAs")}
      </button>
      {isOpen && (
        <Dialog title={say("facts.sameAsTitle", { name: visible(name) })} onClose={() => setOpen(false)}>
          <form
            className="flex flex-col gap-3"
            onSubmit={(event) => {
              event.preventDefault();
              merge.mutate();
            }}
          >
            <label className="field">
              <span>{say("facts.otherName")}</span>
              <input required maxLength={MAX_NAME} value={other} onChange={(event) => setOther(event.target.value)} />
            </label>
            <ErrorNotice error={merge.error} />
            <button type="submit" className="button primary self-start" disabled={merge.isPending || !other.trim()}>
              {say("facts.merge")}
            </button>
          </form>
        </Dialog>
      )}
    </>
  );
}
