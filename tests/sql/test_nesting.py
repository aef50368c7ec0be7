"""JSON of others is at most 100 levels deep, whatever way it comes."""

from __future__ import annotations

from uuid import uuid4

import psycopg
import pytest
from psycopg import errors
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb
from pydantic import ValidationError

from maas.http.run_schemas import NewRun
from shared.json import MAX_JSON_DEPTH, is_storable

Connection = psycopg.Connection[DictRow]
DEEPER = (MAX_JSON_DEPTH + 1, 900)


def nested(levels: int) -> dict[str, object]:
    value: object = "x"
    for _ in range(levels - 1):
        value = [value]
    return {"a": value}


@pytest.mark.parametrize("levels", DEEPER)
def test_deeper_metadata_is_refused_over_http(levels: int) -> None:
    run = {"user_id": str(uuid4()), "query": "hello"}
    with pytest.raises(ValidationError, match="must not be nested deeper than 100 levels"):
        NewRun.model_validate(run | {"metadata": nested(levels)})
    assert not is_storable(nested(levels))
    kept = NewRun.model_validate(run | {"metadata": nested(MAX_JSON_DEPTH)})
    assert kept.metadata == nested(MAX_JSON_DEPTH)


@pytest.mark.parametrize("levels", DEEPER)
def test_deeper_metadata_is_refused_by_an_insert(connection: Connection, levels: int) -> None:
    def insert(levels: int) -> None:
        connection.execute(
            "insert into pipeline_runs (user_id, user_query, metadata) values (%s, 'hello', %s)",
            (uuid4(), Jsonb(nested(levels))),
        )

    with pytest.raises(errors.CheckViolation, match="metadata_exceeds_100_levels"):
        insert(levels)
    insert(MAX_JSON_DEPTH)


@pytest.mark.parametrize(
    ("table", "column"),
    [
        ("raw_logs", "metadata"),
        ("chat_pending_actions", "tool_args"),
        ("assistants", "definition"),
        ("tools", "parameters"),
        ("task_steps", "arguments"),
    ],
)
def test_every_table_that_keeps_json_of_others_is_bound(connection: Connection, table: str, column: str) -> None:
    found = connection.execute(
        "select from pg_constraint where conrelid = %s::regclass and conname like %s",
        (table, f"{column}_exceed%_100_levels"),
    ).fetchall()
    assert len(found) == 1
