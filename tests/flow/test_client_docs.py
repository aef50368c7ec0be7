"""The Python code of the documents runs, and so does mem0's after one line of it is changed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from openai import OpenAI
from pytest_httpserver import HTTPServer

from tests.model_server import ModelServer
from tests.stack import Stack

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"(?:\*\*(mem0|MaaS)\*\*\n\n)?```python\n(.*?)```", re.DOTALL)


@pytest.fixture
def around(stack: Stack, httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """The environment of a program that uses MaaS and a model of its own."""
    models = ModelServer(httpserver)
    models.replies["gpt-4o-mini"] = "The cook should know of nuts."
    monkeypatch.setenv("MAAS_URL", str(stack.client.base_url))
    monkeypatch.setenv("OPENAI_BASE_URL", models.url)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-key-1234567890")
    yield models
    models.close()


def blocks(name: str, column: str = "") -> list[str]:
    """The Python code of a document: what stands under the name of one column, or under none."""
    return [code for title, code in BLOCK.findall((ROOT / name).read_text()) if title == column]


def run(stack: Stack, code: str, names: dict[str, Any], user: str) -> None:
    """As it stands, but for who and where."""
    code = code.replace("ann@example.org", user).replace("postgresql://maas@localhost/maas", stack.dsn)
    code = code.replace("http://127.0.0.1:8000", f"http://127.0.0.1:{stack.port}")
    exec(compile(code, "document", "exec"), names)


@pytest.mark.parametrize("column", ["mem0", "MaaS"])
def test_five_tasks_run_as_they_do_with_mem0(stack: Stack, around: ModelServer, column: str) -> None:
    user, names = f"ann-{uuid4().hex}", dict[str, Any]()
    opening, keep, find, answer, listing, forget = blocks("docs/clients.md", column)
    run(stack, opening.replace("from mem0 import Memory", "from maas import MaaS as Memory"), names, user)
    with names["m"]:
        run(stack, keep, names, user)
        assert [one["event"] for one in names["added"]["results"]] == ["ADD", "ADD"]
        run(stack, find, names, user)
        assert "allergic to nuts" in names["found"]["results"][0]["memory"]
        run(stack, answer, names, user)
        names["llm"].close()
        (asked,) = around.said_to("gpt-4o-mini")
        assert "allergic to nuts" in asked["messages"][0]["content"] and asked["messages"][0]["role"] == "system"
        (owner,) = stack.rows("select user_id from user_identities where external_id = %s", user)
        stack.wait_archived(
            *[row["id"] for row in stack.rows("select id from pipeline_runs where user_id = %s", owner["user_id"])]
        )
        turns = stack.rows("select content from raw_logs where user_id = %s", owner["user_id"])
        assert len(turns) == 4 and {"content": "The cook should know of nuts."} in turns
        run(stack, listing, names, user)
        assert names["everything"]["results"] and names["changes"][0]["event"] == "ADD"
        run(stack, forget, names, user)
        assert not stack.rows("select from raw_logs where user_id = %s", owner["user_id"])


@pytest.mark.parametrize(("name", "word"), [("docs/clients.md", "Pixel"), ("docs/index.md", "Lisbon")])
def test_the_rest_of_the_code_runs(
    stack: Stack, around: ModelServer, capsys: pytest.CaptureFixture[str], name: str, word: str
) -> None:
    user, names = f"ann-{uuid4().hex}", dict[str, Any](OpenAI=OpenAI)
    for code in blocks(name):
        run(stack, code, names, user)
    for one in {"m", "client"} & names.keys():
        names[one].close()
    assert word in capsys.readouterr().out
