"""The Compactor: merges old summaries in the background."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

import structlog

from maas import queries
from maas.builtin_model.merged_texts import DayRecords, MergedReply, fields_of, word_limit
from maas.engine.run import StageLog
from maas.engine.stages import Deps
from maas.memory.origins import merged, with_mark
from maas.memory.summaries import ChildSummary, SummaryGroup, compact, count_due, due_groups, read_children
from maas.prompt_rows import is_filled
from maas.prompting.model_calls import ask_or_fall_back
from maas.prompting.prompts import read_prompts
from shared.db import CONNECTION_LOST
from shared.models import Message, Request, gen_ai
from shared.text import escape, fill

NAME = "compactor"
TOKENS_PER_WORD, TOKENS_PER_DAY = 4, 20  # that a reply may have
MAX_INPUT_CHARS = 120_000
MIN_RECORD_CHARS = 120
log = structlog.get_logger()


@dataclass(slots=True)
class GroupCalls:
    """Records the model calls for one group of summaries, as a run does for its stages.

    Of `days` days the model left out those of `left_out`.
    """

    user_id: UUID
    id: UUID = field(default_factory=uuid4)
    attempt: int = 1
    log: StageLog = field(default_factory=StageLog)
    days: int = 0
    left_out: tuple[str, ...] = ()

    def cost(self) -> dict[str, Any]:
        """Return the sums of all calls, with provider, model and prompt version of the last one."""
        calls = self.log.calls
        if not calls:
            return {}
        return {name: calls[-1][name] for name in ("provider", "model", "prompt_version")} | {
            "calls": sum(call["attempts"] for call in calls),
            "days": self.days,
            "left_out": list(self.left_out),
            **{name: sum(call[name] for call in calls) for name in ("tokens_in", "tokens_out", "ms")},
        }


async def keep_compacting(deps: Deps) -> None:
    """Merge due groups until cancelled. After each it sleeps for as long as the merge took, to leave time to runs."""
    while True:
        await asyncio.sleep(deps.settings.engine.compact_every * (0.5 + random.random()))
        for group in await _batch(deps):
            started = time.monotonic()
            await merge_or_log(deps, group)
            await asyncio.sleep(time.monotonic() - started)


async def compact_all(
    deps: Deps,
    user_id: UUID | None = None,
    as_of: datetime | None = None,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> int:
    """Merge everything that is due, of one user or of all; return the number of new summaries.

    `on_progress` is called with the number of groups done and the number known so far.
    """
    done = total = 0
    while groups := await _batch(deps, user_id, as_of):
        before = done
        for group in groups:
            if done >= total:  # new summaries have made other groups due
                total = done + await count_due(deps.db, as_of, user_id)
            done += await merge_or_log(deps, group)
            on_progress(done, total)
        if done == before:
            break
    return done


async def _batch(deps: Deps, user_id: UUID | None = None, as_of: datetime | None = None) -> list[SummaryGroup]:
    """Return some due groups, lower levels first; within a level shuffled, since other processes take the same ones."""
    groups = await due_groups(deps.db, as_of, user_id)
    random.shuffle(groups)
    return sorted(groups, key=lambda group: group.level)


async def merge_or_log(deps: Deps, group: SummaryGroup) -> bool:
    """Merge a group and return whether that made a summary; a failure is logged and does not stop other groups."""
    try:
        return await merge(deps, group)
    except CONNECTION_LOST:
        raise
    except Exception:
        log.exception("compaction_failed", user_id=group.user_id, to_level=group.level, day=f"{group.day}")
        return False


async def merge(deps: Deps, group: SummaryGroup) -> bool:
    """Reads: the group's summaries, prompt Compactor. Writes: one summary in their place, unless they have changed.

    Returns whether it was written. Next: the group of the next level, once that is due.
    """
    children = await read_children(deps.db, group)
    if all(child.level == group.level for child in children):
        return False  # another process has merged them
    calls = GroupCalls(group.user_id)
    with gen_ai.memory("upsert_memory", group.user_id, count=1):
        if len(children) == 1:
            summary, is_degraded = children[0].text, children[0].is_degraded
        else:
            summary, is_degraded = await _summarize(deps, calls, children, group.level)
            summary = with_mark(summary, merged(child.origins for child in children))
        cost = calls.cost()
        summary_id = await compact(deps.db, group, children, summary, is_degraded, cost)
    if cost and cost["tokens_in"] + cost["tokens_out"]:
        usage = (cost[name] for name in ("provider", "model", "tokens_in", "tokens_out"))
        await deps.db.value(queries.add_usage, group.user_id, *usage)
    log.debug(
        "compacted" if summary_id else "compaction_outdated",
        user_id=group.user_id,
        to_level=group.level,
        day=f"{group.day}",
        children=len(children),
        calls=len(calls.log.calls),
        degraded=is_degraded,
    )
    return summary_id is not None


async def _summarize(deps: Deps, calls: GroupCalls, children: Sequence[ChildSummary], level: int) -> tuple[str, bool]:
    """Return a summary of the children's summaries, and whether the built-in model had to write it."""
    texts = ((f"{child.since}", f"{child.until}", child.text) for child in children)
    records = DayRecords.of(texts, MAX_INPUT_CHARS, MIN_RECORD_CHARS)
    limit = word_limit(level, sum(child.messages for child in children), len(records.days))
    prompt = (await read_prompts(deps.db, "Compactor", language=deps.settings.answers.prompt_language))["Compactor"]
    is_one_message = is_filled("Compactor", prompt.text)
    lines = "\n".join(f"[{day}] {escape(text)}" for day, text in records.lines)
    if is_one_message:
        values = {
            "start_date": f"{min(child.since for child in children)}",
            "end_date": f"{max(child.until for child in children)}",
            "records": lines,
            "limit": str(limit),
        }
        system, text = "", fill(prompt.text, values)
    else:
        a_day = f", {limit // len(records.days)} a day" if len(records.days) > 1 else ""
        system, text = prompt.text, f"<records>\n{lines}\n</records>\n<limit>{limit} words{a_day}</limit>"
    request = Request(
        role="Compactor",
        messages=(Message("user", text),),
        system=system,
        json_schema=fields_of(["summary"] if is_one_message else records.fields),
        temperature=0.0,
        needs_thoughts=False,
        max_tokens=limit * TOKENS_PER_WORD + TOKENS_PER_DAY * len(records.days),
        inputs={"records": [{"day": day, "text": text} for day, text in records.lines], "limit": limit},
    )
    reply = MergedReply(records, limit)
    (merged_text, left_out), is_degraded = await ask_or_fall_back(
        calls, deps, NAME, prompt, request, reply.parse, deps.settings.models.archivist_timeout, may_fail=False
    )
    calls.days = len(records.days)
    calls.left_out = () if is_degraded else left_out
    return merged_text, is_degraded
