"""The distribution maas-client: built, installed into an environment without the server, and used there."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
import zipfile
from email import message_from_string
from pathlib import Path
from uuid import uuid4

import pytest

from tests.environments import Environment, build_wheel, new_environment, run
from tests.stack import ROOT, Stack

SOURCE = Path("clients/python")
MAX_PACKAGES, MAX_BYTES = 12, 8_000_000
PROGRAM = """
import json, sys
import shared
from maas_client import AsyncMaaS, ClientError, MaaS
from maas_client.results import NotFound
url, name = sys.argv[1:]
with MaaS(url) as m:
    m.ask("My cat is called Pixel.", user_id=name)
    answer = m.ask("What is my cat called?", user_id=name)
    events = [event.type for event in m.stream("And what else?", user_id=name)]
    try:
        m.get("00000000-0000-4000-8000-000000000404")
    except ClientError as error:
        kind, code = type(error) is NotFound, error.code
print(json.dumps([answer.text, events[-1], kind, code, shared.OURS, sorted(sys.modules)]))
"""
TYPED = """
from maas_client import Answer, ClientError, MaaS
def ask(m: MaaS) -> str:
    answer: Answer = m.ask("Who am I?", user_id="ann@example.org")
    reveal_type(m.approve)
    return answer.text
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(SOURCE, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def beside(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """An environment with the client, and a foreign package that is named as one of ours."""
    environment = new_environment(tmp_path_factory.mktemp("beside") / "venv")
    assert {name.partition("-")[0] for name in environment.install(wheel)} == {"maas_client"}
    environment.link(["httpx2", "tenacity"])
    (environment.folder.parent / "shared").mkdir()
    (environment.folder.parent / "shared" / "__init__.py").write_text("OURS = True\n")
    return environment


def application(environment: Environment, code: str, *arguments: str) -> str:
    """What a program of an application prints that has a folder `shared` of its own."""
    return run(environment.python, "-c", code, *arguments, cwd=environment.folder.parent, PATH="/usr/bin:/bin")


def test_it_is_versioned_as_the_server_is() -> None:
    client, server = (
        tomllib.loads((ROOT / folder / "pyproject.toml").read_text())["project"] for folder in (SOURCE, "")
    )
    assert client["version"] == server["version"] and client["requires-python"] == server["requires-python"]
    wanted = [*client["dependencies"], *client["optional-dependencies"]["sql"]]
    assert set(wanted) <= set(server["dependencies"])


def test_it_holds_the_client_and_its_types(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as content:
        names = content.namelist()
        (metadata,) = (content.read(name).decode() for name in names if name.endswith("/METADATA"))
    written = {path.name for path in (ROOT / "maas" / "client").iterdir() if path.is_file()}
    assert {Path(name).name for name in names if name.startswith("maas_client/")} == written
    assert {"py.typed", "statements.sql"} <= written
    requires = message_from_string(metadata).get_all("Requires-Dist") or []
    assert {re.split(r"[<>=\[ ]", one)[0] for one in requires if "extra ==" not in one} == {"httpx2", "tenacity"}


def test_it_is_small(beside: Environment, wheel: Path) -> None:
    needed = beside.link(["httpx2", "tenacity"])
    size = sum(Path(str(one.locate_file(file))).stat().st_size for one in needed for file in one.files or ())
    assert len(needed) + 1 <= MAX_PACKAGES, [one.name for one in needed]
    assert size + wheel.stat().st_size < MAX_BYTES


def test_it_talks_to_a_server_beside_a_foreign_package_shared(beside: Environment, stack: Stack) -> None:
    printed = application(beside, PROGRAM, str(stack.client.base_url), f"ann-{uuid4().hex}")
    text, last, kind, code, ours, modules = json.loads(printed)
    assert "Pixel" in text and (last, kind, code, ours) == ("done", True, "not_found", True)
    tops = {name.partition(".")[0] for name in modules}
    assert not tops & {"maas", "workers", "server", "main", "asyncpg", "psycopg", "pydantic", "structlog"}
    assert [name for name in modules if name.partition(".")[0] == "shared"] == ["shared"]


def test_a_dsn_needs_the_extra(beside: Environment, stack: Stack, tmp_path: Path, wheel: Path) -> None:
    opening = "import sys; from maas_client import MaaS; m = MaaS(dsn=sys.argv[1])"
    refused = (
        f"from maas_client import InvalidRequest\ntry:\n  {opening}\nexcept InvalidRequest as error:\n  print(error)"
    )
    assert "pip install 'maas-client[sql]'" in application(beside, refused, stack.dsn)
    environment = new_environment(tmp_path / "venv")
    environment.install(wheel)
    environment.link(["httpx2", "tenacity", "asyncpg", "psycopg[binary]"])
    asking = f"{opening}; print(m.ask('My cat is called Pixel.', user_id='{uuid4()}').status)"
    assert application(environment, asking, stack.dsn) == "COMPLETED\n"


def test_a_type_checker_knows_it(beside: Environment, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(TYPED)
    command = [str(ROOT / ".venv/bin/mypy"), "--strict", "--config-file=", "--python-executable", str(beside.python)]
    done = subprocess.run([*command, "program.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "user_id: str | uuid.UUID, fingerprint: str | None =) -> TypedDict({'id': str" in done.stdout, done.stdout


def test_the_client_of_the_server_imports_nothing_else_either(beside: Environment) -> None:
    code = (
        "import shared, sys; from maas import MaaS; print(shared.OURS, MaaS.__module__, 'shared.errors' in sys.modules)"
    )
    assert run(beside.python, "-c", code, cwd=beside.folder.parent, PYTHONPATH=str(ROOT)).split() == [
        "True",
        "maas.client.client",
        "False",
    ]
