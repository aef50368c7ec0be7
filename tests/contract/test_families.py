"""Parameters that one family of models takes and another refuses."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pytest_httpserver import HTTPServer

from shared.models import Reply
from tests.contract.dialects import ANTHROPIC, OPENAI, Body, Dialect, ask, message

SCHEMA = {"type": "object", "properties": {"scope": {"type": "string", "minLength": 1}}, "required": ["scope"]}
pytestmark = pytest.mark.filterwarnings("ignore:The model 'claude:DeprecationWarning")


async def sent(dialect: Dialect, httpserver: HTTPServer, name: str, **changes: Any) -> Body:
    """What is sent to the model `name`."""
    httpserver.expect_request(dialect.path).respond_with_json(dialect.said("ok", ()))
    model = dialect.open(httpserver.url_for("").rstrip("/"), name)
    await model.complete(ask(**changes), 10)
    await model.close()
    body: Body = httpserver.log[0][0].get_json()
    assert body["model"] == name
    return body


@pytest.mark.parametrize("name", ["gpt-5", "gpt-5-mini", "gpt-5.2", "o1", "o3-mini", "o4-mini", "openai/gpt-5"])
async def test_reasoning_models_get_their_own_parameters(httpserver: HTTPServer, name: str) -> None:
    body = await sent(OPENAI, httpserver, name, temperature=0.5, max_tokens=50)
    assert body["max_completion_tokens"] == 50
    assert not {"max_tokens", "temperature"} & body.keys()


@pytest.mark.parametrize("name", ["gpt-4o", "gpt-4.1-mini", "gpt-oss:20b", "llama3.2", "omni", "qwen/qwen3-8b"])
async def test_other_models_get_the_usual_parameters(httpserver: HTTPServer, name: str) -> None:
    body = await sent(OPENAI, httpserver, name, temperature=0.5, max_tokens=50)
    assert (body["max_tokens"], body["temperature"]) == (50, 0.5)
    assert "max_completion_tokens" not in body


@pytest.mark.parametrize(
    "name",
    [
        "claude-3-5-haiku-20241022",
        "claude-sonnet-4-20250514",
        "claude-sonnet-4-0",
        "claude-opus-4-1-20250805",
        "claude-haiku-4-5",
        "claude-sonnet-4-6",
        "glm-4.6",
        "anthropic/claude-opus-5",
    ],
)
async def test_a_temperature_that_anthropic_takes(httpserver: HTTPServer, name: str) -> None:
    body = await sent(ANTHROPIC, httpserver, name, temperature=1.5, max_tokens=50)
    assert (body["temperature"], body["max_tokens"]) == (1.0, 50)


@pytest.mark.parametrize(
    "name", ["claude-opus-4-7", "claude-opus-4-8", "claude-sonnet-5", "claude-haiku-5-5", "claude-fable-5"]
)
async def test_a_temperature_that_anthropic_refuses(httpserver: HTTPServer, name: str) -> None:
    assert "temperature" not in await sent(ANTHROPIC, httpserver, name)


@pytest.mark.parametrize("name", ["claude-3-5-haiku-20241022", "claude-sonnet-4-20250514", "claude-opus-4-0"])
async def test_older_models_get_the_schema_in_words(httpserver: HTTPServer, name: str) -> None:
    body = await sent(ANTHROPIC, httpserver, name, json_schema=SCHEMA, system="Be brief.")
    assert "output_config" not in body
    assert body["system"].startswith("Be brief.\n\n") and json.dumps(SCHEMA) in body["system"]


async def test_a_schema_is_put_as_anthropic_takes_it(httpserver: HTTPServer) -> None:
    """It refuses lengths, and objects that are open."""
    schema = (await sent(ANTHROPIC, httpserver, "claude-sonnet-5", json_schema=SCHEMA))["output_config"]["format"]
    assert schema["schema"]["additionalProperties"] is False
    assert "minLength" not in schema["schema"]["properties"]["scope"]


async def test_what_anthropic_refuses_after_all_is_left_out_from_then_on(httpserver: HTTPServer) -> None:
    refusals = (
        "`temperature` is deprecated for this model.",
        "output_config.format: structured outputs are not supported by this model",
    )
    for said in refusals:
        error = {"type": "error", "error": {"type": "invalid_request_error", "message": said}}
        httpserver.expect_oneshot_request(ANTHROPIC.path).respond_with_json(error, 400)
    httpserver.expect_request(ANTHROPIC.path).respond_with_json(message([{"type": "text", "text": "{}"}]))
    model = ANTHROPIC.open(httpserver.url_for("").rstrip("/"))
    replies = [await model.complete(ask(json_schema=SCHEMA), 10) for _ in range(2)]
    await model.close()
    assert [type(reply) for reply in replies] == [Reply, Reply]
    bodies = [one.get_json() for one, _ in httpserver.log]
    assert [("temperature" in body, "output_config" in body) for body in bodies] == [
        (True, True),
        (False, True),
        (False, False),
        (False, False),
    ]
