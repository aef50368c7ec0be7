"""The client without I/O: messages, filters, user names, error replies and the url."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from maas.client import ClientError, Forbidden, InvalidRequest, NotFound, RateLimited, Unauthenticated, Unavailable
from maas.client.http import find_url
from maas.client.messages import MAX_BATCH_BYTES, MAX_BATCH_MESSAGES, batches, normalize
from maas.client.operations import search_filter
from maas.client.results import error_of
from maas.client.users import Users, flatten_filters, server_filters
from tests.conftest import ROOT

USER = UUID("00000000-0000-4000-8000-000000000001")


def test_the_package_imports_its_client_on_first_use() -> None:
    program = "import sys, maas; a = {*sys.modules}; maas.MaaS; print('httpx2' in a, *sys.modules)"
    result = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    before, *loaded = result.stdout.split()
    assert before == "False" and "httpx2" in loaded
    assert not {"psycopg", "asyncpg", "structlog", "pydantic", "starlette"} & {*loaded}


def test_the_package_has_nothing_else() -> None:
    import maas

    with pytest.raises(AttributeError, match="Memory"):
        maas.Memory  # noqa: B018


@pytest.mark.parametrize(
    ("messages", "normalized"),
    [
        ("I like tea.", [("user", "I like tea.")]),
        ({"role": "assistant", "content": "Noted."}, [("assistant", "Noted.")]),
        ([{"content": "a"}, {"role": "system", "content": "b"}], [("user", "a")]),
        ([{"role": "user", "content": "a"}, {"role": "assistant", "content": None}], [("user", "a")]),
        ([{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image_url"}]}], [("user", "a")]),
    ],
)
def test_messages_are_normalized(messages: Any, normalized: list[tuple[str, str]]) -> None:
    assert [(message["role"], message["content"]) for message in normalize(messages, None)] == normalized


@pytest.mark.parametrize("messages", ["", " ", [], [{"role": "tool", "content": "7"}]])
def test_messages_without_text_are_refused(messages: Any) -> None:
    with pytest.raises(InvalidRequest):
        normalize(messages, None)


def test_each_message_has_an_external_id_of_its_own() -> None:
    messages = normalize([{"content": "a"}, {"content": "a"}, {"content": "a", "external_id": "x"}], None)
    assert len({message["external_id"] for message in messages}) == 3 and messages[2]["external_id"] == "x"
    assert messages[0]["external_id"] != normalize("a", None)[0]["external_id"]


@pytest.mark.parametrize(
    "at", [datetime(2024, 3, 2, 9, 12, tzinfo=UTC), 1709370720, "2024-03-02T09:12:00+00:00"], ids=str
)
def test_time_is_taken_in_any_form(at: Any) -> None:
    assert normalize("a", at)[0]["at"] == "2024-03-02T09:12:00+00:00"


@pytest.mark.parametrize(
    ("contents", "sizes"),
    [
        (["a"] * (MAX_BATCH_MESSAGES + 1), [MAX_BATCH_MESSAGES, 1]),
        (["ж" * (MAX_BATCH_BYTES // 4)] * 3, [2, 1]),
        (["a"], [1]),
    ],
)
def test_a_batch_fits_into_one_request(contents: list[str], sizes: list[int]) -> None:
    messages = normalize([{"content": content} for content in contents], None)
    split = list(batches(messages))
    assert [len(batch) for batch in split] == sizes
    assert [message for batch in split for message in batch] == messages


def test_filters_of_mem0_are_applied_or_refused() -> None:
    filters = {"AND": [{"user_id": "ann"}, {"created_at": {"gte": "2024-01-01", "lt": "2024-02-01"}}], "tags": ["boat"]}
    assert flatten_filters(filters)["user_id"] == "ann"
    assert search_filter(flatten_filters(filters)) == {"tags": ["boat"], "from": "2024-01-01", "to": "2024-02-01"}
    both = {"AND": [{"NOT": {"metadata": {"topic": "tea"}}}, {"user_id": "ann"}], "metadata": {"price": {"gte": 3}}}
    applied = [{"NOT": {"metadata": {"topic": "tea"}}}, {"metadata": {"price": {"gte": 3}}}]
    assert server_filters(both) == {"AND": applied}
    assert server_filters(filters) is None and flatten_filters(both) == {"user_id": "ann"}
    of_agent = {"user_id": "ann", "agent_id": "cook", "run_id": {"in": ["s1", "s2"]}}
    assert server_filters(of_agent) == {"AND": [{"agent_id": "cook"}, {"run_id": {"in": ["s1", "s2"]}}]}
    refusals: list[dict[str, Any]] = [{"agent": "a"}, {"category": "x"}]
    for refused in refusals:
        with pytest.raises(InvalidRequest, match="user_id, tags, created_at"):
            flatten_filters(refused)
    with pytest.raises(InvalidRequest, match="gte and lt"):
        search_filter({"created_at": {"lte": "2024-01-01"}})


def test_a_uuid_is_a_user_without_a_call() -> None:
    with pytest.raises(StopIteration) as end:
        next(Users().get_or_create(str(USER).upper()))
    assert end.value.value == USER


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, InvalidRequest),
        (401, Unauthenticated),
        (403, Forbidden),
        (404, NotFound),
        (409, InvalidRequest),
        (422, InvalidRequest),
        (429, RateLimited),
        (500, ClientError),
        (502, Unavailable),
        (503, Unavailable),
        (504, Unavailable),
        (301, ClientError),
    ],
)
def test_each_status_has_its_error(status: int, kind: type[ClientError]) -> None:
    error = error_of(status, {"error": {"code": "c", "message": "m", "details": {"a": 1}}}, "7")
    assert (type(error), error.code, error.message, error.status) == (kind, "c", "m", status)
    assert error.details == {"a": 1, "retry_after": 7}


def test_a_reply_of_a_proxy_is_an_error_too() -> None:
    error = error_of(502, None, None)
    assert (error.code, error.status, error.details) == ("http_502", 502, None)


def test_the_url_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_url(None) == "http://127.0.0.1:8000"
    monkeypatch.setenv("MAAS_PORT", "8123")
    assert find_url(None) == "http://127.0.0.1:8123"
    monkeypatch.setenv("MAAS_URL", "https://memory.example.org/")
    assert find_url(None) == "https://memory.example.org"
    assert find_url("http://localhost:9") == "http://localhost:9"
    with pytest.raises(InvalidRequest, match="must begin with"):
        find_url("localhost:9")
