"""What /openapi.json says is valid, complete and true: schemathesis runs all its checks against the server."""

from __future__ import annotations

import json
import re
import unicodedata
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from maas.http.errors import STATUS
from maas.http.oauth import STATUS_OF_OAUTH_CODE
from maas.http.openapi import describe
from maas.http.routes import all_routes
from maas.http.schemas import STORABLE_PATTERN, VISIBLE_CHARACTER_PATTERN, VISIBLE_PATTERN
from maas.http.sign_in import STATUS_OF_CODE
from shared.text import is_blank
from tests.fuzz.proof import prove
from tests.stack import Stack

Document = dict[str, Any]


@pytest.fixture(scope="module")
def settings() -> dict[str, str]:
    return {"MAAS_A2A": "mentor"}


def operations(document: Document) -> dict[str, Document]:
    return {one["operationId"]: one for path in document["paths"].values() for one in path.values()}


@pytest.fixture(scope="module", params=[False, True], ids=["open", "guarded"])
def document(request: pytest.FixtureRequest) -> Document:
    return describe(all_routes(), version("maas"), request.param)


def test_document_is_valid(document: Document) -> None:
    OpenAPIV31SpecValidator(document).validate()


def test_every_route_is_described(document: Document) -> None:
    found = operations(document)
    assert set(found) == {route.handler.__name__ for route in all_routes()}
    assert len(found) == len(all_routes())
    tags = {tag["name"] for tag in document["tags"]}
    assert {tag for one in found.values() for tag in one["tags"]} == tags
    assert all(one["summary"] for one in found.values())


def test_every_code_is_named_where_its_status_is(document: Document) -> None:
    codes = document["components"]["schemas"]["Error"]["properties"]["error"]["properties"]["code"]["enum"]
    assert STATUS.keys() <= set(codes)
    for operation in operations(document).values():
        statuses = {"auth": STATUS_OF_CODE, "oauth": STATUS_OF_OAUTH_CODE}.get(operation["tags"][0], STATUS)
        for status, reply in operation["responses"].items():
            named = set(re.findall("`(\\w+)`", reply["description"]))
            known = {code for code, its in statuses.items() if str(its) == status}
            assert named == (known if status >= "400" else set())


def test_links_lead_to_parameters_that_are_there(document: Document) -> None:
    found = operations(document)
    links = [
        link
        for one in found.values()
        for reply in one["responses"].values()
        for link in reply.get("links", {}).values()
    ]
    assert len(links) > 20
    for link in links:
        target = found[link["operationId"]]
        known = {f"{one['in']}.{one['name']}" for one in target.get("parameters", [])}
        assert link["parameters"].keys() <= known


def test_only_the_guarded_document_asks_who_calls() -> None:
    closed, free = describe(all_routes(), "1", True), describe(all_routes(), "1", False)
    scopes = {route.handler.__name__: route.scope for route in all_routes()}
    for name, operation in operations(closed).items():
        if operation["tags"][0] not in ("auth", "oauth"):  # which authenticate by themselves
            is_closed = scopes[name] != "open"
            assert ("security" in operation, "401" in operation["responses"]) == (is_closed, is_closed), name
    others = [one for one in operations(free).values() if one["tags"][0] not in ("auth", "oauth")]
    assert not any("security" in one or "401" in one["responses"] for one in others)


def test_patterns_say_what_the_checks_do() -> None:
    """Of every character that Unicode knows."""
    known = [chr(point) for point in range(0x110000) if unicodedata.category(chr(point)) not in ("Cn", "Cs", "Co")]
    assert len(known) > 100_000
    blankless, visible, storable = (
        re.compile(VISIBLE_CHARACTER_PATTERN),
        re.compile(VISIBLE_PATTERN),
        re.compile(STORABLE_PATTERN),
    )
    assert [char for char in known if bool(blankless.search(char)) == is_blank(char)] == []
    assert visible.search(" a\n") and not visible.search("a\x00") and not visible.search(" \u200b")
    assert storable.search("") and not storable.search("\x00")


def test_docs_need_no_network(stack: Stack) -> None:
    """Everything that the page loads is served here, and nothing is named that is elsewhere."""
    page = stack.client.get("/docs").text
    named = re.findall(r'(?:src|href|url)\s*[=:]\s*"([^"]+)"', page)
    assert len(named) >= 3 and all(address.startswith("/") for address in named)
    assert not re.search(r"(https?:)?//[\w.]", page)
    for address in named:
        assert stack.client.get(address).status_code == 200, address
    style = stack.client.get("/docs/static/swagger-ui.css").text
    assert not [found for found in re.findall(r"(?:url\(|@import)\s*([^)]{0,20})", style) if "data:" not in found]
    assert "validatorUrl: null" in page  # without it the interface asks a service elsewhere for a badge


def test_a_streamed_completion_is_described(stack: Stack) -> None:
    """OpenAI's events have no id and no name, unlike those of a run."""
    model = stack.client.get("/v1/models").json()["data"][0]["id"]
    messages = [{"role": "user", "content": "привет"}]
    body = {"model": model, "messages": messages, "stream": True, "user": "described"}
    document = stack.client.get("/openapi.json").json()
    reply = operations(document)["post_chat_completion"]["responses"]["200"]
    with stack.client.stream("POST", "/v1/chat/completions", json=body) as stream:
        first = next(stream.iter_lines())
    name, _, text = first.partition(": ")
    assert json.loads(text)["object"] == "chat.completion.chunk"
    jsonschema.validate({name: text}, reply["content"]["text/event-stream"]["schema"])


def test_schemathesis_finds_nothing(stack: Stack, tmp_path: Path) -> None:
    """Examples, coverage, fuzzing and stateful; good and bad data; every check that there is."""
    status, report = prove(f"http://127.0.0.1:{stack.port}", tmp_path, seed=1, examples=2)
    assert status == 0, report[-20_000:]
    others = len(all_routes()) - 2  # all but the document itself and a stream without end
    assert f"Tested: {others}" in report and "No issues found" in report, report
    assert '"level": "error"' not in stack.log()
