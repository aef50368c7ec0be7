"""A model that calls a domain's tool by its own name: each provider gets its call back as it came, and the answer."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from tests.contract.dialects import ANTHROPIC, GEMINI, KEY, OPENAI, Body, Dialect, completion, generated, message
from tests.polling import poll
from tests.stack import Stack

SIGNATURE = base64.b64encode(b"\x00signed").decode()
ASKED = {"number": 7}
CALL = {"id": "call_1", "type": "function", "function": {"name": "read_report", "arguments": json.dumps(ASKED)}}
TOOL_USE = {"type": "tool_use", "id": "toolu_1", "name": "read_report", "input": ASKED}
THOUGHT = {"type": "thinking", "thinking": "A report?", "signature": SIGNATURE}
PART = {"functionCall": {"name": "read_report", "args": ASKED}, "thoughtSignature": SIGNATURE}
SAID: dict[str, Body] = {
    OPENAI.provider: completion(None, "tool_calls", tool_calls=[CALL]),
    GEMINI.provider: generated([PART]),
    ANTHROPIC.provider: message([THOUGHT, TOOL_USE], "tool_use"),
}


@pytest.fixture
def stack(database: str, tmp_path: Path) -> Iterator[Stack]:
    with Stack(database, tmp_path) as stack:
        yield stack


def settings(dialect: Dialect, url: str) -> dict[str, str]:
    name = dialect.provider.upper()
    return {
        f"{name}_API_KEY": KEY,
        f"{name}_BASE_URL": url.rstrip("/") + dialect.base,
        "MAAS_RESPONDER_MODEL": f"{dialect.provider}:{dialect.model}",
        "MAAS_STREAM": "off",
        "MAAS_TOOLS": "tests.reports:TOOLS",
    }


def test_a_call_goes_back_as_it_came(stack: Stack, dialect: Dialect, httpserver: HTTPServer) -> None:
    asked: list[Body] = []

    def say(request: Request) -> Response:
        asked.append(request.get_json())
        said = SAID[dialect.provider] if len(asked) == 1 else dialect.said("Seven.", ())
        return Response(json.dumps(said), content_type="application/json")

    httpserver.expect_request(dialect.path).respond_with_handler(say)
    definition = json.dumps({"routing": "meta_tools", "toolset": ["adverts"]})
    stack.rows("insert into assistants (name, role_name, definition) values ('desk', 'Mentor', %s)", definition)
    stack.start_orchestrator(**settings(dialect, httpserver.url_for("")))
    query = "insert into pipeline_runs (user_id, user_query, assistant) values (%s, 'How?', 'desk') returning id"
    (run,) = stack.rows(query, uuid4())
    poll(lambda: stack.rows("select from pipeline_runs where id = %s and queue_state = 2", run["id"]), 30, "it is over")
    (row,) = stack.rows("select final_answer, error_message from pipeline_runs where id = %s", run["id"])
    assert row == {"final_answer": "Seven.", "error_message": None}
    said, answered = (asked[-1].get("contents") or asked[-1]["messages"])[-2:]
    if dialect is OPENAI:
        assert said["tool_calls"] == [CALL]
        assert (answered["role"], answered["tool_call_id"]) == ("tool", "call_1")
        text = answered["content"]
    elif dialect is GEMINI:
        assert said["parts"] == [PART]
        response = answered["parts"][0]["functionResponse"]
        assert response["name"] == "read_report"
        text = response["response"]["output"]
    else:
        assert said["content"] == [THOUGHT, TOOL_USE]
        assert answered["content"][0]["tool_use_id"] == "toolu_1"
        text = answered["content"][0]["content"]
    (result,) = json.loads(text)["data"]["responses"]["adverts"]
    assert result["success"] and result["data"][0]["id"] == "7-0"
    made = stack.rows("select tool, arguments from tool_executions where run_id = %s", run["id"])
    assert made == [{"tool": "read_report", "arguments": ASKED}]
