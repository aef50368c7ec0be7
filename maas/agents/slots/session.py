"""What a dialogue has collected, as one run works on it: from where the run began, through what its calls change."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self
from uuid import UUID

from maas.agents.results import ToolResult
from maas.agents.slots.slot import Slot, Slots, merge, mirror, missing, state_block
from maas.pipeline.runs import LostRun, Run
from shared.db import Database
from shared.text import is_blank, one_line

CHAT = "assistant_chat"
WAIT_PHOTO = "assistant_wait_photo"
EXPERIENCED = 10  # who has made more is asked for all values in one question


@dataclass(slots=True)
class SlotSession:
    """`values` by names of `slots`. `said`: words of tools for the user; `changed`: this run collected something;
    `is_choosing`: it asks which photo to take; `drawn`: the attachment that it made.

    A tool changes it by what it returns, see `take`: so a result that was kept changes it as it did at first, and the
    same rounds lead to the same state whoever goes through them.
    """

    id: UUID
    slots: Slots
    language: Literal["ru", "en"]
    state: str = CHAT
    values: dict[str, str] = field(default_factory=dict)
    is_confirmed: bool = False
    photo: UUID | None = None
    offered_photo: UUID | None = None
    generations: int = 0
    first_name: str | None = None
    said: list[str] = field(default_factory=list)
    changed: bool = False
    is_choosing: bool = False
    drawn: str | None = None

    @classmethod
    async def open(cls, db: Database, run: Run, slots: Slots, language: Literal["ru", "en"]) -> Self:
        """As this try of the run found it, however often it is claimed. Raises LostRun."""
        found: dict[str, Any] | None = await db.value("open_session", run.id, run.attempt)
        if found is None:
            raise LostRun
        return cls(
            UUID(found["id"]), slots, language, found["state"], merge(slots, {}, found["slots"]), found["confirmed"],
            _id(found["photo"]), _id(found["offered_photo"]), found["generations"],
            found["first_name"],
        )  # fmt: skip

    async def keep(self, db: Database, run: Run) -> None:
        """Store it. Raises LostRun."""
        session = {
            "id": self.id, "state": self.state, "slots": self.values, "confirmed": self.is_confirmed,
            "photo": self.photo, "offered_photo": self.offered_photo,
        }  # fmt: skip
        if not await db.value("keep_session", run.id, run.attempt, session):
            raise LostRun

    @property
    def missing(self) -> tuple[Slot, ...]:
        return missing(self.slots, self.values)

    @property
    def mirror(self) -> str:
        return mirror(self.slots, self.values)

    @property
    def is_offered(self) -> bool:
        """Whether the user is asked to confirm: all is there since this run, and nothing else is asked for."""
        return self.changed and not self.missing and not self.is_confirmed and self.state == CHAT

    @property
    def block(self) -> str:
        """What a model is told before each call."""
        block = state_block(self.slots, self.values, at_once=self.generations > EXPERIENCED)
        lines = [block, *(["The photo is there."] if self.photo else [])]
        if self.first_name and not is_blank(self.first_name):
            name = json.dumps(one_line(self.first_name), ensure_ascii=False).replace("<", "\\u003c")
            lines.append(f"The user's first name: {name}")
        return "\n".join(lines)

    def in_words(self, ru: str, en: str) -> str:
        """A sentence of ours in the user's language."""
        return ru if self.language == "ru" else en

    def receive(self, photo: UUID) -> None:
        """A photo came: the one that is waited for, or another, between which the user has to choose."""
        if self.photo in (None, photo) or self.state == WAIT_PHOTO:
            self.photo, self.offered_photo, self.state = photo, None, CHAT
            self.is_confirmed, self.changed = False, True
        else:
            self.offered_photo, self.is_choosing = photo, True
            self.said.append(self.in_words("Взять новое фото или оставить прежнее?", "The new photo or the old one?"))

    def choose(self, *, is_new: bool) -> None:
        """The user has chosen between two photos; what else was collected stays."""
        if is_new:
            self.photo, self.is_confirmed = self.offered_photo, False
        self.offered_photo, self.changed = None, True
        words = ("Беру новое фото.", "I take the new photo.") if is_new else ("Остаётся прежнее.", "The old one stays.")
        self.said.append(self.in_words(*words))

    def accepted(self, patch: Mapping[str, object]) -> dict[str, str]:
        """What is good in `patch`."""
        return merge(self.slots, {}, patch)

    def told(self, accepted: Mapping[str, str]) -> dict[str, Any]:
        """What a tool's result shows to the model of the session with `accepted`."""
        values = merge(self.slots, self.values, accepted)
        return {"collected": values, "still_needed": [slot.name for slot in missing(self.slots, values)]}

    def take(self, result: ToolResult) -> None:
        """Let a result change it: `accepted` values, `state`, `confirmed`; `say` is for the user.

        What failed with words for the user may be confirmed again.
        """
        data = result.body.get("data") if result.is_success else result.body
        if not isinstance(data, dict):
            return
        if (words := data.get("say")) and words not in self.said:
            self.said.append(words)
        if not result.is_success:
            self.changed |= "say" in data
            return
        if data.get("accepted"):
            self.values = merge(self.slots, self.values, data["accepted"])
            self.is_confirmed, self.changed = False, True
        self.state = data.get("state", self.state)
        self.is_confirmed = data.get("confirmed", self.is_confirmed)
        self.drawn = data.get("attachment_id", self.drawn)


def _id(text: str | None) -> UUID | None:
    return None if text is None else UUID(text)
