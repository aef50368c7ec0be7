"""What every handler may reach: the database, settings, submissions, changes, followers, traffic, rates, vectors."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import Request

from maas.http.callers import Gate
from maas.http.changes import Changes
from maas.http.rates import Rates
from maas.http.traffic import Traffic
from maas.pipeline.following import Following
from maas.pipeline.submissions import Submissions
from shared.db import Database
from shared.models.questions import Questions
from shared.settings import Settings


@dataclass(frozen=True, slots=True)
class Rooms:
    """The parts behind the doors."""

    db: Database
    settings: Settings
    gate: Gate
    submissions: Submissions
    changes: Changes
    following: Following
    traffic: Traffic
    rates: Rates
    questions: Questions | None = None


def rooms(request: Request) -> Rooms:
    """The parts that this application was opened with."""
    found = request.app.state.rooms
    assert isinstance(found, Rooms)
    return found
