"""A tool call: its arguments, parsed from a model's JSON, and its result, as the JSON that the model reads."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal
from uuid import UUID

from pydantic_core import to_jsonable_python

from maas.tools.arguments import ToolArguments
from maas.tools.rows import DATA, LeftOut, compact, fit_members, fit_rows, merged, size
from maas.tools.tool import Tool
from shared.errors import MaasError
from shared.json import MAX_JSON_DEPTH, is_too_deep, json_object, json_parts, map_texts
from shared.log import Secrets, conceal, redact
from shared.models import ToolCall
from shared.text import clean, is_blank

MAX_RESULT_BYTES = 32_768
MAX_DATA_BYTES = 24_000
MAX_DIAGNOSTIC_BYTES = 8192  # of the arguments, and of the result, that are kept of a call for people
MAX_FINAL_CHARS = 16_000
_MAX_PART_BYTES = {"data": MAX_DATA_BYTES, "_entityMap": 4000, "recommendations": 2000, "verification": 1000}
_MIN_PART_BYTES = 100
_NOTE_BYTES = 300  # of what was left out of a value for people
_MAX_SECRET_CHARS = 512

ErrorCode = Literal[
    "validation_error",
    "unknown_tool",
    "not_allowed",
    "TOOL_CALL_LIMIT",
    "not_connected",
    "no_data",
    "approval_required",
    "tool_changed",
    "arguments_changed",
    "timeout",
    "failed",
    "in_doubt",
]
_NAMESPACES = re.compile(r"(?:(?:functions?|default_api|tools|multi_tool_use|parallel)\.)+")
HANDLER_CODES = (None, "failed", "timeout")  # codes of the calls that reached their handler


def own_name(name: str, known: Container[str]) -> str:
    """The name of a `known` tool that a model wrote behind a namespace, such as `functions.NAME`; else the same."""
    if name in known or (prefix := _NAMESPACES.match(name)) is None:
        return name
    bare = name[prefix.end() :]
    return bare if bare in known else name


class ToolFailure(MaasError):
    """Raised by a handler: the call failed. The model reads the message; `say` is a sentence for the user."""

    def __init__(self, message: str, say: str = "") -> None:
        super().__init__("failed", message, {"say": say} if say else None)


class ToolDoubt(ToolFailure):
    """Raised by a handler: it is unknown whether the call took effect."""


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """What a handler returns that has more to say than data. `entities` maps names to the ids that the data hold.

    `final` is the answer to the user, word for word: no model is asked after it. It is cleaned when it is made.
    `documents` are the ids of those whose text the data hold, from a tool that says so: None where the text is its own.
    `left_out` is what the handler has left out of the data itself, as `fit_members` names it.
    """

    data: Any
    entities: Mapping[str, Any] | None = None
    recommendations: Sequence[str] = ()
    verification: Any = None
    final: str | None = None
    documents: Sequence[UUID] | None = None
    left_out: LeftOut = field(default_factory=dict)

    def __post_init__(self) -> None:
        final = clean(self.final).strip() if self.final is not None else None
        if final is not None and (is_blank(final) or len(final) > MAX_FINAL_CHARS):
            raise ValueError(f"the final text of a tool has 1 to {MAX_FINAL_CHARS} characters, not {len(final)}")
        object.__setattr__(self, "final", final)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """A call and the JSON body that its model reads. `tool` and `arguments` are None if the checks failed earlier.

    `agent` is the agent that made the call; None for a call of the assistant itself.
    """

    call: ToolCall
    body: Mapping[str, Any]
    tool: Tool | None = None
    arguments: ToolArguments | None = None
    agent: str | None = None

    @property
    def is_success(self) -> bool:
        return bool(self.body["success"])

    @property
    def final(self) -> str | None:
        """The answer to the user, word for word, where the tool gives one."""
        return self.body.get("final") if self.is_success else None

    @property
    def code(self) -> ErrorCode | None:
        """Why the call gave no data; None for a success."""
        return self.body.get("error_code")

    @property
    def documents(self) -> list[UUID] | None:
        """The documents whose text the result holds; None for a tool that does not say."""
        ids = self.body["_meta"].get("documents")
        return None if ids is None else [UUID(one) for one in ids]

    def untimed(self) -> dict[str, Any]:
        """The body without latencies and ids of documents.

        After a crash a repeated read must give its model the same text: a stored reply answers one exact request.
        """
        body = _without_latency(self.body)
        if self.tool is not None and self.tool.is_meta and isinstance(body.get("data"), Mapping):
            body["data"] = _untimed_domains(body["data"])
        return to_json(body)

    def text(self) -> str:
        """The body as JSON of at most MAX_RESULT_BYTES. Names are sorted, because jsonb does not keep their order."""
        return compact(self.body, is_sorted=True)


def succeeded(returned: Any, secrets: Secrets | None = None) -> dict[str, Any]:
    """The body for what a handler returned; parts that are too long are cut. Raises ValueError for what is not JSON.

    `secrets`, which are concealed here, are masked before anything is cut.
    """
    answer = returned if isinstance(returned, ToolAnswer) else ToolAnswer(returned)
    parts = {
        "data": answer.data,
        "_entityMap": answer.entities,
        "recommendations": answer.recommendations or None,
        "verification": answer.verification,
    }
    body: dict[str, Any] = {"success": True}
    left_out: dict[str, LeftOut] = {DATA: answer.left_out} if answer.left_out else {}
    values = to_json(parts)
    if secrets is not None and secrets.are_in(compact(values)):
        values = map_texts(values, conceal)
    for name, value in values.items():
        if name == DATA or value is not None:
            body[name], missing = fit_rows(value, _MAX_PART_BYTES[name])
            left_out |= {name: merged(left_out.get(name, {}), missing)} if missing else {}
    meta: dict[str, Any] = {"cut": list(left_out)} if left_out else {}
    if DATA in left_out:
        meta["left_out"] = left_out[DATA]
    if answer.documents is not None:
        meta["documents"] = [str(one) for one in dict.fromkeys(answer.documents)]
    if meta:
        body["_meta"] = meta
    return body | ({"final": answer.final} if answer.final is not None else {})


def refused(code: ErrorCode, message: str, **details: Any) -> dict[str, Any]:
    """The body of a call that gave no data; `message` tells the model what to do now."""
    return {"success": False, "error_code": code, "message": message} | details


def to_json(parts: Mapping[str, Any]) -> dict[str, Any]:
    """Plain JSON values that Postgres can store: no NUL, no NaN. Raises ValueError."""
    text = json.dumps(to_jsonable_python(parts, inf_nan_mode="null"))
    value = json_object(text)
    if value is None:
        raise ValueError("not JSON")
    return value


def diagnostic(parts: Mapping[str, Any], limit: int = MAX_DIAGNOSTIC_BYTES) -> Any:
    """Arguments or a result for people: without secrets, phone numbers and NUL, within `limit` bytes of JSON.

    The longest members are cut first, by rows; where all are short, the last ones are left out. `_left_out` says how
    much is missing, where there is room for it.
    """
    if is_too_deep(parts):
        return f"nested deeper than {MAX_JSON_DEPTH} levels"
    if any(isinstance(one, float) and not math.isfinite(one) for one in json_parts(parts)):
        parts = {name: str(value) for name, value in parts.items()}
    value: dict[str, Any] = redact(map_texts(parts, lambda text: _without_tail(clean(text), limit)))
    if size(value) <= limit:
        return value
    fitted, left_out = _shortened(value, max(limit - _NOTE_BYTES, limit // 2))
    noted = {**fitted, "_left_out": left_out}
    return noted if size(noted) <= limit else fitted


def _shortened(value: dict[str, Any], limit: int) -> tuple[dict[str, Any], LeftOut]:
    """An object within `limit` bytes of JSON, and what was left out of it."""
    left_out: LeftOut = {}
    for _ in range(len(_MAX_PART_BYTES)):
        if (excess := size(value) - limit) <= 0:
            return value, left_out
        name = max(value, key=lambda one: size(value[one]))
        value, missing = fit_members(value, {name: max(size(value[name]) - excess, _MIN_PART_BYTES)})
        if not missing:
            break
        left_out |= missing
    fitted, missing = fit_rows(value, limit)
    return fitted or {}, left_out | missing


def _without_tail(text: str, chars: int) -> str:
    """At most `chars` characters, without the last word, of which half might not be recognised as a secret."""
    if len(text) <= chars:
        return text
    head = text[:chars]
    last_word = "" if head[-1].isspace() else head.rsplit(maxsplit=1)[-1]
    return head[: chars - min(len(last_word), _MAX_SECRET_CHARS)] + "…"


def _without_latency(body: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(meta := body.get("_meta"), Mapping):
        return dict(body)
    return {**body, "_meta": {name: value for name, value in meta.items() if name not in ("latency_ms", "documents")}}


def _untimed_domains(data: Mapping[str, Any]) -> dict[str, Any]:
    """The answers of domains without their own latencies and those of the calls in them."""
    untimed = dict(data)
    if isinstance(domains := data.get("domains"), Mapping):
        untimed["domains"] = {
            name: {key: value for key, value in one.items() if key != "latency_ms"} for name, one in domains.items()
        }
    if isinstance(responses := data.get("responses"), Mapping):
        untimed["responses"] = {
            name: [_without_latency(one) for one in response] if isinstance(response, list) else response
            for name, response in responses.items()
        }
    return untimed


def tag_safe_json(value: Any, *, is_sorted: bool = False) -> str:
    """JSON for a prompt: no text in it can open or close a tag."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=is_sorted)
    return text.replace("<", "\\u003c").replace(">", "\\u003e")
