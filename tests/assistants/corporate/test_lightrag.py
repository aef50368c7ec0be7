"""The client of LightRAG at its stand-in: what goes out, what comes back, and what each failure means."""

from __future__ import annotations

import logging
import traceback
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from typing import Any, cast, get_args

import httpx2
import pytest
import structlog
from pytest_httpserver import HTTPServer

from maas.assistants.corporate.checks import check_lightrag
from maas.assistants.corporate.lightrag_client import (
    LightragChunk,
    LightragClient,
    LightragData,
    LightragDocument,
    LightragReference,
    Mode,
    PipelineState,
)
from maas.settings import load_settings
from shared.bounded_http import MAX_VENDOR_REPLY_BYTES, open_bounded
from shared.db import Database
from shared.errors import Advice
from shared.vendors import VendorError
from shared.vendors.service import Limits
from tests.assistants.corporate.knowledge import LIGHTRAG, LIGHTRAG_KEY, TRACK
from tests.standins.running import Running, standin
from tests.vendors import LIMITS

SHORT = Limits(connect_s=5, read_s=0.2, total_s=0.4)  # of requests that get no answer
QUESTION = "How long is the Vacation?"
Call = Callable[[LightragClient], Any]
CALLS: dict[str, Call] = {
    "query": lambda client: client.query(QUESTION),
    "data": lambda client: client.query_data(QUESTION),
    "track": lambda client: client.track_status(TRACK),
    "pipeline": lambda client: client.pipeline_status(),
}
each_call = pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    with standin("lightrag", LIGHTRAG) as running:
        yield running


@pytest.fixture
def server(running: Running) -> Running:
    running.reset()
    return running


@pytest.fixture
async def http() -> AsyncIterator[httpx2.AsyncClient]:
    async with open_bounded(MAX_VENDOR_REPLY_BYTES) as http:
        yield http


def client_of(
    http: httpx2.AsyncClient, url: str, key: str | None = LIGHTRAG_KEY, limits: Limits = LIMITS
) -> LightragClient:
    return LightragClient(http, url, key, limits, limits)


@pytest.fixture
def client(server: Running, http: httpx2.AsyncClient) -> LightragClient:
    return client_of(http, server.url)


async def failure(coroutine: Any) -> VendorError:
    with pytest.raises(VendorError) as caught:
        await coroutine
    return caught.value


async def test_an_answer(server: Running, client: LightragClient) -> None:
    answer = await client.query(QUESTION)
    assert answer.is_generated and answer.response.startswith("The Vacation lasts 28 days")
    assert answer.references == (LightragReference("1", "vacation.md"),)
    (request,) = server.journal()
    assert (request["method"], request["path"], request["params"]) == ("POST", "/query", {})
    assert request["body"] == {"query": QUESTION, "mode": "mix", "include_references": True, "top_k": 10}
    assert request["headers"] == {"x-api-key": LIGHTRAG_KEY}


async def test_doctor_says_whether_it_answers_and_to_whom(server: Running) -> None:
    """A key that it refuses fails; documents that nobody may read are advice."""
    nowhere = cast(Database, None)
    assert "not configured" in await check_lightrag(load_settings(), nowhere)
    key = {"lightrag_base_url": server.url, "lightrag_api_key": LIGHTRAG_KEY}
    with pytest.raises(Advice, match="answers, idle; nobody may read its documents: set LIGHTRAG_USERS"):
        await check_lightrag(load_settings(**key), nowhere)
    assert await check_lightrag(load_settings(**key, lightrag_users="*"), nowhere) == "answers, idle; open to everybody"
    with pytest.raises(VendorError, match="does not accept the access token"):
        await check_lightrag(load_settings(**key | {"lightrag_api_key": "wrong-key-0123456789"}), nowhere)


@pytest.mark.parametrize("mode", get_args(Mode))
async def test_bodies(server: Running, client: LightragClient, mode: Mode) -> None:
    answer = await client.query(QUESTION, mode, 3, False)
    assert answer.references is None
    await client.query_data(QUESTION, mode, 3, True)
    body = {"query": QUESTION, "mode": mode, "top_k": 3}
    assert [(one["path"], one["body"]) for one in server.journal()] == [
        ("/query", body | {"include_references": False}),
        ("/query/data", body | {"include_references": True}),
    ]


async def test_data(client: LightragClient) -> None:
    found = await client.query_data(QUESTION)
    assert found.chunks == (LightragChunk("1", "vacation.md", LIGHTRAG["documents"]["vacation.md"]["text"]),)
    assert found.references == (LightragReference("1", "vacation.md"),)
    assert [one.name for one in found.entities] == ["Vacation", "Ivanov"]
    assert [(one.source, one.target, one.keywords) for one in found.relations] == [("Vacation", "Ivanov", "rule")]


async def test_nothing_found(client: LightragClient) -> None:
    answer = await client.query("zzzz qqqq")
    assert (answer.is_generated, answer.references) == (False, ())
    assert await client.query_data("zzzz qqqq") == LightragData()


