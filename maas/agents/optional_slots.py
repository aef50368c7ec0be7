"""Optional slots: the questions that a dialogue may ask once it has every required value, if the user wants that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self

from maas.agents.slot import Slot
from maas.conversations.language import Spoken

OptionalMode = Literal["keep", "ask", "offer"]
State = Literal["open", "offered", "asking", "declined"]
STATES = ("open", "offered", "asking", "declined")
TOOL = "optional_questions"


def offer_question(language: Spoken, count: int) -> str:
    """The question whether to ask `count` optional questions."""
    if language == "en":
        return f"Shall I ask {count} more optional question{'s' if count > 1 else ''}?"
    is_one = count % 10 == 1 and count % 100 != 11
    is_few = count % 10 in (2, 3, 4) and count % 100 not in (12, 13, 14)
    noun = "необязательный вопрос" if is_one else "необязательных вопроса" if is_few else "необязательных вопросов"
    return f"Задать ещё {count} {noun}?"


@dataclass(slots=True)
class OptionalSlots:
    """How far the optional slots of a session are.

    `offered_in` is the conversation in which the user was asked whether to ask them. `skipped` are the names of those
    that the user does not want to answer.
    """

    mode: OptionalMode = "keep"
    state: State = "open"
    offered_in: str | None = None
    skipped: tuple[str, ...] = ()

    @classmethod
    def read(cls, mode: OptionalMode, stored: Mapping[str, Any]) -> Self:
        """What a session has stored; `mode` is that of the definition now."""
        state, where, skipped = (stored.get(name) for name in ("state", "offered_in", "skipped"))
        names = tuple(one for one in skipped if isinstance(one, str)) if isinstance(skipped, list | tuple) else ()
        return cls(mode, state if state in STATES else "open", where if isinstance(where, str) else None, names)

    def stored(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name != "mode"}

    def left(self, slots: Sequence[Slot], values: Mapping[str, str]) -> tuple[Slot, ...]:
        """The slots that may still be asked for, in order."""
        if self.mode == "keep" or self.state == "declined":
            return ()
        return tuple(
            slot
            for slot in slots
            if not slot.is_required and slot.name not in self.skipped and slot.accept(values.get(slot.name)) is None
        )

    @property
    def is_asking(self) -> bool:
        """Whether they are asked for once every required value is there."""
        return self.state == "asking" or (self.mode == "ask" and self.state == "open")

    def decide(self, *, is_wanted: bool) -> None:
        """Take the user's yes or no to the offer."""
        self.state = "asking" if is_wanted else "declined"

    def take(self, stored: Mapping[str, Any]) -> None:
        """Take what `optional_questions` has returned."""
        other = self.read(self.mode, stored)
        self.state, self.skipped = other.state, other.skipped
