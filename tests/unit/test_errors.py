"""What is wrong with data from outside is said in words of people, by one function."""

from __future__ import annotations

import re
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from uuid import UUID

import pytest
from pydantic import BaseModel, ValidationError, field_validator

from maas.agents.definition import read_definition
from maas.http import memory_schemas, run_schemas
from maas.http.request_input import validate
from maas.memory.transfer.formats import read_export
from maas.settings import load_settings
from maas.tools.arguments import WrongArguments, read_arguments
from maas.tools.tool import ToolContext, tool
from shared.errors import MaasError, Problem, problems_of

ROOT = Path(__file__).resolve().parents[2]
USER = UUID(int=1)


class Entry(BaseModel):
    account: str

    @field_validator("account")
    @classmethod
    def _is_known(cls, value: str) -> str:
        if value == "unknown":
            raise ValueError("is no account of yours")
        return value


@tool(domain="books", effect="read")
async def look_up(entry: Entry, context: ToolContext) -> str:
    """Look an account up."""
    return entry.account


def wrong(**fields: object) -> list[Problem]:
    with pytest.raises(ValidationError) as caught:
        Entry.model_validate(fields)
    return list(problems_of(caught.value))


def test_the_words_are_those_of_the_check() -> None:
    (one,) = wrong(account="unknown")
    assert (one.field, one.message, str(one)) == (
        "account",
        "is no account of yours",
        "account: is no account of yours",
    )
    assert wrong()[0].message == "Field required"


EXPORT = b'{"maas": "export", "version": 1, "user_id": "%s"}\n{"type": "log", "id": "x"}' % str(USER).encode()
CHECKS: dict[str, Callable[[], object]] = {
    "HTTP": lambda: validate(run_schemas.NewRun, {"user_id": str(USER), "query": " "}),
    "times": lambda: validate(
        memory_schemas.SearchQuery, {"user_id": str(USER), "query": "a", "from": "0001-01-01T00:00:00Z"}
    ),
    "settings": lambda: load_settings(timezone="Nowhere"),
    "settings that do not fit": lambda: load_settings(auth="jwt"),
    "definitions": lambda: read_definition("clerk", "Mentor", {"completion": "x"}),
    "tools": lambda: read_arguments(look_up, '{"account": "unknown"}'),
    "imports": lambda: list(read_export(BytesIO(EXPORT), "export.ndjson")),
}


@pytest.mark.parametrize("check", CHECKS)
def test_no_message_shows_what_checks_it(check: str) -> None:
    with pytest.raises((MaasError, WrongArguments)) as caught:
        CHECKS[check]()
    assert not re.search(r"Value error|pydantic", str(caught.value))


def test_nothing_else_reads_the_words_of_pydantic() -> None:
    sources = [*(path for folder in ("maas", "workers", "shared", "bench") for path in (ROOT / folder).rglob("*.py"))]
    found = [path.name for path in sources if "error.errors(" in path.read_text()]
    assert found == ["errors.py"]
