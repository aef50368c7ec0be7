"""What the client makes of messages, filters, names and replies, before anything is sent."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from maas.clients import Forbidden, InvalidRequest, MaaSError, NotFound, RateLimited, Unauthenticated, Unavailable
from maas.clients.address import find_url
from maas.clients.errors import error_of
from maas.clients.filters import flat, reach_of
from maas.clients.turns import MOST_BYTES, MOST_TURNS, portions, turns_of
from maas.clients.users import Users
from tests.conftest import ROOT

USER = UUID("00000000-0000-4000-8000-000000000001")


def test_the_package_loads_its_client_when_it_is_asked_for() -> None:
    program = "import sys, maas; a = {*sys.modules}; maas.MaaS; print('httpx2' in a, *sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    before, *loaded = done.stdout.split()
    assert before == "False" and "httpx2" in loaded
    assert not {"psycopg", "asyncpg", "structlog", "pydantic", "starlette"} & {*loaded}


def test_the_package_has_nothing_else() -> None:
    import maas

    with pytest.raises(AttributeError, match="Memory"):
        maas.Memory  # noqa: B018


@pytest.mark.parametrize(
    ("messages", "said"),
    [
        ("I like tea.", [("user", "I like tea.")]),
        ({"role": "assistant", "content": "Noted."}, [("assistant", "Noted.")]),
        ([{"content": "a"}, {"role": "system", "content": "b"}], [("user", "a")]),
        ([{"role": "user", "content": "a"}, {"role": "assistant", "content": None}], [("user", "a")]),
        ([{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image_url"}]}], [("user", "a")]),
    ],
)
def test_messages_become_turns(messages: Any, said: list[tuple[str, str]]) -> None:
    assert [(turn["role"], turn["content"]) for turn in turns_of(messages, None)] == said


@pytest.mark.parametrize("messages", ["", " ", [], [{"role": "tool", "content": "7"}]])
def test_where_nothing_was_said_nothing_is_sent(messages: Any) -> None:
    with pytest.raises(InvalidRequest):
        turns_of(messages, None)


def test_each_turn_has_an_id_that_a_repetition_keeps() -> None:
    turns = turns_of([{"content": "a"}, {"content": "a"}, {"content": "a", "external_id": "x"}], None)
    assert len({turn["external_id"] for turn in turns}) == 3 and turns[2]["external_id"] == "x"
    assert turns[0]["external_id"] != turns_of("a", None)[0]["external_id"]


@pytest.mark.parametrize(
    "at", [datetime(2024, 3, 2, 9, 12, tzinfo=UTC), 1709370720, "2024-03-02T09:12:00+00:00"], ids=str
)
def test_time_is_taken_in_any_form(at: Any) -> None:
    assert turns_of("a", at)[0]["at"] == "2024-03-02T09:12:00+00:00"


@pytest.mark.parametrize(
    ("words", "sizes"),
    [(["a"] * (MOST_TURNS + 1), [MOST_TURNS, 1]), (["ж" * (MOST_BYTES // 4)] * 3, [2, 1]), (["a"], [1])],
)
def test_portions_are_what_one_request_may_hold(words: list[str], sizes: list[int]) -> None:
    turns = turns_of([{"content": word} for word in words], None)
    found = list(portions(turns))
    assert [len(portion) for portion in found] == sizes
    assert [turn for portion in found for turn in portion] == turns


def test_filters_of_mem0_are_understood_or_refused() -> None:
    given = {"AND": [{"user_id": "ann"}, {"created_at": {"gte": "2024-01-01", "lt": "2024-02-01"}}], "tags": ["boat"]}
    assert flat(given)["user_id"] == "ann"
    assert reach_of(flat(given)) == {"tags": ["boat"], "from": "2024-01-01", "to": "2024-02-01"}
    refusals: list[dict[str, Any]] = [{"OR": []}, {"agent_id": "a"}, {"category": "x"}]
    for refused in refusals:
        with pytest.raises(InvalidRequest, match="user_id, tags, created_at"):
            flat(refused)
    with pytest.raises(InvalidRequest, match="gte and lt"):
        reach_of({"created_at": {"lte": "2024-01-01"}})


def test_a_uuid_is_a_user_without_a_question() -> None:
    with pytest.raises(StopIteration) as done:
        next(Users().name(str(USER).upper()))
    assert done.value.value == USER


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, InvalidRequest), (401, Unauthenticated), (403, Forbidden), (404, NotFound), (409, InvalidRequest),
        (422, InvalidRequest), (429, RateLimited), (500, MaaSError), (502, Unavailable), (503, Unavailable),
        (504, Unavailable), (301, MaaSError),
    ],
)  # fmt: skip
def test_each_status_has_its_error(status: int, kind: type[MaaSError]) -> None:
    error = error_of(status, {"error": {"code": "c", "message": "m", "details": {"a": 1}}}, "7")
    assert (type(error), error.code, error.message, error.status) == (kind, "c", "m", status)
    assert error.details == {"a": 1, "retry_after": 7}


def test_the_page_of_a_proxy_is_an_error_too() -> None:
    error = error_of(502, None, None)
    assert (error.code, error.status, error.details) == ("http_502", 502, None)


def test_the_url_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_url(None) == "http://127.0.0.1:8000"
    monkeypatch.setenv("MAAS_URL", "https://memory.example.org/")
    assert find_url(None) == "https://memory.example.org"
    assert find_url("http://localhost:9") == "http://localhost:9"
    with pytest.raises(InvalidRequest, match="must begin with"):
        find_url("localhost:9")
