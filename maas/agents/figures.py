"""Figures of answers: those that stand in nothing that the model was given are invented."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from maas.builtin_model.language import stems_of
from maas.tools.calls import ToolResult
from maas.tools.tool import Tool
from shared.models.calls import StreamListener

SMALL = 12  # an integer up to it may be a count of what is said
_DIGITS = re.compile(r"\d+")
_FIGURE = re.compile(
    r"(\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?:[.,]\d{1,9})?(?!\d)|\d{1,3}(?:,\d{3})+(?:\.\d{1,9})?(?!\d)|\d+(?:[.,]\d+)?)"
    r"(?:[ \u00a0]?(%|тыс|млн|млрд|[kKкКmMмМ]\b))?"
)
_ITEM = re.compile(r"^\s{0,9}\d{1,2}[.)](?=\s)", re.M)  # of a numbered list
_SCALES = {"тыс": 1e3, "k": 1e3, "к": 1e3, "млн": 1e6, "m": 1e6, "м": 1e6, "млрд": 1e9}
_YEAR = re.compile(r"(?:19|20)\d\d")
_MONEY = re.compile(r"[ \u00a0]?(?:[$€₽₸]|руб|тенге|долл|евро|[A-Z]{3}\b|дол|шт|лид)")
_SPACES = re.compile(r"[ \u00a0\u202f]")
_TAIL = 4  # digits of a phone number that may be shown


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure as it is written, and what it may mean: a value and half of its last digit."""

    text: str
    readings: tuple[tuple[float, float], ...]


@dataclass(slots=True)
class GivenFigures:
    """The figures that the tools of one answer gave, as far as a model was shown them.

    `has_called`: a tool was called, if in vain; `has_data`: one has given something; `has_acted`: one of them was to
    change something; `is_cut`: rows of a result were left out. `reads` are the calls that gave data without a change,
    with their arguments.
    """

    has_called: bool = False
    has_data: bool = False
    has_acted: bool = False
    is_cut: bool = False
    reads: list[tuple[Tool, Mapping[str, Any]]] = field(default_factory=list)
    _texts: list[str] = field(default_factory=list)

    def note(self, result: ToolResult) -> None:
        """Take note of a call, and of the figures in its arguments.

        Not of one that passes calls on, or of what is no call of a tool: an unknown name, arguments that none takes.
        """
        if result.tool is None or result.tool.is_meta or result.code == "validation_error":
            return
        self.has_called = True
        self.has_data |= result.is_success
        self.has_acted |= result.tool.effect != "read"
        if result.arguments:
            self._texts.append(json.dumps(result.arguments.values, ensure_ascii=False, default=str))
            if result.is_success and result.tool.effect == "read":
                self.reads.append((result.tool, result.arguments.values))

    def show(self, body: Mapping[str, Any], *, is_meta: bool = False) -> None:
        """Add the figures of a result as a model was shown it: those of rows that were left out are not known.

        The result of a tool that passes calls on has words of models as well: only the results in it count.
        """
        for shown in _results_in(body) if is_meta else (body,):
            self.is_cut |= bool((shown.get("_meta") or {}).get("cut"))
            self._texts.append(json.dumps(shown, ensure_ascii=False, default=str))

    def holds(self, name: str) -> bool:
        """Whether a result that a model was shown, or the arguments of a call, hold a name, in whatever inflection."""
        wanted = json.dumps(name, ensure_ascii=False)[1:-1].casefold()
        if any(wanted in text.casefold() for text in self._texts):
            return True
        stems = stems_of(name)
        return bool(stems) and stems <= set().union(*map(stems_of, self._texts))

    def invented(self, answer: str, given: Iterable[str]) -> list[str]:
        """The figures of an answer that stand neither in results nor in the texts `given`, as they are written.

        A figure may be rounded, a share be a percentage. Small integers count only where no tool gave data, or rows
        were left out: what is said of their number may be that of the rest alone.
        """
        known, tails = _known((*given, *self._texts))
        least = SMALL + 1 if self.has_data and not self.is_cut else 1
        return [
            one.text
            for one in _figures(answer)
            if one.readings[0][0] >= least or one.readings[0][0] % 1
            if one.text not in tails and not any(_is_near(known, *reading) for reading in one.readings)
        ]


class SourcedListener:
    """Passes text on once a tool has given data: before that it may be made up, and arrives whole, checked."""

    def __init__(self, listener: StreamListener, given: GivenFigures) -> None:
        self._listener = listener
        self._given = given

    def begin(self) -> None:
        self._listener.begin()

    def text(self, delta: str) -> None:
        if self._given.has_data:
            self._listener.text(delta)


def _results_in(body: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The results that a tool has passed on, and the ids of what they speak of."""
    data = body.get("data")
    if not isinstance(data, Mapping):
        return
    if "entities" in data:
        yield {"entities": data["entities"]}
    responses = data.get("responses")
    for one in responses.values() if isinstance(responses, Mapping) else ():
        yield from one if isinstance(one, list) else ()


def _figures(answer: str) -> list[Figure]:
    text = _ITEM.sub("", answer)
    figures = []
    for found in _FIGURE.finditer(text):
        written, unit = found[1], (found[2] or "").lower()
        if _YEAR.fullmatch(written) and not unit and not _MONEY.match(text, found.end()):
            continue
        figures.append(Figure(written, tuple(_readings(written, unit))))
    return figures


def _readings(written: str, unit: str) -> Iterable[tuple[float, float]]:
    """Values and half of the last digit; a comma may be that of decimals or of thousands."""
    plain = _SPACES.sub("", written)
    whole = plain.replace(",", "")
    for text in dict.fromkeys((whole if plain.count(",") > 1 or "." in plain else plain.replace(",", "."), whole)):
        _, _, decimals = text.partition(".")
        scale = _SCALES.get(unit, 1.0)
        value, half = float(text) * scale, 0.5 * 10 ** -len(decimals) * scale
        yield value, half
        if unit == "%":
            yield value / 100, half / 100


def _known(texts: Sequence[str]) -> tuple[list[float], set[str]]:
    """All figures of these texts in order, and the ends of long numbers such as phone numbers."""
    values, tails = set[float](), set[str]()
    for text in texts:
        for found in _FIGURE.finditer(text):
            values.update(value for value, _ in _readings(found[1], (found[2] or "").lower()))
        for digits in _DIGITS.findall(text):
            values.add(float(digits[:300]))
            if len(digits) > _TAIL:
                tails.add(digits[-_TAIL:])
    return sorted(values), tails


def _is_near(known: Sequence[float], value: float, half: float) -> bool:
    place = bisect_left(known, value - half * 1.000001)
    return place < len(known) and known[place] <= value + half * 1.000001
