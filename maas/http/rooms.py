"""What every handler may reach: the database, settings, submissions, changes, followers, traffic, rates, vectors."""

from __future__ import annotations

from asyncio import Semaphore
from dataclasses import dataclass, field
from functools import partial

from starlette.requests import Request

from maas.http.callers import Gate
from maas.http.changes import Changes
from maas.http.followers import Followers
from maas.http.rates import Rates
from maas.http.traffic import Traffic
from maas.memory.intake import AT_ONCE as IMPORTS_AT_ONCE
from maas.pipeline.following import Following
from maas.pipeline.submissions import Submissions
from shared.db import Database
from shared.models.questions import Questions
from shared.settings import Settings

BODIES_AT_ONCE = 8  # of imports, until they are taken in: each may take 64 MiB of the disk
IMAGES_AT_ONCE = 1


@dataclass(frozen=True, slots=True)
class Rooms:
    """The parts behind the doors.

    `receiving` and `importing` are places for bodies of imports and for imports, `uploading` for images in memory.
    """

    db: Database
    settings: Settings
    gate: Gate
    submissions: Submissions
    changes: Changes
    following: Following
    traffic: Traffic
    rates: Rates
    followers: Followers
    questions: Questions | None = None
    receiving: Semaphore = field(default_factory=partial(Semaphore, BODIES_AT_ONCE))
    importing: Semaphore = field(default_factory=partial(Semaphore, IMPORTS_AT_ONCE))
    uploading: Semaphore = field(default_factory=partial(Semaphore, IMAGES_AT_ONCE))


def rooms(request: Request) -> Rooms:
    """The parts that this application was opened with."""
    found = request.app.state.rooms
    assert isinstance(found, Rooms)
    return found
