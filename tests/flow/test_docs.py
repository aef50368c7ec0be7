"""What the documents show is what happens: their commands and queries are run, their output compared."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import cast
from uuid import UUID, uuid4

import psycopg
import pytest

from maas.agents.definition import read_definition
from maas.assistants.registry import load_openers, load_tools
from maas.engine.stages import Deps
from maas.memory.ranking import WEIGHTS
from maas.settings import load_settings
from maas.terminal.invocation import LOCAL_USER
from maas.tools.mcp_client.naming import names_without_prefix
from maas.tools.mcp_client.servers import read_servers
from maas.tools.tool import Toolset
from tests.aimock import FOLDER, missing
from tests.polling import poll
from tests.stack import Stack

ROOT = Path(__file__).resolve().parents[2]
SQL_BLOCK = re.compile(r"```sql\n(.*?)```", re.DOTALL)
SCORE = re.compile(r"\b0\\\.\d\d")


def transcript(name: str) -> Iterator[tuple[str, str]]:
    """The commands of a document, each with the output that it shows."""
    for block in re.findall(r"```console\n(.*?)```", (ROOT / name).read_text(), re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            yield command, output


def for_user(command: str, user: UUID) -> str:
    """The same command about somebody else's memory."""
    return re.sub(r"^maas (?:import|ask|search) ", rf"\g<0>--user {user} ", command.replace(LOCAL_USER, str(user)))


TRANSCRIPTS = ["README.md", "docs/index.md", "docs/memory.md", "docs/openai.md", "examples/README.md"]


@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_transcripts(stack: Stack, user: UUID, name: str) -> None:
    """Word for word; … stands for what is different each time, and for the id that was shown last."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    last = ""
    for command, shown in transcript(name):
        command = command.replace("127.0.0.1:8000", f"127.0.0.1:{stack.port}").replace("…", last)
        if name != "README.md":  # that one shows what a newcomer sees
            command, shown = for_user(command, user), shown.replace(LOCAL_USER, str(user))
        done = subprocess.run(
            command,
            shell=True,
            cwd=ROOT,
            env=os.environ | {"PATH": path, "DATABASE_URL": stack.dsn, "MAAS_URL": str(stack.client.base_url)},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        output = "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())
        pattern = ".*?".join(re.escape(piece) for piece in shown.split("…"))
        pattern = SCORE.sub(r"0\\.\\d\\d", pattern)  # scores follow the weights, the order is what is promised
        assert re.fullmatch(pattern, output, re.DOTALL), f"{command}\nshown:\n{shown}\nprinted:\n{output}"
        if found := re.search(r'(?:"request_id":"|^run )([0-9a-f-]{36})', output + done.stderr, re.MULTILINE):
            last = found[1]


def test_programs_of_the_documents_run(stack: Stack) -> None:
    """One after the other; what one tells, the next recalls."""
    if reason := missing():
        pytest.skip(reason)
    page = (ROOT / "docs/openai.md").read_text()
    programs = re.findall(r"```(python|js)\n(.*?)```\n\n```text\n(.*?)```", page, re.DOTALL)
    assert [language for language, _, _ in programs] == ["python", "js", "js"]
    runners = {"python": (sys.executable, "-c"), "js": ("node", "--input-type=module", "-e")}
    for language, program, shown in programs:
        program = program.replace("127.0.0.1:8000", f"127.0.0.1:{stack.port}")
        done = subprocess.run(
            [*runners[language], program], cwd=FOLDER, capture_output=True, text=True, timeout=60, check=False
        )
        pattern = ".*?".join(map(re.escape, shown.rstrip().split("…")))
        assert re.fullmatch(pattern, done.stdout.rstrip(), re.DOTALL), f"{done.stdout}\n{done.stderr}"


def test_the_python_program_of_the_first_page_prints_what_it_shows(stack: Stack) -> None:
    """Also when the same was asked before: a person's own question is no answer to it."""
    ((program, shown),) = re.findall(
        r"```python\n(.*?)```\n\n```text\n(.*?)```", (ROOT / "docs/index.md").read_text(), re.DOTALL
    )
    program = program.replace("MaaS()", f"MaaS('http://127.0.0.1:{stack.port}')").replace("ann@", f"{uuid4()}@")
    pattern = ".*?".join(map(re.escape, shown.rstrip().split("…")))
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
        )
        assert re.fullmatch(pattern, done.stdout.rstrip(), re.DOTALL), f"{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize(
    "name",
    [
        "docs/index.md",
        "docs/sql.md",
        "docs/operations.md",
        "docs/memory.md",
        "docs/assistants.md",
        "docs/access.md",
        "docs/sign-in.md",
    ],
)
def test_queries_of_the_documents_run(stack: Stack, name: str) -> None:
    """Each statement is tried in a transaction that is rolled back."""
    blocks = SQL_BLOCK.findall((ROOT / name).read_text())
    assert blocks
    with psycopg.connect(stack.dsn) as connection:
        for block in blocks:
            connection.execute(block.encode())
            connection.rollback()


