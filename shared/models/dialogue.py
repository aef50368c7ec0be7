"""What every provider does alike with a dialogue: read calls and name them, hand turns on, say how a reply ended."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any, NoReturn

from shared.models.types import Finish, Message, ToolCall
from shared.text import clean

_PORTABLE = re.compile(r"[A-Za-z0-9_-]{1,40}")  # what every provider takes for the id of a call


def read_arguments(text: str) -> dict[str, Any]:
    """The arguments of a call as values that Postgres can hold; none at all is `{}`. Raises ValueError."""
    if not text.strip():
        return {}
    try:
        found = json.loads(text, parse_constant=_refuse)
    except RecursionError as error:
        raise ValueError("the arguments are nested too deeply") from error
    if not isinstance(found, dict):
        raise ValueError("the arguments are not a JSON object")
    plain: dict[str, Any] = _cleaned(found)
    return plain


def sendable(call: ToolCall) -> dict[str, Any]:
    """The arguments of a call for a provider that takes only JSON objects: `{}` where they are none."""
    try:
        return read_arguments(call.arguments)
    except ValueError:
        return {}


class Names:
    """Gives each call of one reply an id that the dialogue does not hold yet; one that it brings along is kept."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._messages = messages
        self._taken = {call.id for message in messages for call in message.calls}
        self._count = 0

    def __call__(self, call: ToolCall) -> ToolCall:
        self._count += 1
        if not call.id or call.id in self._taken:
            # Of all that was said: the same reply has the same id again, another one never.
            call = replace(call, id=_digest(repr((self._count, call, self._messages))))
        self._taken.add(call.id)
        return call


def turns(messages: Sequence[Message], provider: str) -> list[tuple[Message, ...]]:
    """The dialogue as `provider` may see it: one message each, but the results of one turn together.

    What another provider made of its turns is dropped, its call ids are rewritten where they would be refused, and
    results stand in the order of their calls, which providers that know no ids go by.
    """
    found: list[tuple[Message, ...]] = []
    ids: dict[str, str] = {}
    places: dict[str, int] = {}
    for message in messages:
        if message.role == "tool":
            results = found.pop() if found and found[-1][0].role == "tool" else ()
            one = replace(message, call_id=ids.get(message.call_id, message.call_id))
            found.append(tuple(sorted((*results, one), key=lambda result: places.get(result.call_id, len(places)))))
            continue
        if message.role == "assistant":
            mine = message if message.raw.get("provider") == provider else _neutral(message)
            ids |= {one.id: other.id for one, other in zip(message.calls, mine.calls, strict=True)}
            places = {call.id: place for place, call in enumerate(mine.calls)}
            message = mine
        found.append((message,))
    return found


def settle(said: Finish, text: str, calls: Sequence[ToolCall]) -> Finish:
    """How a reply ended: servers say `stop` where a tool is called, and where there is nothing at all."""
    if said not in ("stop", "tool_calls"):
        return said
    return "tool_calls" if calls else "stop" if text else "malformed"


def in_words(schema: Mapping[str, Any]) -> str:
    """What a model is told that cannot be held to a JSON schema."""
    wanted = json.dumps(schema, ensure_ascii=False)
    return f"Answer with one JSON object and nothing else. It must fit this JSON schema:\n{wanted}"


def _neutral(message: Message) -> Message:
    calls = (call if _PORTABLE.fullmatch(call.id) else replace(call, id=_digest(call.id)) for call in message.calls)
    return replace(message, raw={}, calls=tuple(calls))


def _digest(text: str) -> str:
    return f"call-{sha256(text.encode(errors='replace')).hexdigest()[:24]}"


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_cleaned(one) for one in value]
    return {clean(key): _cleaned(one) for key, one in value.items()} if isinstance(value, dict) else value
