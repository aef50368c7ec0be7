"""Servers that ask in the middle of a call, as 2026-07-28 lets them: what they are answered, and what a model reads."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from werkzeug import Request, Response

from maas.tools.calls import ToolDoubt, ToolFailure
from maas.tools.mcp_client.rounds import MAX_ROUNDS
from tests.contract.test_mcp import call, opened
from tests.http_server import HTTPServer
from tests.mcp_wire import REVISION

Json = dict[str, Any]
STATE = '{"step": 1} — as it was'
SURE = {
    "method": "elicitation/create",
    "params": {"message": "Sure?\nReally?", "requestedSchema": {"type": "object", "properties": {}}},
}
ASKED = {"resultType": "input_required", "inputRequests": {"sure": SURE}}
HEADER_MISMATCH = -32020


class Asking:
    """A server whose tools ask; keeps the parameters and the ids of the calls."""

    def __init__(self, server: HTTPServer) -> None:
        self.url = server.url_for("/mcp")
        self.calls: list[Json] = []
        self.ids: list[Any] = []
        self.lists = 0
        server.expect_request("/mcp").respond_with_handler(self._respond)

    def _respond(self, request: Request) -> Response:
        message = request.get_json()
        if "id" not in message:
            return Response("", 202)
        body = {"jsonrpc": "2.0", "id": message["id"]} | self._answer(message)
        return Response(json.dumps(body), content_type="application/json")

    def _answer(self, message: Json) -> Json:
        about = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
        match message["method"]:
            case "server/discover":
                info = {"name": "asking", "version": "1"}
                return {
                    "result": about
                    | {"supportedVersions": [REVISION], "capabilities": {"tools": {}}, "serverInfo": info}
                }
            case "tools/list":
                self.lists += 1
                names = ("ask", "structured", "again", "later", "roots", "typeless", "headers")
                return {
                    "result": about | {"tools": [{"name": one, "inputSchema": {"type": "object"}} for one in names]}
                }
            case "tools/call":
                self.calls.append(message["params"])
                self.ids.append(message["id"])
                return self._call(message["params"])
        return {"error": {"code": -32601, "message": "there is no such method"}}

    def _call(self, params: Json) -> Json:
        is_first = len(self.calls) == 1
        done: Json = {"resultType": "complete", "content": [{"type": "text", "text": "done"}]}
        match params["name"]:
            case "ask" | "structured" if is_first:
                return {"result": ASKED | {"requestState": STATE}}
            case "structured":
                return {"result": done | {"structuredContent": {"number": 7}}}
            case "again":
                return {"result": ASKED}
            case "later" if is_first:
                return {"result": {"resultType": "input_required", "requestState": STATE}}
            case "roots":
                return {"result": ASKED | {"inputRequests": {"roots": {"method": "roots/list"}}}}
            case "typeless":
                return {"result": {"content": done["content"]}}
            case "headers" if is_first:
                return {"error": {"code": HEADER_MISMATCH, "message": "the header is missing"}}
        return {"result": done}


@pytest.fixture
def asking() -> Iterator[Asking]:
    with HTTPServer(threaded=True) as server:
        yield Asking(server)


async def test_a_question_is_cancelled_and_shown(asking: Asking) -> None:
    """The state goes back as it came, under a new id; the capability is not offered."""
    async with opened(asking={"url": asking.url}) as toolbox:
        said = await call(toolbox, "asking__ask", number=1)
    first, second = asking.calls
    assert said[0] == "done" and "«Sure? Really?»" in said[1] and "Ask the user" in said[1]
    assert first["arguments"] == second["arguments"] == {"number": 1} and "inputResponses" not in first
    assert (second["inputResponses"], second["requestState"]) == ({"sure": {"action": "cancel"}}, STATE)
    assert asking.ids[0] != asking.ids[1]
    assert all("elicitation" not in one["_meta"]["io.modelcontextprotocol/clientCapabilities"] for one in asking.calls)


async def test_structured_content_has_the_question_beside_it(asking: Asking) -> None:
    async with opened(asking={"url": asking.url}) as toolbox:
        said = await call(toolbox, "asking__structured")
    assert said["result"] == {"number": 7} and "«Sure? Really?»" in said["note"]


async def test_a_call_is_made_again_with_its_state_alone(asking: Asking) -> None:
    async with opened(asking={"url": asking.url}) as toolbox:
        assert await call(toolbox, "asking__later") == "done"
    assert asking.calls[1]["requestState"] == STATE and "inputResponses" not in asking.calls[1]


async def test_a_server_that_asks_for_ever(asking: Asking) -> None:
    """Whether anything was done is unknown; no state is sent where none came."""
    async with opened(asking={"url": asking.url}) as toolbox:
        with pytest.raises(ToolDoubt, match="Sure"):
            await call(toolbox, "asking__again")
    assert len(asking.calls) == MAX_ROUNDS and not any("requestState" in one for one in asking.calls)


async def test_what_no_user_is_asked_is_refused(asking: Asking) -> None:
    async with opened(asking={"url": asking.url}) as toolbox:
        with pytest.raises(ToolFailure, match="roots/list, which is not offered"):
            await call(toolbox, "asking__roots")
    assert len(asking.calls) == 1


async def test_a_result_without_a_type_is_complete(asking: Asking) -> None:
    async with opened(asking={"url": asking.url}) as toolbox:
        assert await call(toolbox, "asking__typeless") == "done"


async def test_a_server_that_misses_headers_is_asked_for_its_tools(asking: Asking) -> None:
    async with opened(asking={"url": asking.url}) as toolbox:
        before = asking.lists
        assert await call(toolbox, "asking__headers") == "done"
    assert (len(asking.calls), asking.lists) == (2, before + 1)
