"""The Compactor merges records that have grown old; nobody waits for it."""

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

from maas.memory.levels import Child, Group, compact, count_due, due_groups, read_children
from maas.pipeline.ledger import consult
from maas.pipeline.prompts import read_prompts
from maas.pipeline.stages import Deps
from shared.db import CONNECTION_LOST
from shared.models.types import Message, Request
from shared.text import clean, escape, fill, json_object, one_line, shorten

NAME = "compactor"
CHARS = {1: 1200, 2: 2000, 3: 2000}
INPUT_CHARS = 60_000
SHORTEST = 120
SCHEMA = {
    "title": "Merged",
    "type": "object",
    "properties": {"summary": {"type": "string"}},
    "required": ["summary"],
    "additionalProperties": False,
}
log = structlog.get_logger()


@dataclass(slots=True)
class Call:
    """The model calls of one group; the ledger notes them as it does those of a run."""

    id: UUID = field(default_factory=uuid4)
    attempt: int = 1
    calls: list[dict[str, Any]] = field(default_factory=list)
    round: int = 0

    def cost(self) -> dict[str, Any]:
        """All of them together, under the last one's name."""
        if not self.calls:
            return {}
        last = self.calls[-1]
        return {name: last[name] for name in ("provider", "model", "prompt_version")} | {
            "calls": sum(call["attempts"] for call in self.calls),
            **{name: sum(call[name] for call in self.calls) for name in ("tokens_in", "tokens_out", "ms")},
        }


async def work(deps: Deps) -> None:
    """Merge what is due, a batch every so often, until cancelled; live work has at least half of the time."""
    while True:
        await asyncio.sleep(deps.settings.compact_every * (0.5 + random.random()))
        for group in await _batch(deps):
            began = time.monotonic()
            await merge_or_log(deps, group)
            await asyncio.sleep(time.monotonic() - began)


async def compact_all(
    deps: Deps, user_id: UUID | None = None, as_of: datetime | None = None,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> int:  # fmt: skip
    """Merge all that is due, of one user or of everybody; how many records were made.

    `on_progress` is told how many groups are done and how many there are by now.
    """
    made = total = 0
    while groups := await _batch(deps, user_id, as_of):
        before = made
        for group in groups:
            if made >= total:  # what was made has made more due
                total = made + await count_due(deps.db, as_of, user_id)
            made += await merge_or_log(deps, group)
            on_progress(made, total)
        if made == before:
            break
    return made


async def _batch(deps: Deps, user_id: UUID | None = None, as_of: datetime | None = None) -> list[Group]:
    """Some of what is due, lower levels first; within a level in any order: other processes look at the same ones."""
    groups = await due_groups(deps.db, as_of, user_id)
    random.shuffle(groups)
    return sorted(groups, key=lambda group: group.level)


async def merge_or_log(deps: Deps, group: Group) -> bool:
    """Whether a record was made; a group that cannot be merged is logged and does not stop the others."""
    try:
        return await merge(deps, group)
    except CONNECTION_LOST:
        raise
    except Exception:
        log.exception("compaction_failed", user_id=group.user_id, to_level=group.level, day=f"{group.day}")
        return False


async def merge(deps: Deps, group: Group) -> bool:
    """Reads: the group's records and prompt Compactor. Writes: one record in their place, unless they have changed."""
    children = await read_children(deps.db, group)
    if all(child.level == group.level for child in children):
        return False  # somebody else was faster
    call = Call()
    if len(children) == 1:
        summary, is_degraded = children[0].summary, children[0].is_degraded
    else:
        summary, is_degraded = await _summarise(deps, call, children, CHARS[group.level])
    record = await compact(deps.db, group, children, summary, is_degraded, call.cost())
    log.debug(
        "compacted" if record else "compaction_outdated", user_id=group.user_id, to_level=group.level,
        day=f"{group.day}", children=len(children), calls=len(call.calls), degraded=is_degraded,
    )  # fmt: skip
    return record is not None


async def _summarise(deps: Deps, call: Call, children: Sequence[Child], chars: int) -> tuple[str, bool]:
    """From the children's summaries alone. The second value: whether it came by rule."""
    prompt = (await read_prompts(deps.db, "Compactor"))["Compactor"]
    shown = children[:: len(children) * SHORTEST // INPUT_CHARS + 1]
    texts = [shorten(one_line(child.summary), INPUT_CHARS // len(shown)) for child in shown]
    values = {
        "start_date": f"{min(child.since for child in children)}",
        "end_date": f"{max(child.until for child in children)}",
        "records": "\n".join(f"[{_days(child)}] {escape(text)}" for child, text in zip(shown, texts, strict=True)),
        "limit": str(chars),
    }
    request = Request(
        role="Compactor",
        messages=(Message("user", fill(prompt.text, values)),),
        json_schema=SCHEMA,
        temperature=0.0,
        max_tokens=chars,
        inputs={
            "records": [{"day": f"{child.until}", "text": text} for child, text in zip(shown, texts, strict=True)],
            "limit": chars,
        },
    )
    return await consult(
        call, deps, NAME, prompt, request, lambda reply: parse_summary(reply, chars), deps.settings.archivist_timeout,
        may_fail=False,
    )  # fmt: skip


def parse_summary(reply: str, chars: int) -> str:
    """The summary of the model's JSON, cut to `chars`. Raises ValueError that says what is missing."""
    body = json_object(reply)
    if body is None:
        raise ValueError("there is no JSON object")
    summary = body.get("summary")
    if not isinstance(summary, str) or not (summary := one_line(clean(summary))):
        raise ValueError("`summary` must be text that is not empty")
    return shorten(summary, chars)


def _days(child: Child) -> str:
    return f"{child.since}" if child.since == child.until else f"{child.since} – {child.until}"
