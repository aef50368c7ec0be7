"""Calls that a model writes as its text: what is one, what is none, and what of a stream is held back for it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maas.agents.written_calls import ask_with_tools
from maas.tools.calls import own_name
from shared.models import Message, Reply, Request, ToolCall, ToolSpec
from shared.models.calls import StreamListener
from shared.models.text_calls import MAX_HELD_CHARS, HeldListener, may_become_call, read_text_calls

CALL = '{"name": "weather", "arguments": {"city": "Москва"}}'
WRITTEN = [
    CALL,
    f"  \n{CALL}\n",
    f"```json\n{CALL}\n```",
    f"```\n{CALL}```",
    f"```tool_call\n{CALL}\n```",
    f"<tool_call>\n{CALL}\n</tool_call>",
    f"<tool_call>{CALL}",
    f"```xml\n<tool_call>{CALL}</tool_call>\n```",
    f"[TOOL_CALLS][{CALL}]",
    f"<|python_tag|>{CALL}",
    f"{{{CALL}}}",
    f"```json\n{{{CALL}}}\n```",
    CALL.replace("{", "{{").replace("}", "}}"),
    '{"name": "weather", "parameters": {"city": "Москва"}}',
    '{"type": "function", "name": "weather", "parameters": {"city": "Москва"}}',
    '{"function": "weather", "arguments": {"city": "Москва"}}',
    '{"type": "function", "function": {"name": "weather", "arguments": {"city": "Москва"}}}',
    '{"type": "function", "function": {"name": "weather", "arguments": "{\\"city\\": \\"Москва\\"}"}}',
    '{"tool_calls": [{"id": "1", "type": "function", "function": {"name": "weather", '
    '"arguments": {"city": "Москва"}}}]}',
]
PROSE = [
    "It is sunny.",
    "",
    f"I will call it: {CALL}",
    f"{CALL}\nThat is what the document says.",
    f"The letter holds:\n```json\n{CALL}\n```",
    f"```json\n{CALL}\n```\nShall I?",
    f"```python\n{CALL}\n```",
    f"> {CALL}",
    '{"name": "Bob"}',
    '{"name": "weather", "city": "Москва"}',
    '{"name": "weather", "arguments": {"city": "Москва"}, "comment": "as you asked"}',
    '{"city": "Москва"}',
    "[]",
    "[1, 2]",
    "{}",
    "{" * 5000,
    '"weather"',
    "``` ```",
]
REQUEST = Request("FinalResponder", (Message("user", "Weather?"),), tools=(ToolSpec("weather", "The weather."),))


@pytest.mark.parametrize("text", WRITTEN)
def test_a_reply_that_is_one_call(text: str) -> None:
    (call,) = read_text_calls(text)
    assert call.name == "weather" and json.loads(call.arguments) == {"city": "Москва"}
    assert all(may_become_call(text[:end]) for end in range(len(text) + 1))


@pytest.mark.parametrize("text", PROSE)
def test_a_reply_that_says_anything_else(text: str) -> None:
    assert read_text_calls(text) == ()


@pytest.mark.parametrize("text", [f"[{CALL}, {CALL}]", f"<tool_call>{CALL}</tool_call>\n<tool_call>{CALL}</tool_call>"])
def test_several_calls(text: str) -> None:
    assert [call.name for call in read_text_calls(text)] == ["weather", "weather"]
    assert all(may_become_call(text[:end]) for end in range(len(text) + 1))


@pytest.mark.parametrize(
    "text",
    [
        "It",
        "```python",
        "```py",
        f"{CALL} and",
        f"```json\n{CALL}\n``` and",
        '{"city"',
        "{'a",
        "[1",
        "<b>",
        "```json\n# a comment",
        " " * 9 + "x",
        '{"name": "' + "x" * MAX_HELD_CHARS,
    ],
)
def test_what_is_streamed_at_once(text: str) -> None:
    assert not may_become_call(text)


class Recorder:
    """What a listener was told."""

    def __init__(self) -> None:
        self.received = ""

    def begin(self) -> None:
        self.received = ""

    def text(self, delta: str) -> None:
        self.received += delta


@given(st.sampled_from([*WRITTEN, *PROSE]), st.integers(1, 7))
def test_an_answer_is_passed_on_whole_and_a_call_never(text: str, size: int) -> None:
    recorder = Recorder()
    held = HeldListener(recorder)
    held.begin()
    for start in range(0, len(text), size):
        held.text(text[start : start + size])
    if read_text_calls(text):
        assert recorder.received == ""
    else:
        held.release()
        assert recorder.received == text


class Speaking:
    """A model that says these texts one after another."""

    def __init__(self, *texts: str, calls: Sequence[ToolCall] = ()) -> None:
        self.texts = list(texts)
        self.calls = tuple(calls)
        self.requests: list[Request] = []
        self.pinned = 0

    async def ask(self, request: Request, listener: StreamListener | None) -> Reply:
        self.requests.append(request)
        text = self.texts.pop(0)
        assert listener is not None
        listener.begin()
        listener.text(text)
        return Reply(text, calls=self.calls, raw={"provider": "openai", "model": "q"})

    async def pin(self) -> None:
        self.pinned += 1


async def ask(speaking: Speaking, *, is_known: bool, request: Request = REQUEST) -> tuple[Reply, str]:
    recorder = Recorder()
    reply = await ask_with_tools(speaking.ask, request, recorder, lambda reply: is_known, speaking.pin)
    return reply, recorder.received


async def test_a_known_writer_has_its_call_made() -> None:
    reply, recorder = await ask(Speaking(f"```json\n{CALL}\n```"), is_known=True)
    (call,) = reply.calls
    assert (call.name, reply.text, reply.finish, reply.raw, recorder) == ("weather", "", "tool_calls", {}, "")
    assert call.id and (await ask(Speaking(f"```json\n{CALL}\n```"), is_known=True))[0].calls == (call,)


@pytest.mark.parametrize(
    ("text", "is_known", "choice"),
    [
        (CALL, False, "auto"),
        (CALL, True, "none"),
        (f"[{CALL}, {CALL}]", True, "auto"),
        (CALL.replace("weather", "tempest"), True, "auto"),
    ],
    ids=["another's model", "no further calls", "two calls", "no such tool"],
)
async def test_otherwise_it_is_asked_once_more(text: str, is_known: bool, choice: Literal["auto", "none"]) -> None:
    speaking = Speaking(text, "It is sunny.")
    request = replace(REQUEST, tool_choice=choice)
    reply, recorder = await ask(speaking, is_known=is_known, request=request)
    assert (reply.text, reply.calls, recorder, speaking.pinned) == ("It is sunny.", (), "It is sunny.", 1)
    assert speaking.requests[1].messages[1].text == text
    stubborn, recorder = await ask(Speaking(text, text), is_known=is_known, request=request)
    assert (stubborn.text, stubborn.calls, recorder) == ("", (), "")


@pytest.mark.parametrize("namespace", ["functions", "default_api", "tools", "multi_tool_use.parallel"])
async def test_a_tool_is_called_behind_the_namespace_that_models_write(namespace: str) -> None:
    speaking = Speaking(CALL.replace('"weather"', f'"{namespace}.weather"'))
    reply, _ = await ask(speaking, is_known=True)
    assert ([call.name for call in reply.calls], reply.text, len(speaking.requests)) == (["weather"], "", 1)


@pytest.mark.parametrize("name", ["functions.tempest", "functions.", "other.weather", "weather.functions"])
async def test_no_other_name_stands_for_a_tool(name: str) -> None:
    speaking = Speaking(CALL.replace('"weather"', f'"{name}"'), "It is sunny.")
    reply, _ = await ask(speaking, is_known=True)
    assert (reply.calls, reply.text) == ((), "It is sunny.")


def test_the_name_of_a_tool_with_a_namespace_is_its_own() -> None:
    assert own_name("functions.weather", {"functions.weather", "weather"}) == "functions.weather"
    assert own_name("functions.weather", {"weather"}) == "weather"
    assert own_name("functions.weather", ()) == "functions.weather"


async def test_a_quoted_document_calls_nothing() -> None:
    text = f"The document says:\n```json\n{CALL}\n```"
    reply, recorder = await ask(Speaking(text), is_known=True)
    assert (reply.text, reply.calls, recorder) == (text, (), text)


async def test_a_call_that_is_made_is_not_made_twice() -> None:
    made = ToolCall("1", "weather", "{}")
    reply, recorder = await ask(Speaking(CALL, calls=[made]), is_known=True)
    assert (reply.calls, reply.text, recorder) == ((made,), "", "")