async def test_uploads(server: Running, client: LightragClient) -> None:
    at = "2026-11-24T00:42:54.637361+00:00"
    assert await client.track_status(TRACK) == [
        LightragDocument("vacation.md", "processed", None, 1, at, at),
        LightragDocument("broken.pdf", "failed", "no text", None, at, at),
    ]
    assert await client.track_status("insert_of_nobody") == []
    assert {one["path"] for one in server.journal()} == {
        f"/documents/track_status/{TRACK}",
        "/documents/track_status/insert_of_nobody",
    }


@pytest.mark.parametrize("track_id", ["", ".", "..", "../pipeline_status", "a/b", "a?b", "a#b"])
async def test_an_upload_cannot_change_the_path(server: Running, client: LightragClient, track_id: str) -> None:
    with suppress(VendorError):
        assert await client.track_status(track_id) == []
    assert all(one["path"].startswith("/documents/track_status/") and not one["params"] for one in server.journal())


async def test_the_pipeline(server: Running, client: LightragClient) -> None:
    message = "Extracting stage 1/2: vacation.md"
    assert await client.pipeline_status() == PipelineState(False, "vacation.md[2 files]", 2, 2, 2, message)
    server.merge({"busy": True})
    assert (await client.pipeline_status()).is_busy


async def test_a_model_that_fails_is_no_empty_result(server: Running, client: LightragClient) -> None:
    """The server answers 200 then, with a text that sounds as if nothing was found."""
    server.merge({"is_model_down": True})
    error = await failure(client.query(QUESTION))
    assert error.code == "unavailable" and "its model gave no answer" in error.message
    assert (await failure(client.query_data(QUESTION))).code == "unavailable"


async def test_a_short_question(client: LightragClient) -> None:
    for call in (client.query, client.query_data):
        error = await failure(call("ab"))
        assert error.code == "invalid" and "too short" in error.message


@each_call
async def test_keys(server: Running, http: httpx2.AsyncClient, call: Call) -> None:
    for key in ("another-key-0123456789", None):
        assert (await failure(call(client_of(http, server.url, key)))).code == "unauthorized"
    server.merge({"api_key": None})
    await call(client_of(http, server.url, None))
    assert server.journal()[-1]["headers"] == {}


@each_call
@pytest.mark.parametrize(
    ("fault", "code", "requests"),
    [
        ({"kind": "hang"}, "timeout", 1),
        ({"kind": "slow"}, "timeout", 1),
        ({"kind": "cut"}, "unreachable", 3),
        ({"kind": "malformed"}, "bad_reply", 1),
        ({"kind": "status", "status": 302}, "bad_reply", 1),
        ({"kind": "status", "status": 400}, "invalid", 1),
        ({"kind": "status", "status": 401}, "unauthorized", 1),
        ({"kind": "status", "status": 422}, "invalid", 1),
        ({"kind": "status", "status": 429}, "rate_limited", 3),
        ({"kind": "status", "status": 429, "retry_after": 60}, "rate_limited", 1),
        ({"kind": "status", "status": 500}, "unavailable", 3),
        ({"kind": "status", "status": 503}, "rate_limited", 3),
    ],
    ids=lambda value: "-".join(map(str, value.values())) if isinstance(value, dict) else str(value),
)
async def test_failures(
    server: Running, http: httpx2.AsyncClient, call: Call, fault: dict[str, Any], code: str, requests: int
) -> None:
    server.fault(times=9, **fault)
    limits = SHORT if fault["kind"] in ("hang", "slow") else LIMITS
    error = await failure(call(client_of(http, server.url, limits=limits)))
    assert (error.code, error.vendor, error.retry_after) == (code, "lightrag", fault.get("retry_after"))
    assert len(server.journal()) == requests


@each_call
@pytest.mark.parametrize(
    "content", [b"", b"null", b"[]", b"{}", b"1", b"<html>", b"\xff", b'{"response": 5, "busy": [], "documents": 1}']
)
async def test_replies_of_other_shapes(
    http: httpx2.AsyncClient, httpserver: HTTPServer, call: Call, content: bytes
) -> None:
    httpserver.expect_request("/").respond_with_data("")
    for path in ("/query", "/query/data", f"/documents/track_status/{TRACK}", "/documents/pipeline_status"):
        httpserver.expect_request(path).respond_with_data(content, content_type="application/json")
    assert (await failure(call(client_of(http, httpserver.url_for("").rstrip("/"))))).code == "bad_reply"


async def test_a_reply_of_three_megabytes(server: Running, http: httpx2.AsyncClient) -> None:
    server.merge({"padding": 3_000_000})
    error = await failure(LightragClient(http, server.url, LIGHTRAG_KEY).query(QUESTION))
    assert error.code == "bad_reply" and "larger than 2097152 bytes" in error.message


@pytest.mark.parametrize("status", [400, 403, 500])
async def test_the_key_is_never_shown(
    server: Running, client: LightragClient, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.fault("status", times=9, status=status, message=f"bad key {LIGHTRAG_KEY}\x00 " + "x" * 5000)
    with structlog.testing.capture_logs() as logs:
        error = await failure(client.query(QUESTION))
    shown = "".join([*traceback.format_exception(error), repr(vars(error)), repr(client), str(logs)])
    shown += "".join(record.getMessage() for record in caplog.records)
    assert LIGHTRAG_KEY not in shown and len(error.message) < 600 and "\x00" not in error.message
