"""Vendors that fail: what each client makes of it, what it repeats and what it never sends twice."""

from __future__ import annotations

import asyncio
import gzip
import logging
import re
import socket
import time
import traceback
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from typing import Any

import httpx2
import pytest
import structlog
from pytest_httpserver import HTTPServer

from shared.bounded_http import MAX_VENDOR_REPLY_BYTES, open_bounded
from shared.errors import MaasError
from shared.vendors import VendorError
from shared.vendors.service import Limits
from tests.standins.running import Running, standin
from tests.vendors import LIMITS, PHONE, SECRET, SHORT, SUBJECTS, Subject

NOBODY = "http://127.0.0.1:1"


@pytest.fixture(scope="module", params=SUBJECTS, ids=lambda subject: subject.kind)
def subject(request: pytest.FixtureRequest) -> Subject:
    found: Subject = request.param
    return found


@pytest.fixture(scope="module")
def running(subject: Subject) -> Iterator[Running]:
    with standin(subject.kind, subject.fixture) as running:
        yield running


@pytest.fixture
def vendor(running: Running) -> Running:
    running.reset()
    return running


@pytest.fixture
async def http() -> AsyncIterator[httpx2.AsyncClient]:
    async with open_bounded(MAX_VENDOR_REPLY_BYTES) as http:
        yield http


@pytest.fixture
def client(subject: Subject, vendor: Running, http: httpx2.AsyncClient) -> Any:
    return subject.open(http, vendor.url, LIMITS)


def limits_for(kind: str) -> Limits:
    """Short ones where nothing or too little comes; all else has time, also on a busy machine."""
    return SHORT if kind in ("hang", "slow") else LIMITS


async def failure(coroutine: Any) -> VendorError:
    with pytest.raises(VendorError) as caught:
        await coroutine
    return caught.value


async def test_both_succeed(subject: Subject, vendor: Running, client: Any) -> None:
    await subject.read(client)
    await subject.write(client)
    assert len(vendor.journal(subject.write_method, subject.write_path)) == 1
    assert SECRET in str(vendor.journal()[0]["headers"]) and SECRET not in str(vendor.journal()[0]["params"])


@pytest.mark.parametrize(
    ("fault", "code", "requests"),
    [
        ({"kind": "hang"}, "timeout", 1),
        ({"kind": "cut"}, "unreachable", 3),
        ({"kind": "truncate"}, "unreachable", 3),
        ({"kind": "malformed"}, "bad_reply", 1),
        ({"kind": "slow"}, "timeout", 1),
        ({"kind": "status", "status": 302}, "bad_reply", 1),
        ({"kind": "status", "status": 401, "code": 190}, "unauthorized", 1),
        ({"kind": "status", "status": 403, "code": 200}, "forbidden", 1),
        ({"kind": "status", "status": 422, "code": 100}, "invalid", 1),
        ({"kind": "status", "status": 429, "code": 17}, "rate_limited", 3),
        ({"kind": "status", "status": 429, "code": 17, "retry_after": 0.1}, "rate_limited", 3),
        ({"kind": "status", "status": 429, "code": 17, "retry_after": 60}, "rate_limited", 1),
        ({"kind": "status", "status": 500, "code": 2}, "unavailable", 3),
        ({"kind": "status", "status": 503, "code": 2}, "unavailable", 3),
    ],
    ids=lambda value: "-".join(map(str, value.values())) if isinstance(value, dict) else str(value),
)
async def test_read(
    subject: Subject, vendor: Running, http: httpx2.AsyncClient, fault: dict[str, Any], code: str, requests: int
) -> None:
    vendor.fault(times=9, **fault)
    client = subject.open(http, vendor.url, limits_for(fault["kind"]))
    start = time.monotonic()
    error = await failure(subject.read(client))
    assert (error.code, error.vendor, error.is_outcome_unknown) == (code, subject.kind, False)
    assert error.retry_after == fault.get("retry_after")
    assert len(vendor.journal()) == requests
    if code == "timeout":
        assert time.monotonic() - start < SHORT.total_s + 1


