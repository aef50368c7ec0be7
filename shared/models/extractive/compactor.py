"""The Compactor's answer by rules: the most telling sentences, from as many records as there is room for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shared.models.extractive.archivist import worth_of
from shared.models.extractive.voice import VOICES
from shared.models.extractive.words import content
from shared.text import one_line, sentences, shorten

_LONGEST = 300
_DATED = re.compile(r"(\d{4}-\d\d-\d\d): (?=\S)")
_CLOSINGS = frozenset(line for voice in VOICES.values() for line in (voice.quoted, voice.unanswered))


@dataclass(frozen=True, slots=True)
class Told:
    """A sentence of a record. `turn` counts the better ones of the same record."""

    record: int
    place: int
    day: str
    text: str
    worth: float
    turn: int = 0


def answer(inputs: Mapping[str, Any]) -> str:
    """Merge `records` (day as ISO date, text; oldest first) into `limit` characters, as the Compactor's JSON."""
    return json.dumps({"summary": merge(inputs["records"], int(inputs["limit"]))}, ensure_ascii=False)


def merge(records: Sequence[Mapping[str, Any]], limit: int) -> str:
    """Each record's best sentence, then each one's second, told in order of time; with dates if there are several."""
    ranked = [one for number, record in enumerate(records) for one in _rank(number, record)]
    ranked.sort(key=lambda one: (one.turn, -one.worth, one.record, one.place))
    chosen: list[Told] = []
    seen: set[str] = set()
    room = limit
    for one in ranked:
        cost = len(one.text) + len(one.day) + 3
        if one.text not in seen and (cost <= room or not chosen):
            chosen.append(one)
            seen.add(one.text)
            room -= cost
    chosen.sort(key=lambda one: (one.day, one.record, one.place))
    return shorten(_tell(chosen) or one_line(" ".join(str(record["text"]) for record in records)) or "…", limit)


def _rank(number: int, record: Mapping[str, Any]) -> list[Told]:
    told = sorted(_told(number, record), key=lambda one: (-one.worth, one.place))
    return [Told(one.record, one.place, one.day, one.text, one.worth, turn) for turn, one in enumerate(told)]


def _told(number: int, record: Mapping[str, Any]) -> Iterator[Told]:
    day = str(record["day"])
    for place, sentence in enumerate(sentences(one_line(str(record["text"])))):
        if found := _DATED.match(sentence):
            day, sentence = found[1], sentence[found.end() :]
        if content(sentence) and sentence not in _CLOSINGS:
            yield Told(number, place, day, shorten(sentence, _LONGEST), worth_of(sentence))


def _tell(chosen: Sequence[Told]) -> str:
    is_one_day = len({one.day for one in chosen}) < 2
    parts, last = [], ""
    for one in chosen:
        parts.append(one.text if is_one_day or one.day == last else f"{one.day}: {one.text}")
        last = one.day
    return " ".join(parts)
