"""A run as its followers see it: what it said and how its status changed, in one order, from any place on.

A place is `try.rank.n`, the id of an event, and stands for all that was told up to it: of this try the first `rank`
statuses, in the order of `Status` (9: the end, too), and the stored events up to number `n`. So no status needs a row
of its own, it is told from the timestamps of the run, and each place is greater than the one before. A place of an
earlier try goes on where the present one began.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from heapq import merge
from typing import Any, Self
from uuid import UUID

from maas.pipeline.events import EventType
from maas.pipeline.states import TERMINAL, Status
from shared.db import Database
from shared.group_commit import GroupCommit

PAGE = 100
END = len(Status) + 1
TYPES = [str(kind) for kind in EventType]
_PLACE = re.compile(r"(\d{1,9})\.(\d)\.(\d{1,9})", re.ASCII)


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """How far a follower has come; the start by default."""

    number: int = 0
    rank: int = 0
    n: int = 0

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises ValueError for what is no place."""
        if not (found := _PLACE.fullmatch(text)):
            raise ValueError("must be the id of an event of this run, such as 1.6.12")
        return cls(*map(int, found.groups()))

    def __str__(self) -> str:
        return f"{self.number}.{self.rank}.{self.n}"


@dataclass(frozen=True, slots=True)
class Told:
    """One event; `data` is JSON on one line."""

    place: Place
    type: str
    data: str


@dataclass(frozen=True, slots=True)
class Glance:
    """What is new. `has_more`: the next page is there already; `is_over`: nothing comes any more."""

    place: Place
    events: tuple[Told, ...]
    has_more: bool = False
    is_over: bool = False


class Following:
    """Reads runs for those who follow them; who looks at one moment looks in one statement."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._looks: GroupCommit[tuple[UUID, Place], Glance | None] = GroupCommit(self._look)

    async def look(self, run_id: UUID, place: Place) -> Glance | None:
        """What comes after `place`, at most a page of it; None when there is no such run."""
        return await self._looks.submit((run_id, place))

    async def _look(self, items: list[tuple[UUID, Place]]) -> list[Glance | None]:
        places = [place for _, place in items]
        rows = await self._db.rows(
            "follow_runs", [run_id for run_id, _ in items], [place.number for place in places],
            [place.n for place in places], TYPES, PAGE,
        )  # fmt: skip
        found = {row["place"]: row for row in rows}
        return [tell(row, place) if (row := found.get(i)) else None for i, place in enumerate(places, 1)]


def tell(row: Mapping[str, Any], place: Place) -> Glance:
    """What a row of `follow_runs` holds for a follower at `place`."""
    if place.number < row["try"]:
        place = Place(row["try"], 0, place.n)
    if place.rank >= END:
        return Glance(place, (), is_over=True)
    statuses = [
        (at, rank, _status(status, at))
        for rank, (status, at) in enumerate(zip(Status, row["times"], strict=True), 1)
        if at is not None and rank > place.rank
    ]
    said = [
        (at, n, kind, payload)
        for at, n, kind, payload in zip(*(row[name] or () for name in _COLUMNS), strict=True)
    ]  # fmt: skip
    has_more = len(said) == PAGE
    told: list[Told] = []
    for one in merge(statuses, said, key=_moment):
        if len(one) == 3:
            place = replace(place, rank=one[1])
            told.append(Told(place, "status", one[2]))
        else:
            place = replace(place, n=one[1])
            told.append(Told(place, one[2], one[3]))
    while has_more and told[-1].type == "status":
        told.pop()  # the next page may hold what was said before it
    if is_over := not has_more and Status(row["status"]) in TERMINAL:
        told.append(_end(row, replace(place, rank=END)))
    return Glance(told[-1].place if told else place, tuple(told), has_more, is_over)


_COLUMNS = ("moments", "numbers", "types", "payloads")


def _moment(one: tuple[Any, ...]) -> datetime:
    moment: datetime = one[0]
    return moment


def _status(status: Status, at: datetime) -> str:
    return _json({"status": status, "at": at.isoformat()})


def _end(row: Mapping[str, Any], place: Place) -> Told:
    if row["status"] == Status.COMPLETED:
        return Told(place, "done", _json({"final_answer": row["final_answer"]}))
    return Told(place, "error", _json({"code": row["error_code"], "message": row["error_message"]}))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