@pytest.mark.parametrize(
    ("fault", "code", "is_unknown"),
    [
        ({"kind": "hang"}, "timeout", True),
        ({"kind": "hang", "is_done": True}, "timeout", True),
        ({"kind": "cut"}, "unreachable", True),
        ({"kind": "cut", "is_done": True}, "unreachable", True),
        ({"kind": "truncate"}, "unreachable", True),
        ({"kind": "malformed"}, "bad_reply", True),
        ({"kind": "status", "status": 302}, "bad_reply", False),
        ({"kind": "status", "status": 401, "code": 190}, "unauthorized", False),
        ({"kind": "status", "status": 422, "code": 100}, "invalid", False),
        ({"kind": "status", "status": 429, "code": 17}, "rate_limited", False),
        ({"kind": "status", "status": 429, "code": 17, "retry_after": 0.1}, "rate_limited", False),
        ({"kind": "status", "status": 500, "code": 2, "is_done": True}, "unavailable", True),
        ({"kind": "status", "status": 504, "code": 2}, "unavailable", True),
    ],
    ids=lambda value: "-".join(map(str, value.values())) if isinstance(value, dict) else str(value),
)
async def test_write_is_sent_once(
    subject: Subject, vendor: Running, http: httpx2.AsyncClient, fault: dict[str, Any], code: str, is_unknown: bool
) -> None:
    client = subject.open(http, vendor.url, limits_for(fault["kind"]))
    vendor.fault(times=9, path=subject.write_path, method=subject.write_method, **fault)
    error = await failure(subject.write(client))
    assert (error.code, error.is_outcome_unknown) == (code, is_unknown)
    assert ("it is unknown whether the change was made" in error.message) == is_unknown
    assert len(vendor.journal(subject.write_method, subject.write_path)) == 1


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "cut"},
        {"kind": "truncate"},
        {"kind": "status", "status": 500, "code": 2},
        {"kind": "status", "status": 429, "code": 17, "retry_after": 0.1},
    ],
    ids=lambda fault: fault.get("status", fault["kind"]),
)
async def test_read_succeeds_at_last(subject: Subject, vendor: Running, client: Any, fault: dict[str, Any]) -> None:
    usual = await subject.read(client)
    vendor.fault(times=2, **fault)
    assert await subject.read(client) == usual


async def test_nobody_listens(subject: Subject, http: httpx2.AsyncClient) -> None:
    for call in (subject.read, subject.write):
        error = await failure(call(subject.open(http, NOBODY, LIMITS)))
        assert (error.code, error.is_outcome_unknown) == ("unreachable", False)


