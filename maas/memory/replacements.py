"""Replacements in a draft: recent messages and notes that the user has corrected, and the corrections to show first."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from uuid import UUID

from maas.memory.corrections import corrections_under, read_corrections
from maas.memory.dates import local
from maas.memory.notes import Note
from maas.memory.ranking import RankedMessage
from maas.memory.recent_messages import RecentMessage
from maas.memory.search import Hit, read_hits
from shared.db import Database


@dataclass(frozen=True, slots=True)
class CorrectedSummary:
    """What is to be read before a summary, newest first, and the day when the summary itself was replaced."""

    corrections: tuple[Hit, ...]
    replaced: str = ""


@dataclass(frozen=True, slots=True)
class Replacements:
    """Reads the corrections of a user's memories, as known at a moment; days are those of `zone`."""

    db: Database
    user_id: UUID
    zone: tzinfo
    as_of: datetime | None = None

    async def mark(
        self, messages: Sequence[RecentMessage], notes: Sequence[Note]
    ) -> tuple[list[RecentMessage], list[Note], list[Hit]]:
        """Mark what is corrected, and put the corrections of messages before them; also return those of notes."""
        of_messages = [one.log_id for one in messages if one.log_id is not None]
        of_notes = [one.log_id for one in notes if one.log_id is not None]
        log_ids = {*of_messages, *of_notes}
        corrections = await read_corrections(self.db, self.user_id, log_ids, self.as_of)
        days = {one: self._day(link.replaced_at) for one, link in corrections.items() if link.replaced_at}
        known = {one.log_id: one for one in messages if one.log_id is not None}
        valid = {one: corrections[one].valid_id for one in days}
        hits = {hit.id: hit for hit in await self._read({one for one in valid.values() if one not in known})}
        ordered: dict[UUID | None, RecentMessage] = {}
        imported: list[RecentMessage] = []
        for message in messages:
            if (valid_id := valid.get(message.log_id) if message.log_id else None) is not None:
                hit = hits.get(valid_id)
                first = known.get(valid_id) or (RecentMessage.from_hit(hit, self.zone) if hit else None)
                if first is not None:
                    ordered.setdefault(valid_id, first)
            if message.log_id is None:
                imported.append(message)
            else:
                ordered.setdefault(message.log_id, replace(message, replaced=days.get(message.log_id, "")))
        wanted = dict.fromkeys(
            one for log_id in of_notes if (one := valid.get(log_id)) is not None and one not in ordered
        )
        marked = [replace(note, replaced=days.get(note.log_id, "")) if note.log_id else note for note in notes]
        return [*imported, *ordered.values()], marked, [hits[one] for one in wanted if one in hits]

    async def of_summary(self, summary_id: UUID) -> CorrectedSummary:
        """Return the corrections of a summary and of the messages and summaries that it was made of."""
        rows = await corrections_under(self.db, self.user_id, summary_id, self.as_of)
        hits = await self._read({valid_id for valid_id, _, _ in rows})
        own = next((self._day(at) for _, at, is_own in rows if is_own), "")
        return CorrectedSummary(tuple(sorted(hits, key=lambda hit: hit.occurred_at, reverse=True)), own)

    async def _read(self, ids: Collection[UUID | None]) -> list[Hit]:
        return await read_hits(self.db, self.user_id, [RankedMessage(one, None, 1.0, 1.0) for one in ids if one])

    def _day(self, at: datetime | None) -> str:
        return f"{local(at, self.zone):%Y-%m-%d}" if at else ""
