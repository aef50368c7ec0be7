"""The messages of a model call, as every provider needs them: arguments, call ids, order, fingerprint of a request."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from hashlib import sha256
from typing import Any

from shared.json import map_texts, parse_json
from shared.models.types import Finish, Message, Model, Request, ToolCall
from shared.text import clean

_PORTABLE = re.compile(r"[A-Za-z0-9_-]{1,40}")  # a call id that every provider accepts


def read_arguments(text: str) -> dict[str, Any]:
    """Parse the arguments of a call into values that Postgres can hold; empty text is `{}`. Raises ValueError."""
    if not text.strip():
        return {}
    value = parse_json(text)
    if not isinstance(value, dict):
        raise ValueError("the arguments are not a JSON object")
    arguments: dict[str, Any] = map_texts(value, clean)
    return arguments


def arguments_or_empty(call: ToolCall) -> dict[str, Any]:
    """Return the arguments of a call, or `{}` if they are no JSON object, which a provider would refuse."""
    try:
        return read_arguments(call.arguments)
    except ValueError:
        return {}


class CallIds:
    """Gives each call of one reply an id that is new in the dialogue; an id of the provider is kept if it is new."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._messages = messages
        self._taken = {call.id for message in messages for call in message.calls}
        self._count = 0

    def __call__(self, call: ToolCall) -> ToolCall:
        self._count += 1
        if not call.id or call.id in self._taken:
            # A hash of the whole dialogue: a repeated reply gets the same id, another reply never does.
            call = replace(call, id=_digest(repr((self._count, call, self._messages))))
        self._taken.add(call.id)
        return call


def group_messages(messages: Sequence[Message], provider: str) -> list[tuple[Message, ...]]:
    """Return the dialogue for `provider`: groups of one message, but the results of the calls of one reply together.

    `raw` parts of another provider are dropped, and call ids rewritten if they might be refused. Results stand in the
    order of their calls, because some providers match them by position.
    """
    groups: list[tuple[Message, ...]] = []
    ids: dict[str, str] = {}
    positions: dict[str, int] = {}
    for message in messages:
        if message.role == "tool":
            results = groups.pop() if groups and groups[-1][0].role == "tool" else ()
            one = replace(message, call_id=ids.get(message.call_id, message.call_id))
            groups.append(
                tuple(sorted((*results, one), key=lambda result: positions.get(result.call_id, len(positions))))
            )
            continue
        if message.role == "assistant":
            own = message if message.raw.get("provider") == provider else _neutral(message)
            ids |= {one.id: other.id for one, other in zip(message.calls, own.calls, strict=True)}
            positions = {call.id: position for position, call in enumerate(own.calls)}
            message = own
        groups.append((message,))
    return groups


def finish_reason(reported: Finish, text: str, calls: Sequence[ToolCall]) -> Finish:
    """Return how a reply ended: servers report `stop` also for tool calls and for an empty reply."""
    if reported not in ("stop", "tool_calls"):
        return reported
    return "tool_calls" if calls else "stop" if text else "malformed"


def schema_instruction(schema: Mapping[str, Any]) -> str:
    """Return the instruction for a model whose provider cannot enforce a JSON schema."""
    text = json.dumps(schema, ensure_ascii=False)
    return f"Answer with one JSON object and nothing else. It must fit this JSON schema:\n{text}"


def fingerprint(model: Model, request: Request) -> str:
    """Return sha256, in hex, of everything that reaches the model; `inputs` do not.

    Names are sorted: a reply that was stored as jsonb comes back with its names in another order.
    """
    parts = [
        model.provider, model.name, request.system, [_hashable(one) for one in request.messages], request.json_schema,
        request.temperature, request.max_tokens, [asdict(tool) for tool in request.tools], request.tool_choice,
    ]  # fmt: skip
    return sha256(
        json.dumps(parts, ensure_ascii=False, default=str, sort_keys=True).encode("utf-8", "replace")
    ).hexdigest()


def _hashable(message: Message) -> object:
    return asdict(message) if message.calls or message.call_id else (message.role, message.text)


def _neutral(message: Message) -> Message:
    calls = (call if _PORTABLE.fullmatch(call.id) else replace(call, id=_digest(call.id)) for call in message.calls)
    return replace(message, raw={}, calls=tuple(calls))


def _digest(text: str) -> str:
    return f"call-{sha256(text.encode(errors='replace')).hexdigest()[:24]}"
