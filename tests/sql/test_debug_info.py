"""Who gets debug layers: asked for in the run, allowed by the settings and by the user's row."""

from __future__ import annotations

from typing import Any, cast
from uuid import uuid4

import psycopg
import pytest
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from maas.engine.events import EventLog, RunEvents
from maas.engine.run import Run
from maas.runs.debug_info import open_debug_log
from maas.settings import load_settings
from shared.db import open_database
from tests.sql.engine import Engine

ASKED = {"debugLayers": True}


@pytest.mark.parametrize(
    ("settings", "is_admin", "metadata", "expected"),
    [
        ({}, False, ASKED, [1, 2, 3]),
        ({}, False, None, []),
        ({}, False, {"debugLayers": "true"}, []),
        ({"layer_logging": False}, True, ASKED, []),
        ({"environment": "production"}, False, ASKED, []),
        ({"environment": "production"}, True, None, []),
        ({"environment": "production"}, True, ASKED, [1, 2, 3]),
        ({"environment": "production"}, True, [1], []),
    ],
)
async def test_who_gets_layers(
    database: str,
    connection: psycopg.Connection[DictRow],
    settings: dict[str, Any],
    is_admin: bool,
    metadata: object,
    expected: list[int],
) -> None:
    user, run_id = uuid4(), uuid4()
    connection.execute("insert into app_users values (%s, %s), (%s, %s)", (user, is_admin, uuid4(), not is_admin))
    connection.execute(
        "insert into pipeline_runs (id, user_id, user_query, metadata) values (%s, %s, 'hello there', %s)",
        (run_id, user, None if metadata is None else Jsonb(metadata)),
    )
    (claimed,) = Engine(connection).claim()
    async with open_database(database, 2, "test") as db, RunEvents(EventLog(db), run_id, 1) as events:
        layers = await open_debug_log(db, load_settings(**settings), Run.from_row(cast(Any, claimed)), events.emit)
        await layers.info(3, "session")
    assert [one["layer"] for one in layers.all()] == expected
    rows = connection.execute(
        "select payload from run_events where type = 'layer' and run_id = %s", (run_id,)
    ).fetchall()
    assert [row["payload"] for row in rows] == layers.all()
