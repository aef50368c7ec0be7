"""PgBouncer between us and Postgres: where it can be worked with, and what is said where it cannot."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import pytest

from tests.databases import is_answering
from tests.polling import poll
from tests.stack import Stack, free_port

PROGRAM = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
Pool = Callable[[str], str]

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="PgBouncer is not installed (Debian: apt install pgbouncer)")


@pytest.fixture
def pool(database: str, reachable_tmp: Path) -> Iterator[Pool]:
    """Starts PgBouncer in a mode; the address of `database` through it."""
    parts = urlsplit(database)
    folder = reachable_tmp / f"pgbouncer-{uuid4().hex[:8]}"
    folder.mkdir(mode=0o755)
    running: list[subprocess.Popen[bytes]] = []

    def start(mode: str) -> str:
        port = free_port()
        (folder / "users").write_text(f'"{parts.username}" "{parts.password}"\n')
        (folder / "ini").write_text(
            f"[databases]\n* = host={parts.hostname} port={parts.port}\n[pgbouncer]\n"
            f"listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = scram-sha-256\n"
            f"auth_file = {folder / 'users'}\npool_mode = {mode}\n{_forget()}"
        )
        user = ["-u", "nobody"] if os.geteuid() == 0 else []
        with (folder / "log").open("wb") as log:
            running.append(subprocess.Popen([str(PROGRAM), *user, str(folder / "ini")], stdout=log, stderr=log))
        pooled = parts._replace(netloc=parts.netloc.replace(f":{parts.port}", f":{port}")).geturl()
        poll(lambda: running[0].poll() is not None or is_answering(pooled), what="PgBouncer answers")
        assert running[0].poll() is None, (folder / "log").read_text()
        return pooled

    yield start
    for process in running:
        process.terminate()
        process.wait(10)


def _forget() -> str:
    """What makes a version forget prepared statements that would keep them."""
    said = subprocess.run([str(PROGRAM), "--version"], capture_output=True, text=True, check=True).stdout
    minor = int(said.split()[1].split(".")[1])
    return "max_prepared_statements = 0\n" if minor >= 21 else ""


def test_sessions_may_be_pooled_those_that_listen_too(pool: Pool, database: str, tmp_path: Path) -> None:
    with Stack(database, tmp_path, DATABASE_URL=pool("session")) as stack:
        stack.start_server()
        stack.start_orchestrator()
        run = stack.ask(uuid4(), "My cat is called Tom.")
        assert stack.answer(run)["status"] == "COMPLETED"
        assert "listen_unavailable" not in stack.log()


@pytest.mark.parametrize(
    ("mode", "causes"), [("transaction", ["forgets"]), ("statement", ["forgets", "refuses transactions"])]
)
def test_who_cannot_work_behind_a_pooler_says_so_and_ends(
    mode: str, causes: list[str], pool: Pool, database: str, tmp_path: Path
) -> None:
    with Stack(database, tmp_path, DATABASE_URL=pool(mode), LISTEN_DATABASE_URL=database) as stack:
        for program in ("main.py", "server.py"):
            process = stack.launch(program)
            assert process.wait(20) == 1
            words = stack.last_words(process)
            assert words.startswith("maas: the pooler before Postgres"), words
            assert any(cause in words for cause in causes), words
            assert len(words.splitlines()) == 1
