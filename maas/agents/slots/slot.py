"""Slots: what a dialogue has to collect before it may act; code keeps them, the model only fills them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shared.errors import MaasError
from shared.text import clean, is_blank, one_line

VALUE_CHARS = 500
_NOTHING = {"null", "none", "undefined", "unknown", "n/a"}
_QUOTES = "\"'«»“”„‘’"


@dataclass(frozen=True, slots=True)
class Slot:
    """One value to collect: `label` names it to the user, `question` asks for it; no `allowed` values: free text."""

    name: str
    label: str
    question: str
    is_required: bool = True
    allowed: tuple[str, ...] = ()

    def accept(self, value: object) -> str | None:
        """The value as it is kept, an allowed one in its own spelling; None if it is none for this slot."""
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            return None
        text = one_line(clean(str(value))).strip(_QUOTES + " ")
        if is_blank(text):
            return None
        if self.allowed:
            return next((one for one in self.allowed if one.casefold() == text.casefold()), None)
        if len(text) > VALUE_CHARS or text.casefold() in _NOTHING:
            return None
        return text


Slots = Sequence[Slot]
State = Mapping[str, str]


def declared(slots: Slots) -> tuple[Slot, ...]:
    """The slots of a definition. Raises MaasError('wrong_slots') when two have one name or a value cannot be kept."""
    names = [slot.name for slot in slots]
    if doubles := {name for name in names if names.count(name) > 1}:
        raise MaasError("wrong_slots", f"two slots are named {', '.join(sorted(doubles))}: rename one")
    for slot in slots:
        if lost := [one for one in slot.allowed if slot.accept(one) != one]:
            raise MaasError("wrong_slots", f"{slot.name}: {lost[0]!r} is twice allowed, blank or quoted")
    return tuple(slots)


def merge(slots: Slots, state: State, patch: Mapping[str, object]) -> dict[str, str]:
    """The state with what is good in `patch`: an invalid, empty or unknown value never takes a good one's place."""
    accepted = {slot.name: slot.accept(patch[slot.name]) for slot in slots if slot.name in patch}
    return {**state, **{name: value for name, value in accepted.items() if value is not None}}


def missing(slots: Slots, state: State) -> tuple[Slot, ...]:
    """The required slots that hold nothing good yet, in their order."""
    return tuple(slot for slot in slots if slot.is_required and slot.accept(state.get(slot.name)) is None)


def state_block(slots: Slots, state: State, *, at_once: bool = False) -> str:
    """What a model is told before each call: what is collected, what is not, and never to ask twice.

    `at_once`: it asks for all that is open in one question.
    """
    collected = json.dumps({slot.name: value for slot, value in _filled(slots, state)}, ensure_ascii=False)
    fenced = collected.replace("<", "\\u003c").replace(">", "\\u003e")
    lines = ["[SYSTEM STATE]", f"Collected: {fenced}"]
    if open_slots := missing(slots, state):
        lines.append(f"Still needed: {', '.join(slot.name for slot in open_slots)}")
        asked = open_slots if at_once else open_slots[:1]
        lines.append(f"Ask {'in one question' if at_once else 'next'}: {' '.join(slot.question for slot in asked)}")
    else:
        lines.append("All collected: show the mirror and wait for the user's answer.")
    return "\n".join([*lines, "Never ask again for what is collected."])


def mirror(slots: Slots, state: State) -> str:
    """What was collected, shown to the user for confirmation: a line each, a dash, the label in bold, the value."""
    return "\n".join(f"- **{slot.label}:** {value}" for slot, value in _filled(slots, state))


def _filled(slots: Slots, state: State) -> list[tuple[Slot, str]]:
    return [(slot, value) for slot in slots if (value := slot.accept(state.get(slot.name))) is not None]
