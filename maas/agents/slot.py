"""A slot: one value that a dialogue collects."""

from __future__ import annotations

from dataclasses import dataclass

from shared.text import clean, is_blank, one_line

MAX_VALUE_CHARS = 500
_NOTHING = {"null", "none", "undefined", "unknown", "n/a"}
_QUOTES = "\"'«»“”„‘’"


@dataclass(frozen=True, slots=True)
class Slot:
    """One value to collect. `label` names it to the user, `question` asks for it; empty `allowed` means free text."""

    name: str
    label: str
    question: str
    is_required: bool = True
    allowed: tuple[str, ...] = ()

    def accept(self, value: object) -> str | None:
        """The value in its stored form, an allowed one in its own spelling; None if the slot does not accept it."""
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            return None
        text = one_line(clean(str(value))).strip(_QUOTES + " ")
        if is_blank(text):
            return None
        if self.allowed:
            return next((one for one in self.allowed if one.casefold() == text.casefold()), None)
        if len(text) > MAX_VALUE_CHARS or text.casefold() in _NOTHING:
            return None
        return text