async def test_write_is_repeated_until_somebody_listens(subject: Subject, http: httpx2.AsyncClient) -> None:
    """Nothing was sent before, so nothing can be carried out twice."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    limits = Limits(connect_s=1, read_s=5, total_s=20, attempts=200, first_pause_s=0.05, max_pause_s=0.05)
    call = asyncio.ensure_future(subject.write(subject.open(http, f"http://127.0.0.1:{port}", limits)))
    await asyncio.sleep(0)
    with standin(subject.kind, subject.fixture, port) as late:
        await call
        assert len(late.journal(subject.write_method, subject.write_path)) == 1


async def test_huge_reply(subject: Subject, vendor: Running, http: httpx2.AsyncClient) -> None:
    limits = Limits(max_bytes=5)
    error = await failure(subject.read(subject.open(http, vendor.url, limits)))
    assert (error.code, error.is_outcome_unknown) == ("bad_reply", False) and "larger than 5 bytes" in error.message
    vendor.reset()
    error = await failure(subject.write(subject.open(http, vendor.url, limits)))
    assert (error.code, error.is_outcome_unknown) == ("bad_reply", subject.write_method in ("POST", "PATCH"))


@pytest.mark.parametrize("status", [200, 400])
async def test_huge_compressed_reply(
    subject: Subject, http: httpx2.AsyncClient, httpserver: HTTPServer, status: int
) -> None:
    """What counts is the size of what was compressed; of a refusal nothing but its status is read."""
    content = gzip.compress(b" " * 20_000_000)
    headers = {"content-encoding": "gzip", "content-type": "application/json"}
    httpserver.expect_request(re.compile(".*")).respond_with_data(content, status, headers)
    error = await failure(subject.read(subject.open(http, httpserver.url_for("").rstrip("/"), LIMITS)))
    assert error.code == ("bad_reply" if status == 200 else "invalid")


@pytest.mark.parametrize(
    "content",
    [b"", b"null", b"[]", b"{}", b"1", b'"x"', b"<html>", b"\xff\xfe", b"[" * 100_000, b'{"a": NaN}', b"9" * 9999],
)
async def test_replies_of_other_shapes(
    subject: Subject, http: httpx2.AsyncClient, httpserver: HTTPServer, content: bytes
) -> None:
    """They end in a list without members or in one clear error; after a write the outcome is unknown."""
    httpserver.expect_request(re.compile(".*")).respond_with_data(content, content_type="application/json")
    client = subject.open(http, httpserver.url_for("").rstrip("/"), LIMITS)
    error = await failure(subject.write(client))
    assert (error.code, error.is_outcome_unknown) == ("bad_reply", True)
    with suppress(VendorError):
        assert await subject.read(client) == []


@pytest.mark.parametrize("status", [400, 401, 429, 500])
async def test_no_secret_and_no_phone_is_shown(
    subject: Subject, vendor: Running, client: Any, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    message = f"bad token {SECRET} at https://a.example/?access_token={SECRET}&b=1 of {PHONE}\x00\x1b[31m " + "x" * 5000
    vendor.fault("status", times=9, status=status, code=100, message=message)
    with structlog.testing.capture_logs() as logs:
        error = await failure(subject.read(client))
    shown = "".join([*traceback.format_exception(error), repr(error), repr(vars(error)), repr(client), str(logs)])
    shown += "".join(record.getMessage() for record in caplog.records)
    assert SECRET not in shown and SECRET[3:] not in shown and "12 345" not in shown
    assert len(error.message) < 600 and "\x00" not in error.message and "\x1b" not in error.message
    assert "\n" not in error.message and isinstance(error, MaasError)


async def test_no_secret_in_faults_of_a_connection(
    subject: Subject, vendor: Running, http: httpx2.AsyncClient, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    for kind in ("hang", "cut", "truncate", "malformed"):
        vendor.fault(kind, times=9)
        client = subject.open(http, vendor.url, limits_for(kind))
        for call in (subject.read, subject.write):
            shown = "".join(traceback.format_exception(await failure(call(client))))
            assert SECRET not in shown
        vendor.reset()
    assert SECRET not in "".join(record.getMessage() for record in caplog.records)


@pytest.mark.parametrize("url", ["", "ftp://127.0.0.1", "127.0.0.1:80", "http://", "http://[", "http://a\x00b"])
async def test_bad_address(subject: Subject, http: httpx2.AsyncClient, url: str) -> None:
    assert (await failure(subject.read(subject.open(http, url, LIMITS)))).code in ("invalid", "unreachable")


async def test_redirects_are_not_followed(subject: Subject, vendor: Running) -> None:
    vendor.fault("status", status=302)
    async with open_bounded(MAX_VENDOR_REPLY_BYTES, follow_redirects=True) as http:
        assert (await failure(subject.read(subject.open(http, vendor.url, LIMITS)))).code == "bad_reply"
    assert len(vendor.journal()) == 1


async def test_cancelling_ends_a_call_at_once(subject: Subject, vendor: Running, http: httpx2.AsyncClient) -> None:
    vendor.fault("hang")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await subject.read(subject.open(http, vendor.url, Limits()))
