"""A backup taken in the middle of work: it is restored elsewhere, and what was in flight is finished there."""

from __future__ import annotations

import signal
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
from tests.stack import Stack, maas

TABLES = """
    select table_name from information_schema.tables
    where table_schema = 'maas' and table_type = 'BASE TABLE' and table_name not in ('engine_metrics', 'schema_files')
"""


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
    stack: Stack, models: ModelServer, another: str, tmp_path: Path
) -> None:
    users = [uuid4() for _ in range(3)]
    running = [stack.start_server(), stack.start_orchestrator(**models.settings())]
    archived = [stack.ask(user, "My greyhound is called Comet.") for user in users]
    stack.wait_archived(*archived)
    models.hold("responder")
    asked = [stack.ask(user, "What is the greyhound called?") for user in users]
    waiting = stack.ask(users[0], "And how old is it?")
    poll(lambda: models.calls["responder"] == 6)

    file = tmp_path / "maas.dump"
    kept = maas(stack, "backup", str(file))
    assert kept.returncode == 0, kept.stderr
    assert file.stat().st_mode & 0o077 == 0, "for its owner's eyes only"
    for process in running:
        stack.stop(process, signal.SIGKILL)
    restored = maas(stack, "restore", str(file), DATABASE_URL=another)
    assert (restored.returncode, restored.stdout) == (0, "restored: users 3, requests 7, messages 10\n"), (
        restored.stderr
    )
    assert prepare_database(another) == ([], 0), "the restored database is of this version"
    models.release("responder")

    (tmp_path / "restored").mkdir()
    with Stack(another, tmp_path / "restored") as later:
        assert counts(later) == counts(stack)
        later.start_server()
        later.start_orchestrator(**models.settings())
        later.wait_archived(*asked, waiting)
        assert_answered_once(later, *archived, *asked, waiting)
        assert _found(later, users[1]) == ["My greyhound is called Comet."]
        assert later.answer(later.ask(users[1], "Is it fast?"))["status"] == "COMPLETED"


def test_a_new_server_takes_a_backup(stack: Stack, reachable_tmp: Path, tmp_path: Path, user: UUID) -> None:
    """It has none of our roles yet. A database that holds something, and a file that is none, change nothing."""
    history, file = tmp_path / "history.ndjson", tmp_path / "maas.dump"
    history.write_text('{"role": "user", "content": "My greyhound is called Comet."}\n')
    assert maas(stack, "import", str(history), "--user", str(user)).returncode == 0
    assert maas(stack, "backup", str(file)).returncode == 0
    again = maas(stack, "restore", str(file))
    assert again.returncode == 1 and "this database holds MaaS already" in again.stderr
    new = {"DATABASE_URL": "", "MAAS_DATA_DIR": str(reachable_tmp / "new")}
    wrong = maas(stack, "restore", str(history), **new)
    assert wrong.returncode == 1 and "does not appear to be a valid archive" in wrong.stderr
    done = maas(stack, "restore", str(file), **new)
    assert (done.returncode, done.stdout) == (0, "restored: users 1, requests 1, messages 1\n"), done.stderr
    assert "greyhound" in maas(stack, "search", "greyhound", "--user", str(user), **new).stdout
    assert maas(stack, "migrate", **new).stdout == "up to date\n"
    missing = maas(stack, "backup", str(tmp_path / "no" / "maas.dump"))
    assert missing.returncode == 1 and "cannot be written" in missing.stderr
    assert sorted(path.name for path in tmp_path.iterdir() if path.suffix == ".dump") == ["maas.dump"]


def _found(stack: Stack, user: UUID) -> list[str]:
    body = {"user_id": str(user), "query": "Comet", "limit": 1}
    return [one["memory"] for one in stack.client.post("/v1/memories/search", json=body).json()["results"]]
