"""What every provider must do, against aimock; `make test-live` asks the real services of those whose key is set.

A real model chooses its own words, so these tests ask for words that it can hardly miss.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

import pytest

from maas.model_registry import open_model
from maas.settings import load_settings
from shared.models import ALIVE, Message, Model, Piece, Reply, Request, ToolCall, read_arguments
from tests.aimock import Aimock
from tests.contract.dialects import DIALECTS, WEATHER, Dialect, ask

KEYS = {dialect.provider: os.environ.get(f"{dialect.provider.upper()}_API_KEY") for dialect in DIALECTS}
TIMEOUT = 60.0
SCHEMA = {
    "type": "object",
    "properties": {"capital": {"type": "string"}},
    "required": ["capital"],
    "additionalProperties": False,
}
BOTH = "What is the weather in Moscow and in Paris? Call the tool for both at once."


@dataclass
class Partner:
    """A model, and the stand-in that plays it; a real one plays itself."""

    model: Model
    standing_in: Aimock | None

    def plays(self, *fixtures: dict[str, Any]) -> None:
        if self.standing_in:
            self.standing_in.fixtures(*fixtures)


MOCKED = [pytest.param((one, False), id=one.provider) for one in DIALECTS]
LIVE = [
    pytest.param((one, True), id=f"live-{one.provider}", marks=pytest.mark.live)
    for one in DIALECTS
    if KEYS[one.provider]
]


@pytest.fixture(params=[*MOCKED, *LIVE])
async def partner(request: pytest.FixtureRequest) -> AsyncIterator[Partner]:
    dialect: Dialect
    dialect, is_live = request.param
    if is_live:
        key = {f"{dialect.provider}_api_key": KEYS[dialect.provider]}
        found = Partner(open_model(f"{dialect.provider}:{dialect.live}", load_settings(**key)), None)
    else:
        aimock: Aimock = request.getfixturevalue("aimock")
        found = Partner(dialect.open(aimock.url), aimock)
    yield found
    await found.model.close()


def answers(text: str, **match: Any) -> dict[str, Any]:
    return {"match": match, "response": {"content": text}, "chunkSize": 4}


def calls(*cities: str) -> dict[str, Any]:
    asked = [{"name": "weather", "arguments": {"city": city}} for city in cities]
    # `stop`, or aimock ends it in a way that Gemini does not know
    return {"match": {"hasToolResult": False}, "response": {"toolCalls": asked, "finishReason": "stop"}}


def grown(request: Request, *turns: Message) -> Request:
    return replace(request, messages=(*request.messages, *turns))


async def hear(model: Model, request: Request) -> tuple[list[Piece], Reply]:
    async with aclosing(model.stream(request, TIMEOUT)) as pieces:
        *received, last = [piece async for piece in pieces if piece != ALIVE]
    assert isinstance(last, Reply)
    return received, last


def cities(found: tuple[ToolCall, ...]) -> set[str]:
    return {read_arguments(call.arguments)["city"] for call in found}


@pytest.mark.parametrize("word", ["Рекс", "🐕‍🦺", "שלום", "你好", "İstanbul"])
async def test_a_word_of_any_language(partner: Partner, word: str) -> None:
    partner.plays(answers(word))
    reply = await partner.model.complete(ask(f"Repeat this and nothing else: {word}"), TIMEOUT)
    assert word in reply.text
    assert (reply.finish, reply.calls) == ("stop", ())


async def test_the_system_text_is_obeyed(partner: Partner) -> None:
    partner.plays(answers("NO-SYSTEM", systemMessage="another"), answers("PLUM", systemMessage="PLUM"))
    request = ask("Which fruit?", system="Whatever you are asked, answer with the one word PLUM.")
    assert "PLUM" in (await partner.model.complete(request, TIMEOUT)).text


async def test_a_dialogue_is_remembered(partner: Partner) -> None:
    partner.plays(answers("Noted.", turnIndex=0), answers("Zephyr", turnIndex=1))
    request = ask("My boat is called Zephyr. Say: Noted.")
    reply = await partner.model.complete(request, TIMEOUT)
    request = grown(request, reply.message(), Message("user", "What is my boat called? One word."))
    assert "Zephyr" in (await partner.model.complete(request, TIMEOUT)).text


async def test_tokens_are_counted(partner: Partner) -> None:
    counted = {"prompt_tokens": 9, "completion_tokens": 2, "input_tokens": 9, "output_tokens": 2}
    partner.plays({"match": {}, "response": {"content": "Hello.", "usage": counted}})
    for usage in ((await partner.model.complete(ask(), TIMEOUT)).usage, (await hear(partner.model, ask()))[1].usage):
        assert usage.tokens_in > 0 and usage.tokens_out > 0


async def test_a_call_its_result_and_the_answer(partner: Partner) -> None:
    partner.plays(answers("It is snowing.", hasToolResult=True), calls("Moscow"))
    request = ask("What is the weather in Moscow? Use the tool.", tools=(WEATHER,))
    reply = await partner.model.complete(request, TIMEOUT)
    assert reply.finish == "tool_calls"
    assert cities(reply.calls) == {"Moscow"}
    request = grown(request, reply.message(), *(call.result("heavy snow, it is snowing") for call in reply.calls))
    done = await partner.model.complete(request, TIMEOUT)
    assert "snow" in done.text.lower()
    assert (done.finish, done.calls) == ("stop", ())


async def test_calls_at_once(partner: Partner) -> None:
    partner.plays(answers("Snow and rain.", hasToolResult=True), calls("Moscow", "Paris"))
    request = ask(BOTH, tools=(WEATHER,))
    reply = await partner.model.complete(request, TIMEOUT)
    assert cities(reply.calls) == {"Moscow", "Paris"}
    assert len({call.id for call in reply.calls}) == 2
    weather = {"Moscow": "snow", "Paris": "rain"}
    results = [call.result(weather[read_arguments(call.arguments)["city"]]) for call in reply.calls]
    done = await partner.model.complete(grown(request, reply.message(), *results), TIMEOUT)
    assert "snow" in done.text.lower() and "rain" in done.text.lower()


async def test_text_piece_by_piece(partner: Partner) -> None:
    partner.plays(answers("1 2 3 4 5 6 7 8 9 10"))
    received, reply = await hear(partner.model, ask("Count from 1 to 10 in digits."))
    assert "".join(str(piece) for piece in received) == reply.text
    assert len(received) > 1 or not partner.standing_in
    assert "9" in reply.text and reply.finish == "stop"


async def test_calls_piece_by_piece(partner: Partner) -> None:
    partner.plays(answers("Snow.", hasToolResult=True), calls("Moscow", "Paris"))
    request = ask(BOTH, tools=(WEATHER,))
    received, reply = await hear(partner.model, request)
    assert tuple(piece for piece in received if isinstance(piece, ToolCall)) == reply.calls
    assert (cities(reply.calls), reply.finish) == ({"Moscow", "Paris"}, "tool_calls")
    results = [call.result("snow") for call in reply.calls]
    _, done = await hear(partner.model, grown(request, reply.message(), *results))
    assert "snow" in done.text.lower()


async def test_json_of_a_schema(partner: Partner) -> None:
    partner.plays(answers('{"capital": "Paris"}'))
    reply = await partner.model.complete(ask("The capital of France, as JSON.", json_schema=SCHEMA), TIMEOUT)
    assert json.loads(reply.text) == {"capital": "Paris"}
