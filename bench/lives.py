"""Invented lives: what somebody says in the course of a year, and questions about it whose truth is known.

Everything follows from a seed. Half of the sentences are such that no rule knows them.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

TEXTS = Path(__file__).parent / "data" / "lives.json"
YEAR = 2025
QUESTIONS = 40
CHATTER = 40
Kind = Literal["deletion", "tracking", "cascade", "absence", "time", "names", "others", "negation"]
KINDS: tuple[Kind, ...] = ("deletion", "tracking", "cascade", "absence", "time", "names", "others", "negation")


@dataclass(frozen=True, slots=True)
class Said:
    """A message of the person; `is_forgotten`: it is deleted at the end of the year."""

    at: datetime
    text: str
    is_forgotten: bool = False


@dataclass(frozen=True, slots=True)
class Asked:
    """A question at the end of the year, or about an earlier day.

    A context is right if it holds `shows` or one of `beside`, other forms of it; if it holds none of `hides`; and if
    every line with one of `past` says that this is past. `is_absent`: nothing was said of it.
    """

    kind: Kind
    text: str
    shows: str = ""
    beside: tuple[str, ...] = ()
    hides: tuple[str, ...] = ()
    past: tuple[str, ...] = ()
    is_absent: bool = False


@dataclass(slots=True)
class Life:
    """A person, what they said in a year, and what is asked then."""

    name: str
    language: str
    said: list[Said] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)


def make_lives(count: int, seed: int) -> list[Life]:
    """So many lives, English and Russian in turn."""
    texts = json.loads(TEXTS.read_text(encoding="utf-8"))
    languages = list(texts)
    return [
        _Maker(texts[language], Life(f"{language}-{number}", language), random.Random(f"{seed}-{number}")).make()
        for number in range(count)
        for language in [languages[number % len(languages)]]
    ]


class _Maker:
    def __init__(self, texts: Mapping[str, Any], life: Life, draw: random.Random) -> None:
        self._texts, self._life, self._draw = texts, life, draw
        self._pools = {name: draw.sample(texts[name], len(texts[name])) for name in ("names", "cities", "firms")}

    def make(self) -> Life:
        self._homes_and_work()
        self._people()
        self._tastes()
        self._secrets()
        for _ in range(CHATTER):
            self._say("chatter", self._draw.randrange(360))
        for absent in self._draw.sample(self._texts["ask"]["absent"], 6):
            self._life.asked.append(Asked("absence", absent, is_absent=True))
        self._life.said.sort(key=lambda one: one.at)
        del self._life.asked[QUESTIONS:]
        return self._life

    def _homes_and_work(self) -> None:
        for place, said, moved, pool in (("home", "home", "moved", "cities"), ("work", "work", "new_work", "firms")):
            values = [self._forms(self._pools[pool].pop()) for _ in range(3)]
            key = "city" if place == "home" else "firm"
            days = [self._draw.randrange(5, 20), self._draw.randrange(110, 125), self._draw.randrange(230, 245)]
            neighbour = "neighbour" if place == "home" else "boss"
            name = self._pools["names"].pop()
            self._say(neighbour, days[0] + 20, name=name)
            for number, (value, day) in enumerate(zip(values, days, strict=True)):
                self._say(said if number == 0 else moved, day, **{key: value[0], f"{key}_to": value[1]})
            past = tuple(form for value in values[:2] for form in value)
            now = Asked("tracking", "", values[2][0], (values[2][1],), past=past)
            for question in self._texts["ask"][place]:
                self._ask(now, question)
            months = ((1, 3), (5, 7), (9, 11))
            for value, (first, last) in zip(values, months, strict=True):
                month = self._texts["months"][self._draw.randint(first, last)]
                for question in self._texts["ask"][f"{place}_in"][: 2 if place == "home" else 1]:
                    self._ask(Asked("time", "", value[0], (value[1],)), question, month=month)
            for question in self._texts["ask"][neighbour]:
                self._ask(Asked("cascade", "", name, past=(name,)), question)

    def _people(self) -> None:
        name, (mine, theirs) = self._pools["names"].pop(), self._draw.sample(self._texts["instruments"], 2)
        self._say("sister", 40, name=name, instrument=mine)
        self._say("friend", 60, name=name, instrument=theirs)
        self._ask(Asked("names", "", mine), self._texts["ask"]["sister"][0], name=name)
        self._ask(Asked("names", "", theirs), self._texts["ask"]["friend"][0], name=name)
        for _ in range(2):
            other = self._pools["names"].pop()
            before, after = (self._forms(self._pools["cities"].pop()) for _ in range(2))
            self._say("other_home", 70, name=other, city=before[0])
            self._say("other_moved", 160, name=other, city=after[0], city_to=after[1])
            for question in self._texts["ask"]["other"]:
                self._ask(Asked("others", "", after[1], (after[0],), past=before), question, name=other)
        pet = self._draw.choice(self._texts["pets"])
        self._say("pet", 30, pet=pet)
        self._ask(Asked("tracking", "", pet), self._texts["ask"]["pet"][0])

    def _tastes(self) -> None:
        for number, thing in enumerate(self._draw.sample(self._texts["things"], 3)):
            self._say("likes", 50 + number, thing=thing)
            self._say("likes_no_more", 200 + number, thing=thing)
            over = [text.format(thing=thing).rstrip(".") for text in self._texts["likes_no_more"]]
            for question in self._texts["ask"]["likes"][: 2 if number else 1]:
                self._ask(Asked("tracking", "", over[0], tuple(over[1:])), question, thing=thing)
        for food in self._draw.sample(self._texts["foods"], 2):
            self._say("negation", 15, food=food)
            never = [text.format(food=food).rstrip(".") for text in self._texts["negation"]]
            for question in self._texts["ask"]["negation"]:
                self._ask(Asked("negation", "", never[0], tuple(never[1:])), question, food=food)

    def _secrets(self) -> None:
        code = f"{self._draw.randrange(1000, 9999)}-{self._draw.randrange(100, 999)}"
        self._say("secret", 90, code=code)
        self._life.said[-1] = Said(self._life.said[-1].at, self._life.said[-1].text, is_forgotten=True)
        for question in self._texts["ask"]["secret"]:
            self._ask(Asked("deletion", "", hides=(code,)), question)

    def _say(self, kind: str, day: int, **values: str) -> None:
        at = datetime(YEAR, 1, 1, 9, tzinfo=UTC) + timedelta(days=day, minutes=self._draw.randrange(600))
        self._life.said.append(Said(at, self._draw.choice(self._texts[kind]).format(**values)))

    def _ask(self, asked: Asked, question: str, **values: str) -> None:
        fields = {name: getattr(asked, name) for name in asked.__dataclass_fields__}
        self._life.asked.append(Asked(**fields | {"text": question.format(**values)}))

    def _forms(self, value: str) -> tuple[str, str]:
        """The form of a place for being there, and that for going there; in English they are one."""
        there, _, going = value.partition("|")
        return there, going or there


def is_right(asked: Asked, lines: Sequence[str], found: bool, past_marks: Sequence[str]) -> bool:
    """Whether the lines of a context hold the truth about a question; `found` is what the search says of itself."""
    if asked.is_absent:
        return not found
    if any(hidden in line for hidden in asked.hides for line in lines):
        return False
    wanted = (asked.shows, *asked.beside) if asked.shows else ()
    if wanted and not any(one in line for one in wanted for line in lines):
        return False
    old = [line for line in lines if any(one in line for one in asked.past)]
    return all(any(mark in line for mark in past_marks) for line in old)
