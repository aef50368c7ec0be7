"""What a call gave: a body that a model reads, never longer than it should, and why there is none."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic_core import to_jsonable_python

from maas.agents.arguments import Arguments
from maas.agents.tools import Tool
from shared.errors import MaasError
from shared.models.types import ToolCall
from shared.text import json_object

ErrorCode = Literal[
    "validation_error",
    "unknown_tool",
    "not_allowed",
    "tool_call_limit_reached",
    "approval_required",
    "tool_changed",
    "arguments_changed",
    "timeout",
    "failed",
    "in_doubt",
]
MADE = (None, "failed", "timeout")  # codes of calls whose handler was asked
RESULT_BYTES = 32_768
DATA_BYTES = 24_000
_SHARES = {"data": DATA_BYTES, "_entityMap": 4000, "recommendations": 2000, "verification": 1000}


class ToolFailure(MaasError):
    """A handler's own words about what went wrong: the model reads the message, the user of a dialogue `say`."""

    def __init__(self, message: str, say: str = "") -> None:
        super().__init__("failed", message, {"say": say} if say else None)


class ToolDoubt(ToolFailure):
    """The same, when nobody knows whether the call took effect."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a handler returns when data alone do not say all; `entities` maps names to ids that stand in the data."""

    data: Any
    entities: Mapping[str, Any] | None = None
    recommendations: Sequence[str] = ()
    verification: Any = None


@dataclass(frozen=True, slots=True)
class ToolResult:
    """A call and the JSON that its model reads; `tool` and `arguments` as far as the checks came."""

    call: ToolCall
    body: Mapping[str, Any]
    tool: Tool | None = None
    arguments: Arguments | None = None

    @property
    def is_success(self) -> bool:
        return bool(self.body["success"])

    @property
    def code(self) -> ErrorCode | None:
        """Why there are no data; None of a success."""
        return self.body.get("error_code")

    def untimed(self) -> dict[str, Any]:
        """The body without the time it took: a call that is made again should give its model the very same words."""
        body = _untimed(self.body)
        if self.tool is not None and self.tool.is_meta and isinstance(body.get("data"), Mapping):
            body["data"] = {name: _of_domain(one) for name, one in body["data"].items()}
        return to_json(body)

    def text(self) -> str:
        """The body as JSON of at most RESULT_BYTES; names are sorted: from the database they come in another order."""
        return _compact(self.body, is_sorted=True)


def succeeded(returned: Any) -> dict[str, Any]:
    """The body of what a handler returned, cut where it is too long. Raises ValueError for what is not JSON."""
    answer = returned if isinstance(returned, Answer) else Answer(returned)
    parts = {
        "data": answer.data,
        "_entityMap": answer.entities,
        "recommendations": answer.recommendations or None,
        "verification": answer.verification,
    }
    body: dict[str, Any] = {"success": True}
    shortened = []
    for name, value in to_json(parts).items():
        if name == "data" or value is not None:
            body[name], is_cut = cut(value, _SHARES[name])
            shortened += [name] if is_cut else []
    if shortened:
        body["_meta"] = {"cut": shortened}
    return body


def refused(code: ErrorCode, message: str, **details: Any) -> dict[str, Any]:
    """The body of a call that gave no data; `message` says to the model what to do now."""
    return {"success": False, "error_code": code, "message": message} | details


def to_json(parts: Mapping[str, Any]) -> dict[str, Any]:
    """The same as plain JSON values that Postgres takes: no NUL, no NaN. Raises ValueError."""
    text = json.dumps(to_jsonable_python(parts, inf_nan_mode="null"))
    found = json_object(text)
    if found is None:
        raise ValueError("not JSON")
    return found


def cut(value: Any, limit: int) -> tuple[Any, bool]:
    """`value` within `limit` bytes of JSON, and whether it had to be cut: a list to its first items, else as text."""
    if size(value) <= limit:
        return value, False
    if isinstance(value, list) and size(value[:1]) <= limit:
        room = limit - 2
        for place, one in enumerate(value):
            room -= size(one) + 1
            if room < 0:
                return value[:place], True
    text = value if isinstance(value, str) else _compact(value)
    shown = text[:limit]
    while shown and (taken := size(shown + "…")) > limit:
        shown = shown[: max(len(shown) * limit // taken - 1, 0)]
    return shown + "…", True


def size(value: Any) -> int:
    """Bytes of its JSON."""
    return len(_compact(value).encode())


def _untimed(body: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(meta := body.get("_meta"), Mapping):
        return dict(body)
    return {**body, "_meta": {name: value for name, value in meta.items() if name != "latency_ms"}}


def _of_domain(answer: Any) -> Any:
    """What a domain answered, whose calls have times of their own."""
    if not isinstance(answer, Mapping) or "response" not in answer:
        return answer
    response = answer["response"]
    told = [_untimed(one) for one in response] if isinstance(response, list) else response
    return {name: value for name, value in answer.items() if name != "latency_ms"} | {"response": told}


def _compact(value: Any, *, is_sorted: bool = False) -> str:
    """JSON without blanks, which would cost a model a fifth more tokens."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=is_sorted)
