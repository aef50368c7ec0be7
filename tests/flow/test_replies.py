"""What every reply bears, and what of a request is in the log."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from typing import Any
from uuid import uuid4

import pytest

from maas.http.route import Route
from maas.http.routes import all_routes
from maas.settings import load_settings
from shared.errors import MaasError
from tests.http_calls import call, error_of
from tests.pictures import picture
from tests.polling import poll
from tests.stack import NOBODY, Stack

PAGE = "https://app.example"
DESKTOP = "app://notes.example"  # a program whose windows are pages


@pytest.fixture(scope="module")
def stack(fresh_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with Stack(fresh_database, tmp_path_factory.mktemp("replies"), MAAS_CORS_ORIGINS=f"{PAGE},{DESKTOP}") as running:
        running.start_server()
        yield running


def logged(stack: Stack, request_id: str) -> dict[str, Any]:
    """The line of a request."""
    lines = poll(
        lambda: [
            line
            for line in (json.loads(text) for text in stack.log().splitlines() if text.startswith("{"))
            if line["event"] == "request" and line["request_id"] == request_id
        ],
        what="the request is logged",
    )
    assert len(lines) == 1
    return dict(lines[0])


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/healthz", 200),
        ("GET", "/docs", 200),
        ("GET", "/docs/static/swagger-ui.css", 200),
        ("GET", "/", 307),
        ("GET", f"/v1/runs/{NOBODY}", 404),
        ("GET", "/nowhere", 404),
        ("DELETE", "/v1/runs", 405),
        ("POST", "/v1/runs", 415),
        ("GET", "/v1/runs?limit=0", 400),
    ],
)
def test_every_reply_is_named_and_safe(stack: Stack, method: str, path: str, status: int) -> None:
    reply = stack.client.request(method, path)
    assert reply.status_code == status
    assert re.fullmatch(r"[0-9a-f]{32}", reply.headers["x-request-id"])
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.headers["referrer-policy"] == "no-referrer"
    assert "frame-ancestors 'none'" in reply.headers["content-security-policy"]
    assert ("no-store" in reply.headers.get("cache-control", "")) == path.startswith("/v1/")
    assert "server" not in reply.headers


def test_a_bug_is_named_too(stack: Stack) -> None:
    stack.rows("alter view ai_conversations rename to elsewhere")
    try:
        reply = stack.client.get(f"/v1/conversations/{NOBODY}", headers={"origin": PAGE})
    finally:
        stack.rows("alter view elsewhere rename to ai_conversations")
    assert (reply.status_code, reply.json()["error"]["code"]) == (500, "internal")
    assert reply.headers["access-control-allow-origin"] == PAGE
    assert reply.headers["connection"] == "close"  # or the client's next request meets a connection that is closed
    assert logged(stack, reply.headers["x-request-id"])["status"] == 500


@pytest.mark.parametrize("name", ["a", "trace-7:1/2@x", "f" * 100])
def test_a_plain_name_of_the_client_is_kept(stack: Stack, name: str) -> None:
    assert stack.client.get("/healthz", headers={"x-request-id": name}).headers["x-request-id"] == name


@pytest.mark.parametrize("name", ["", "f" * 101, "two words", 'a"b', "a;b", "а".encode()])
def test_another_name_is_not(stack: Stack, name: str | bytes) -> None:
    reply = stack.client.get(
        "/healthz", headers=[(b"x-request-id", name if isinstance(name, bytes) else name.encode())]
    )
    assert re.fullmatch(r"[0-9a-f]{32}", reply.headers["x-request-id"])


def test_a_request_is_one_line_without_its_words(stack: Stack) -> None:
    name = f"asked-{uuid4().hex}"
    reply = stack.client.post(
        "/v1/runs?secret=parameter",
        json={"user_id": str(uuid4()), "query": "confidential"},
        headers={"x-request-id": name},
    )
    line = logged(stack, name)
    ms = line.pop("ms")
    assert isinstance(ms, float) and ms > 0
    del line["timestamp"]
    assert line == {
        "event": "request",
        "level": "info",
        "request_id": name,
        "method": "POST",
        "path": "/v1/runs",
        "status": 202,
        "caller": "http",
        "run_id": reply.json()["request_id"],
    }
    stack.client.get(f"/v1/runs/{uuid4()}", headers={"x-request-id": f"{name}-2"})
    assert logged(stack, f"{name}-2")["path"] == "/v1/runs/{id}"
    assert "confidential" not in stack.log() and "parameter" not in stack.log()
    assert not [line for line in stack.log().splitlines() if '"/healthz"' in line]


@pytest.mark.parametrize("route", all_routes(), ids=lambda route: f"{route.method} {route.path}")
def test_a_page_that_is_named_may_ask(stack: Stack, route: Route) -> None:
    asked = {
        "origin": PAGE,
        "access-control-request-method": route.method,
        "access-control-request-headers": "authorization, content-type, idempotency-key",
    }
    reply = stack.client.options(route.path, headers=asked)
    assert (reply.status_code, reply.headers["access-control-allow-origin"]) == (200, PAGE)
    assert route.method in reply.headers["access-control-allow-methods"]
    assert "idempotency-key" in reply.headers["access-control-allow-headers"].lower()
    assert stack.client.options(route.path, headers=asked | {"origin": "https://evil.example"}).status_code == 400


def test_a_page_that_is_named_may_read(stack: Stack) -> None:
    reply = stack.client.get("/healthz", headers={"origin": PAGE})
    assert reply.headers["access-control-allow-origin"] == PAGE
    assert {"X-Request-Id", "Retry-After"} <= set(reply.headers["access-control-expose-headers"].split(", "))
    other = stack.client.get("/healthz", headers={"origin": "https://evil.example"})
    assert "access-control-allow-origin" not in other.headers
    assert "access-control-allow-credentials" not in reply.headers


FOREIGN: list[dict[str, str]] = [
    {"origin": "https://evil.example"},
    {"origin": "null"},
    {"origin": "http://localhost.evil.example"},
    {"origin": "http://127.0.0.1@evil.example"},
    {"origin": f"{PAGE}.evil.example"},
    {"origin": ""},
    {"origin": "app://evil.example"},
    {"origin": "https://evil.example", "sec-fetch-site": "same-origin"},
    {"sec-fetch-site": "cross-site"},
]
OF_OURS: list[dict[str, str]] = [
    {},
    {"origin": PAGE, "sec-fetch-site": "cross-site"},
    {"origin": DESKTOP, "sec-fetch-site": "cross-site"},
    {"origin": "http://localhost:3000"},
    {"origin": "http://[::1]:8000", "sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "none"},
    {"sec-fetch-site": "same-origin"},
    {"sec-fetch-site": "same-site"},
]


@pytest.mark.parametrize(
    "route",
    [route for route in all_routes() if route.scope != "open"],
    ids=lambda route: f"{route.method} {route.path}",
)
def test_a_page_from_elsewhere_opens_nothing(stack: Stack, route: Route) -> None:
    counted = "select (select count(*) from pipeline_runs) + (select count(*) from attachments) as n"
    before = stack.rows(counted)
    for headers in FOREIGN:
        answer = call(stack, route, uuid4(), NOBODY, **headers)
        assert answer.status == 403 and "MAAS_CORS_ORIGINS" in error_of(answer.body)["message"], (headers, answer)
        assert answer.headers.get("access-control-allow-origin") is None
    assert stack.rows(counted) == before


def test_a_page_from_elsewhere_does_not_speak_mcp(stack: Stack) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    accepted = {"accept": "application/json, text/event-stream"}
    assert {stack.client.post("/mcp", json=message, headers=accepted | one).status_code for one in FOREIGN} == {403}
    assert {stack.client.post("/mcp", json=message, headers=accepted | one).status_code for one in OF_OURS} == {200}


@pytest.mark.parametrize("headers", OF_OURS, ids=str)
def test_pages_of_this_machine_and_programs_may_ask(stack: Stack, headers: dict[str, str]) -> None:
    data, files = {"user_id": str(uuid4())}, {"file": ("a.png", picture(), "image/png")}
    assert stack.client.post("/v1/attachments", data=data, files=files, headers=headers).status_code == 201


def test_whoever_follows_a_link_may_read_the_documentation(stack: Stack) -> None:
    headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    assert {stack.client.get(path, headers=headers).status_code for path in ("/docs", "/healthz")} == {200}


@pytest.mark.parametrize("origins", ["*", "https://app.example/path", "app.example", "https://*.example", "app://"])
def test_no_page_is_let_in_by_mistake(origins: str) -> None:
    with pytest.raises(MaasError, match="MAAS_CORS_ORIGINS"):
        load_settings(cors_origins=origins)


def test_the_documentation_may_run_its_own_scripts_only(stack: Stack) -> None:
    page = stack.client.get("/docs")
    scripts = re.findall(r"<script>(.*?)</script>", page.text, re.DOTALL)
    assert len(scripts) == 1
    policy = page.headers["content-security-policy"]
    assert f"'sha256-{b64encode(sha256(scripts[0].encode()).digest()).decode()}'" in policy
    assert (
        "script-src 'self' 'sha256-" in policy
        and "unsafe-inline" not in policy.partition("script-src")[2].partition(";")[0]
    )
