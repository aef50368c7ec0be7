"""Merged texts: the records that the Compactor merges, by day, and what is used of a model's reply."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from maas.builtin_model.day_texts import count_words, cut_words, join_days, split_days, undated
from maas.builtin_model.language import is_other_language, stems_of
from maas.builtin_model.summaries import merge_days
from shared.json import json_object
from shared.text import clean, one_line, shorten

WORDS_PER_MESSAGE = {1: 12, 2: 9, 3: 6}  # of a merged summary, by level
MIN_WORDS_PER_DAY = {1: 60, 2: 30, 3: 20}
MAX_WORDS = {1: 600, 2: 1200, 3: 1800}
MORE_WORDS = 2  # that a text of a day may share with another day than with its own
NOTHING = "…"  # the text of a day of which nothing is left
MAX_READ_CHARS_PER_WORD = 40  # of the limit: what a text has beyond that is not read
TOLERANCE = 1.1  # a reply that is longer by less is not asked for again


def word_limit(level: int, messages: int, days: int) -> int:
    """Return how many words a summary of this level may have that covers so many messages on so many days."""
    wanted = max(WORDS_PER_MESSAGE[level] * messages, MIN_WORDS_PER_DAY[level] * days)
    return min(wanted, MAX_WORDS[level])


def fields_of(names: Sequence[str]) -> dict[str, Any]:
    """Return the JSON schema of a reply with a text for each of these fields."""
    texts = {name: {"type": "string"} for name in names}
    return {
        "title": "Merged",
        "type": "object",
        "properties": texts,
        "required": list(texts),
        "additionalProperties": False,
    }


@dataclass(frozen=True)
class DayRecords:
    """The texts to be merged, each with its day as ISO date, oldest first."""

    lines: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, children: Iterable[tuple[str, str, str]], max_chars: int, min_chars: int) -> DayRecords:
        """Split the texts of summaries, each with its first and last day, by the days that they name.

        Where there are too many, some are left out, evenly over time.
        """
        lines: list[tuple[str, str]] = []
        last = ""
        for first, last, text in children:
            lead, days = split_days(one_line(text)) if first < last else (one_line(text), {})
            if not all(first <= day <= last for day in days):
                lead, days = one_line(text), {}
            lines += [(day, one) for day, one in ((last, lead), *days.items()) if one]
        lines = lines or [(last, NOTHING)]
        lines = sorted(lines, key=lambda line: line[0])[:: len(lines) * min_chars // max_chars + 1]
        size = max_chars // max(len(lines), 1)
        return cls(tuple((day, shorten(undated(text), size)) for day, text in lines))

    @cached_property
    def days(self) -> dict[str, str]:
        """The days, each with all its texts."""
        days: dict[str, str] = {}
        for day, text in self.lines:
            days[day] = f"{days[day]} {text}" if day in days else text
        return days

    @property
    def fields(self) -> list[str]:
        """The fields of a reply: the days, or `summary` where there is only one."""
        return list(self.days) if len(self.days) > 1 else ["summary"]

    @property
    def text(self) -> str:
        return " ".join(text for _, text in self.lines)

    def by_rule(self, limit: int) -> dict[str, str]:
        """Return what rules make of each day, in `limit` words together."""
        return merge_days([{"day": day, "text": text} for day, text in self.lines], limit)


@dataclass
class MergedReply:
    """Reads the replies to one request: too long a one is refused once, then cut evenly by day."""

    records: DayRecords
    limit: int
    _too_long: dict[str, str] | None = field(default=None, init=False)
    _lead: str = field(default="", init=False)

    def parse(self, reply: str) -> tuple[str, tuple[str, ...]]:
        """Return the text of a reply and the days that it leaves out, which keep the text that rules make of them.

        A text that is empty, in another language or about something else is none. Raises ValueError, which says what
        is missing or how much is too long.
        """
        try:
            lead, texts = self._read(reply)
        except ValueError:
            if self._too_long is None:
                raise
            lead, texts = self._lead, self._too_long
        count = count_words(lead) + sum(count_words(text) for text in texts.values())
        if count > self.limit * TOLERANCE and self._too_long is None:
            self._lead, self._too_long = lead, texts
            days = "shorten all days alike" if len(texts) > 1 else "shorten it"
            raise ValueError(f"too long by {count - self.limit} words: {days}, to {self.limit} words in all")
        left_out = tuple(day for day in self.records.days if day not in texts)
        if lead:  # prose that names no days may hold them all
            half = self.limit // 2
            texts = {} if len(self.records.days) == 1 else _fit(self._with_rules(texts, left_out), half)
            return f"{cut_words(lead, half if texts else self.limit)} {join_days(texts)}".strip(), left_out
        return join_days(_fit(self._with_rules(texts, left_out), self.limit)), left_out

    def _with_rules(self, texts: dict[str, str], left_out: Sequence[str]) -> dict[str, str]:
        if not left_out:
            return texts
        return texts | {day: self._by_rule[day] for day in left_out if day in self._by_rule}

    def _read(self, reply: str) -> tuple[str, dict[str, str]]:
        """Return the usable texts of a reply: one that names no days, and those of days."""
        body = json_object(reply)
        if body is None:
            raise ValueError("there is no JSON object")
        days = self.records.days
        most = self.limit * MAX_READ_CHARS_PER_WORD
        found = {name: one_line(clean(text[:most])) for name, text in body.items() if isinstance(text, str)}
        lead, texts = "", {day: text.removeprefix(f"{day}: ") for day, text in found.items() if day in days}
        if summary := found.get("summary", ""):
            if len(days) == 1:
                texts = dict.fromkeys(days, summary)
            else:
                lead, named = split_days(summary, list(days))
                texts = named | texts
        texts = {day: text for day, text in texts.items() if text and self._is_usable(text, day)}
        lead = lead if _is_about(lead, self.records.text) else ""
        if not texts and not lead:
            raise ValueError(f"there is no usable text: the fields are {', '.join(self.records.fields)}")
        return lead, texts

    def _is_usable(self, text: str, day: str) -> bool:
        """Whether a text may stand for a day, and not rather for another; that of rules always may."""
        if text == self._by_rule.get(day):
            return True
        stems = stems_of(text)
        shared = {one: len(stems & known) for one, known in self._stems_of_days.items()}
        return _is_about(text, self.records.days[day]) and max(shared.values()) <= shared[day] + MORE_WORDS

    @cached_property
    def _stems_of_days(self) -> dict[str, set[str]]:
        return {day: stems_of(text) for day, text in self.records.days.items()}

    @cached_property
    def _by_rule(self) -> dict[str, str]:
        return self.records.by_rule(self.limit)


def _fit(texts: dict[str, str], limit: int) -> dict[str, str]:
    """Return the texts of days in `limit` words together, each day cut to its sentences that say most."""
    if sum(count_words(text) for text in texts.values()) <= limit * TOLERANCE:
        return texts
    return merge_days([{"day": day, "text": undated(text)} for day, text in texts.items()], limit)


def _is_about(text: str, records: str) -> bool:
    """Return whether a text is in the language of the records and says something of what they say."""
    if not text or is_other_language(text, records):
        return False
    return not (own := stems_of(records)) or not own.isdisjoint(stems_of(text))
