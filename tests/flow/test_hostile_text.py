"""What commands print of stored text: nothing of it steers a terminal, is taken for markup or ends a line."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID, uuid4

import psycopg
import pytest
import structlog
from psycopg.types.json import Json
from typer.testing import CliRunner

from maas.cli.chat import describe_call
from maas.cli.run_printer import RunPrinter
from maas.runs.event_stream import Cursor, Event
from main import commands
from shared import log
from tests.stack import ROOT, Stack

HOSTILE = "zanzibar \x1b]0;owned\x07\x1b[2J\x9b31m\u202egnp\u2066\u061c [red]loud[/red] :boom: \r\x08\x7f\u2028 end"
STEERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f]")
POISONED = {
    "raw_logs": ("content", "speaker"),
    "lsm_storage": ("summary",),
    "llm_calls": ("model", "error", "reply"),
    "engines": ("host",),
    "api_keys": ("name", "prefix"),
    "system_prompts_history": ("prompt_template",),
    "chat_conversations": ("title",),
    "pipeline_runs": ("user_query", "final_answer", "error_message"),
}
KEY = "insert into api_keys (id, name, secret_hash, scopes) values (%s, 'x', sha256('x'), '{read}')"
TOOL = """insert into tools (name, domain, description, parameters, effect, version, is_idempotent)
    values (%s, %s, %s, %s, 'read', '1', true)"""


@pytest.fixture(scope="module")
def run(stack: Stack) -> UUID:
    """A run whose texts, and those around it, are hostile; asking for them again quotes them."""
    user = uuid4()
    run = stack.ask(user, "My parrot lives on Zanzibar.")
    stack.wait_archived(run)
    stack.rows(KEY, "0" * 12)
    with psycopg.connect(stack.dsn) as connection:
        connection.execute("set session_replication_role = replica")
        for table, columns in POISONED.items():
            for column in columns:
                connection.execute(f"update {table} set {column} = %s".encode(), (HOSTILE,))
        parameters = {"properties": {HOSTILE: {}}, "required": []}
        connection.execute(TOOL, (HOSTILE[:60], HOSTILE, HOSTILE, Json(parameters)))
    return run


@pytest.fixture
def maas(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> Iterator[CliRunner]:
    """Commands in this process."""
    monkeypatch.setenv("DATABASE_URL", stack.dsn)
    monkeypatch.chdir(stack.folder)
    yield CliRunner()
    structlog.reset_defaults()


@pytest.mark.parametrize(
    "words",
    [
        "search zanzibar --user USER",
        "runs",
        "trace RUN",
        "trace RUN --prompts",
        "trace RUN --json",
        "tools",
        "tools --json",
        "keys list",
        "top --once",
        "doctor",
        "export USER",
        "ask zanzibar? --user USER",
        "chat --user USER",
        "replay RUN",
        "replay RUN --json",
    ],
)
def test_nothing_stored_steers_the_terminal(stack: Stack, run: UUID, maas: CliRunner, words: str) -> None:
    user = str(stack.rows("select user_id from pipeline_runs where id = %s", run)[0]["user_id"])
    asked = [word.replace("RUN", str(run)).replace("USER", user) for word in words.split()]
    done = maas.invoke(commands(), asked, input="What of zanzibar?\n/status\n")
    printed = done.stdout + done.stderr
    assert not isinstance(done.exception, Exception), done.exception
    assert not STEERS.search(printed), ascii(printed)
    assert re.search(r"\\(x1b|u001b|x9b|u009b)", printed), "nothing hostile was printed, so nothing is proved"
    if "--json" in words:
        json.loads(done.stdout)
    if words.startswith("export"):
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        assert HOSTILE in [line.get("content") for line in lines]
    if words.startswith(("search", "ask")):
        assert "[red]loud[/red] :boom:" in printed


def test_a_sequence_in_two_chunks_and_hostile_events(capsys: pytest.CaptureFixture[str]) -> None:
    screen = RunPrinter()
    for kind, data in (
        ("text", {"attempt": "1", "delta": "a\x1b"}),
        ("text", {"attempt": "1", "delta": "[2Jb\n\tc\n"}),
        ("tool_start", {"tool": HOSTILE}),
        ("tool_result", {"tool": HOSTILE, "error_code": HOSTILE}),
        ("buttons", {"buttons": [{"id": "1", "label": f"yes\n{HOSTILE}"}]}),
        ("error", {"message": HOSTILE}),
        ("sticker", {"attachment_id": HOSTILE}),
        ("done", {"final_answer": HOSTILE}),
    ):
        screen.show(Event(Cursor(), kind, json.dumps(data)))
    printed = capsys.readouterr().out
    assert not STEERS.search(printed)
    assert printed.startswith("a\\x1b[2Jb\n\tc\n· ") and "· /1 yes\\n" in printed


def test_a_call_that_waits_for_a_word_is_one_line() -> None:
    asked = {"reason": f"x\napprove? {HOSTILE}", "tool": HOSTILE, "arguments": {"to\n": HOSTILE, "n": [HOSTILE]}}
    line = describe_call(asked)
    assert not STEERS.search(line) and "\n" not in line
    assert json.loads(line[line.index('{"to') :]) == asked["arguments"]


@pytest.mark.parametrize("form", ["console", "json"])
def test_lines_of_the_log(capsys: pytest.CaptureFixture[str], form: str) -> None:
    log.configure("info", form)
    try:
        try:
            raise ValueError(HOSTILE)
        except ValueError:
            structlog.get_logger().exception("failed", cause=f"a\n{HOSTILE}", more={"a": HOSTILE})
    finally:
        structlog.reset_defaults()
    printed = capsys.readouterr().err
    assert not STEERS.search(printed) and "zanzibar" in printed
    assert form == "console" or json.loads(printed)["cause"] == f"a\n{HOSTILE}"


def test_commands_print_in_one_place() -> None:
    """Whoever prints past it forgets what stored text can hold."""
    for path in sorted((ROOT / "maas" / "cli").rglob("*.py")):
        if path != ROOT / "maas" / "cli" / "output.py":
            assert not list(past(path)), f"{path.name} prints, or makes text for rich, past maas.terminal.output"


def past(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module in ("rich", "rich.text", "rich.table", "rich.markup"):
            yield node.module
        if isinstance(node, ast.alias) and node.name in ("Console", "Text", "echo", "secho"):
            yield node.name
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called in ("print", "typer.echo", "typer.secho", "console.print", "errors.print", "sys.stdout.write"):
                yield called