def test_tools_and_servers_that_the_documents_show_are_valid(monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs/assistants.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    shown = ModuleType("shown")
    monkeypatch.setitem(sys.modules, "shown", shown)
    for block in blocks:
        exec(block, shown.__dict__)
    built_in = load_tools((), cast(Deps, SimpleNamespace(settings=load_settings(), db=None, query_embedder=None)))
    openers = load_openers(("shown:TOOLS",), Toolset([*built_in, *shown.TOOLS]))
    assert callable(shown.ASSISTANT) and openers["books"].__module__ == "shown"
    (tool,) = shown.TOOLS
    assert (tool.name, tool.domain, tool.effect) == ("add_entry", "books", "write")
    assert set(tool.parameters["required"]) == {"account", "cents"}
    servers, of_programs, of_people, of_users, collecting = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    assert [one.name for one in read_servers(servers, {"MAIL_TOKEN": "a-word"})] == ["time", "mail"]
    (crm,) = read_servers(of_programs, {"CRM_SECRET": "a-secret"})
    (notes,) = read_servers(of_people, {})
    assert crm.grant_secret is None and notes.grant_secret == "mcp_notes"
    (mail,) = read_servers(of_users, {"MAIL_SERVICE_TOKEN": "a-word"})
    assert mail.user_variables == {"mail_token"} and names_without_prefix(mail) == ("read_latest_email", "send_email")
    guide = read_definition("guide", "Router", json.loads(collecting))
    assert [one.name for one in guide.agents if guide.collector(one.name)] == ["interview"]


def test_weights_that_the_documents_name_are_in_force() -> None:
    """Each with its number, in the order of the code."""
    rows = re.findall(r"^\| `(\w+)` \| (-?\d\.\d+) \|", (ROOT / "docs/memory.md").read_text(), re.MULTILINE)
    assert [(name, float(worth)) for name, worth in rows] == list(asdict(WEIGHTS).items())


OPERATIONS = (ROOT / "docs" / "operations.md").read_text()


def test_metrics_that_the_documents_name_are_there(stack: Stack, user: UUID) -> None:
    """Every maas_ word of the operators' page is a metric or a function of SQL."""
    stack.wait_archived(stack.ask(user, "Which metrics are there?"))
    poll(
        lambda: "maas_stage_seconds_bucket" in stack.client.get("/metrics").text
    )  # orchestrators write every few seconds
    functions = stack.rows("select proname from pg_proc where proname like 'maas%%'")
    known = stack.client.get("/metrics").text + str(functions)
    named = set(re.findall(r"\bmaas_[a-z_]*[a-z]\b(?!\*)", OPERATIONS))
    assert len(named) > 10
    assert not {name for name in named if not re.search(rf"\b{name}\b", known)}


def test_log_events_that_the_documents_name_are_there() -> None:
    """What an operator searches the log for is what the code writes."""
    source = "".join(
        path.read_text() for folder in ("maas", "shared", "workers") for path in (ROOT / folder).rglob("*.py")
    )
    lists = re.findall(r"\blog ((?:`\w+`(?:,\s+| and )?)+)", OPERATIONS)
    named = {name for words in lists for name in re.findall(r"\w{4,}", words)}
    assert len(named) > 8
    assert not {name for name in named if f'"{name}"' not in source}
