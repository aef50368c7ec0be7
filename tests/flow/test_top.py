"""`maas top` as an operator sees it: one frame, and live in a terminal of 80 columns."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import UUID, uuid4

import psycopg

from shared.postgres import EmbeddedPostgres
from tests.logins import login
from tests.polling import poll
from tests.programs import MAAS
from tests.stack import Stack, maas

CONTROLS = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


class Terminal:
    """A command in a terminal of 80 columns and 40 lines."""

    def __init__(self, *words: str, **environment: str) -> None:
        self._mine, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 80, 0, 0))
        self.process = subprocess.Popen(
            [MAAS, *words],
            env=os.environ | {"TERM": "xterm-256color"} | environment,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        os.set_blocking(self._mine, False)
        self._written = b""

    def shows(self, words: str) -> str:
        """The last frame, once it holds these words; nothing before."""
        frame = CONTROLS.sub("", self.raw().rpartition("\x1b[H")[2])
        return frame if words in frame else ""

    def raw(self) -> str:
        with suppress(OSError):
            self._written += os.read(self._mine, 1 << 20)
        return self._written.decode(errors="replace")

    def interrupt(self) -> int:
        """Ctrl-C; the exit status."""
        self.process.send_signal(signal.SIGINT)
        poll(lambda: self.raw() and self.process.poll() is not None)
        self.raw()
        return self.process.returncode

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._mine)


@contextmanager
def terminal(*words: str, **environment: str) -> Iterator[Terminal]:
    opened = Terminal(*words, **environment)
    try:
        yield opened
    finally:
        opened.close()


def test_one_frame(stack: Stack) -> None:
    stack.wait_archived(*(stack.ask(uuid4(), f"Number {n}.") for n in range(4)))
    poll(lambda: stack.rows("select from v_rates where completed > 0"))
    done = maas(stack, "top", "--once")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "inbox 0  waiting 0  runnable 0  in flight 0" in done.stdout
    rate = next(line.split() for line in lines if line.startswith("last 1 min"))
    assert float(rate[3]) > 0 and float(rate[4]) > 0
    answer = next(line.split() for line in lines if line.startswith("answer"))
    assert int(answer[1]) >= 4 and 0 < float(answer[2]) <= float(answer[3])
    orchestrator = stack.rows("select host, pid, owner from engines")[0]
    line = next(line.split() for line in lines if line.startswith(f"{orchestrator['host'][:24]}/{orchestrator['pid']}"))
    assert line[1] == str(orchestrator["owner"]) and line[2].endswith("/96") and line[-1] == "all"


def test_without_an_orchestrator(database: str, tmp_path: Path, user: UUID) -> None:
    """It says so and what to do; who waits, how long, and why."""
    with Stack(database, tmp_path) as idle:
        idle.rows("insert into pipeline_runs (user_id, user_query) select %s, 'hi' from generate_series(1, 3)", user)
        idle.rows("update pipeline_runs set created_at = now() - interval '3 h', updated_at = now() - interval '2 min'")
        frame = maas(idle, "top", "--once").stdout
    assert "no orchestrator is running" in frame and "make run" in frame
    assert f"inbox 3  waiting 0  runnable 0  in flight 0  oldest 3 h\n      of user {user}" in frame
    assert re.search(rf"^{user} +3 +3 h$", frame, re.MULTILINE)
    assert re.search(r"^3 +3 h +no orchestrator is running; start one: [0-9a-f-]{36}$", frame, re.MULTILINE)


def test_limits_and_schedules(database: str, tmp_path: Path, user: UUID) -> None:
    """Which models calls wait for, how long and why; schedules, and why some send nothing."""
    with Stack(database, tmp_path) as idle:
        quiet = maas(idle, "top", "--once").stdout
        assert "schedules" not in quiet and "limit reached" not in quiet
        idle.rows(
            "insert into model_limits (name, requests_until, tokens_until, blocked_until) values"
            " ('openai:free', now() + interval '5 s', now() - interval '1 h', default),"
            " ('openai:busy', now() + interval '100 s', now() + interval '40 s', default),"
            " ('openai:spent', default, now() + interval '3 min', default),"
            " ('gemini:blocked', default, default, now() + interval '10 min')"
        )
        for state in (
            "default, null, null",
            "default, now(), null",
            "now() - interval '5 min', null, 'queue_full: 10'",
        ):
            idle.rows(
                "insert into schedules (user_id, user_query, cron, timezone, next_at, paused_at, error)"
                f" values (%s, 'hi', '0 8 * * *', 'UTC', {state})",
                user,
            )
        frame = maas(idle, "top", "--once").stdout
    assert "schedules active 2  paused 1  overdue 1  failing 1\n      queue_full: 10" in frame
    waits = [re.split(" {2,}", line.strip()) for line in frame.splitlines() if re.match("(openai|gemini):", line)]
    assert [(name, cause) for name, _, cause in waits] == [
        ("gemini:blocked", "the provider asked for a pause"),
        ("openai:spent", "tokens a minute"),
        ("openai:busy", "requests a minute"),
    ]


def test_live_in_eighty_columns(stack: Stack) -> None:
    """Frame after frame, nothing cut, and Ctrl-C leaves the terminal as it was."""
    with terminal("top", "--interval", "0.1", DATABASE_URL=stack.dsn) as screen:
        frame = poll(lambda: screen.shows("stages"))
        assert all(len(line.rstrip()) <= 80 for line in frame.splitlines())
        assert "p95 ms" in frame and re.search(r"/\d+ .*/96 .* all", frame)
        first = screen.raw().count("in 5 min")
        poll(lambda: screen.raw().count("in 5 min") >= first + 3)
        assert screen.interrupt() == 0
        assert screen.raw().rstrip().endswith("\x1b[?1049l")
        assert "Traceback" not in screen.raw()


def test_live_without_a_database_keeps_trying(postgres: EmbeddedPostgres, template: str) -> None:
    """One clear line until there is a database; then the queue."""
    name = f"late_{uuid4().hex[:8]}"
    with (
        psycopg.connect(postgres.dsn, autocommit=True) as admin,
        terminal("top", "--interval", "0.1", DATABASE_URL=postgres.dsn.rpartition("/")[0] + f"/{name}") as screen,
    ):
        frame = poll(lambda: screen.shows("retrying"))
        assert "Postgres does not answer" in frame and name in frame and "Ctrl-C" in frame
        admin.execute(f"create database {name} template {template}".encode())
        try:
            poll(lambda: screen.shows("no orchestrator is running"))
            admin.execute(f"drop database {name} with (force)".encode())
            poll(lambda: screen.shows("retrying"))
            assert screen.interrupt() == 0
        finally:
            admin.execute(f"drop database if exists {name} with (force)".encode())


def test_a_pipe_gets_frame_after_frame(stack: Stack) -> None:
    with subprocess.Popen(
        [sys.executable, MAAS, "top", "--interval", "0.1"],
        env=os.environ | {"DATABASE_URL": stack.dsn},
        stdout=subprocess.PIPE,
        text=True,
    ) as command:
        assert command.stdout is not None
        heads = [line for line, _ in zip(command.stdout, range(60), strict=False) if line.startswith("MaaS")]
        assert len(heads) >= 2
        command.send_signal(signal.SIGINT)
        command.stdout.read()
        assert command.wait(10) == 0


def test_a_wrong_database_gets_one_line(stack: Stack) -> None:
    done = maas(stack, "top", "--once", DATABASE_URL="postgresql://nobody:secret99@127.0.0.1:1/x")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "secret99" not in done.stderr


def test_a_login_without_rights_reads_what_to_grant(stack: Stack) -> None:
    """Once, and the command ends: to try again changes nothing."""
    with login(stack.dsn, "maas_worker") as dsn:
        name = dsn.removeprefix("postgresql://").partition(":")[0]
        for words in (["top", "--once"], ["top", "--interval", "0.1"]):
            done = maas(stack, *words, DATABASE_URL=dsn)
            assert (done.returncode, done.stderr.count("\n"), done.stdout) == (1, 1, "")
            assert f"grant maas_ops to {name}" in done.stderr and "Traceback" not in done.stderr
        with terminal("top", "--interval", "0.1", DATABASE_URL=dsn) as screen:
            poll(lambda: screen.raw() and screen.process.poll() is not None)
            assert screen.process.returncode == 1
            assert screen.raw().count("grant maas_ops to") == 1
        stack.rows(f"grant maas_ops to {name}")
        assert "queue" in maas(stack, "top", "--once", DATABASE_URL=dsn).stdout
