"""The time zone of a user: who sets it, and what is read in it."""

from __future__ import annotations

from datetime import UTC, date, datetime
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.rows import DictRow

from maas.builtin_model import BuiltinModel
from maas.engine.drafts import Payload
from maas.engine.run import Run
from maas.engine.stages import Deps, RoleModels
from maas.engine.states import Status
from maas.prompting.distances import with_distances
from maas.prompting.now import in_zone_of, now_of, today_of
from maas.settings import load_settings
from shared import tokens
from shared.db import Database

Connection = psycopg.Connection[DictRow]
EVENING = datetime(2026, 11, 24, 19, 40, tzinfo=UTC)


def deps_of(db: Database, payload_tokens: int = 8000) -> Deps:
    model = BuiltinModel()
    settings = load_settings(timezone="UTC", payload_tokens=payload_tokens, prompt_language="en")
    return Deps(db, settings, RoleModels({"FinalResponder": model}, model))


def run_of(user: UUID) -> Run:
    return Run(uuid4(), 1, 1, "ask", Status.RESPONDING, user, "Who?", "mentor", None, EVENING)


async def test_the_zone_of_the_profile_goes_before_that_of_the_settings(db: Database, connection: Connection) -> None:
    deps, somebody, anybody = deps_of(db), uuid4(), uuid4()
    connection.execute("select maas_set_timezone(%s, 'Asia/Tokyo')", (somebody,))
    assert [await today_of(run_of(one), deps) for one in (somebody, anybody)] == [
        date(2026, 11, 25),
        date(2026, 11, 24),
    ]
    assert (await now_of(run_of(somebody), deps)).endswith("the time is 04:40 (Asia/Tokyo).")
    assert (await in_zone_of(run_of(somebody), deps)).settings.engine.timezone == "Asia/Tokyo"
    assert await in_zone_of(run_of(anybody), deps) is deps
    connection.execute("select maas_set_timezone(%s, null)", (somebody,))
    assert await today_of(run_of(somebody), deps) == date(2026, 11, 24)


@pytest.mark.parametrize("name", ["Mars/Olympus", "", "'; drop table", "UTC+25"])
def test_only_a_zone_that_exists_is_stored(connection: Connection, name: str) -> None:
    with pytest.raises(psycopg.errors.InvalidParameterValue):
        connection.execute("select maas_set_timezone(%s, %s)", (uuid4(), name))


async def test_distances_never_pass_the_limit_of_the_payload(db: Database) -> None:
    deps, run = deps_of(db, 600), run_of(uuid4())
    few = Payload("A role.", "- [2026-11-03] Ann: Hello.", "Who?")
    assert (await with_distances(few, run, deps)).memory == "- [2026-11-03 (3 weeks ago)] Ann: Hello."
    many = Payload("A role.", "\n".join([few.memory] * 35), "Who?")
    assert 450 < tokens.count(many.render()) <= 600
    assert await with_distances(many, run, deps) == many
