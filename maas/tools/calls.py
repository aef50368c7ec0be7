"""A tool call: its arguments, parsed from a model's JSON, and its result, as the JSON that the model reads."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, ValidationError
from pydantic_core import to_jsonable_python

from maas.conversations.actions import argument_problems
from maas.tools.tool import Tool
from shared.errors import MaasError, problems_of
from shared.json import MAX_JSON_DEPTH, is_storable, is_too_deep, json_object, json_parts, map_texts, parse_json
from shared.log import Secrets, conceal, redact
from shared.models import ToolCall
from shared.text import clean, is_blank, shorten

MAX_ARGUMENT_CHARS = 65_536
MAX_PROBLEMS = 5
MAX_RESULT_BYTES = 32_768
MAX_DATA_BYTES = 24_000
MAX_DIAGNOSTIC_BYTES = 8192  # of the arguments, and of the result, that are kept of a call for people
MAX_FINAL_CHARS = 16_000
_MAX_PART_BYTES = {"data": MAX_DATA_BYTES, "_entityMap": 4000, "recommendations": 2000, "verification": 1000}
_MIN_PART_BYTES = 100
_MAX_SECRET_CHARS = 512
_TOO_DEEP = f"arguments are nested deeper than {MAX_JSON_DEPTH} levels: send them flatter"

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
HANDLER_CODES = (None, "failed", "timeout")  # codes of the calls that reached their handler


class WrongArguments(ValueError):
    """Arguments that the tool refuses. The message tells the model what to send instead."""


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
    """

    data: Any
    entities: Mapping[str, Any] | None = None
    recommendations: Sequence[str] = ()
    verification: Any = None
    final: str | None = None
    documents: Sequence[UUID] | None = None

    def __post_init__(self) -> None:
        final = clean(self.final).strip() if self.final is not None else None
        if final is not None and (is_blank(final) or len(final) > MAX_FINAL_CHARS):
            raise ValueError(f"the final text of a tool has 1 to {MAX_FINAL_CHARS} characters, not {len(final)}")
        object.__setattr__(self, "final", final)


@dataclass(frozen=True, slots=True)
class ToolArguments:
    """Validated arguments. `values` is the JSON of `model` with its defaults; `ignored` names unknown arguments.

    For a tool that has only a schema, `model` is `values`. `wording` is how a call that waits is described to people.
    """

    model: BaseModel | Mapping[str, Any]
    values: Mapping[str, Any]
    ignored: tuple[str, ...]
    wording: Mapping[str, Any] | None = None


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
        return _compact(self.body, is_sorted=True)


def read_arguments(tool: Tool, text: str) -> ToolArguments:
    """Parse and validate arguments; an empty text means none. Obvious types are coerced: "5" to 5, 17 to "17".

    Unknown arguments are dropped and named. A dangerous tool refuses them, because a person must approve everything
    that the model meant. Raises WrongArguments.
    """
    values = _parse(text)
    ignored: list[str] = []
    coerced = _coerce(values, tool.parameters, "", ignored)
    if is_too_deep(coerced):  # coercion unpacks strings, so the depth may have grown
        raise WrongArguments(_TOO_DEEP)
    if ignored and tool.effect == "dangerous":
        raise WrongArguments(f"unknown: {shorten(', '.join(ignored), 300)}; send only what the tool takes")
    if tool.arguments is None:
        if errors := argument_problems(coerced, tool.parameters):
            raise WrongArguments(_message(errors))
        return ToolArguments(coerced, coerced, tuple(ignored))
    try:
        model = tool.arguments.model_validate(coerced)
        return ToolArguments(model, model.model_dump(mode="json", by_alias=True), tuple(ignored))
    except ValidationError as error:
        raise WrongArguments(_message([(one.path, one.message) for one in problems_of(error)])) from error
    except (ValueError, RecursionError) as error:  # of model_dump
        raise WrongArguments("arguments are nested too deeply") from error


def fingerprint(tool: Tool, values: Mapping[str, Any]) -> str:
    """A hash of a tool version and its arguments: it identifies a repeated call, and what a person approved."""
    text = json.dumps([tool.version, values], sort_keys=True, ensure_ascii=False)
    return sha256(text.encode()).hexdigest()


def _parse(text: str) -> dict[str, Any]:
    """The object that a model wrote. Raises WrongArguments."""
    if len(text) > MAX_ARGUMENT_CHARS:
        raise WrongArguments(f"arguments exceed {MAX_ARGUMENT_CHARS:,} characters: send less")
    try:
        value = parse_json(text) if text.strip() else {}
    except ValueError as error:
        raise WrongArguments("arguments are not JSON: send one JSON object") from error
    if not isinstance(value, dict):
        raise WrongArguments("arguments must be one JSON object")
    if is_too_deep(value):
        raise WrongArguments(_TOO_DEEP)
    if not is_storable(value):
        raise WrongArguments("arguments hold NUL, half a surrogate pair or an infinite number: send them without")
    return value


def _coerce(value: Any, schema: Mapping[str, Any], path: str, ignored: list[str]) -> Any:
    """`value` in the types of `schema`, as far as the meaning is clear; names of unknown arguments go to `ignored`."""
    kind = schema.get("type")
    if kind in ("object", "array") and isinstance(value, str):
        value = _unpack(value)
    if kind == "string" and type(value) is int:
        return str(value)
    if kind in ("integer", "number") and isinstance(value, bool):
        raise WrongArguments(f"{path}: must be a number, not true or false")
    if kind == "array" and isinstance(value, list):
        return [_coerce(one, schema["items"], f"{path}[{index}]", ignored) for index, one in enumerate(value)]
    if kind == "object" and isinstance(value, dict) and "properties" in schema:
        fields = {}
        for name, one in value.items():
            field_path = f"{path}.{name}" if path else name
            if name not in schema["properties"]:
                ignored.append(field_path)
            elif one is not None or name in schema["required"]:
                fields[name] = _coerce(one, schema["properties"][name], field_path, ignored)
        return fields
    return value


def _unpack(text: str) -> Any:
    """The object or array in a string: models sometimes encode one twice. Any other text stays as it is."""
    try:
        value = parse_json(text)
    except ValueError:
        return text
    return value if isinstance(value, dict | list) and is_storable(value) else text


def _message(errors: Sequence[tuple[tuple[int | str, ...], str]]) -> str:
    lines = [f"{'.'.join(map(str, path)) or 'arguments'}: {message}" for path, message in errors]
    more = f"; and {len(lines) - MAX_PROBLEMS} more" if len(lines) > MAX_PROBLEMS else ""
    return shorten("; ".join(lines[:MAX_PROBLEMS]), 1000) + more


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
    cut_parts = []
    values = to_json(parts)
    if secrets is not None and secrets.are_in(_compact(values)):
        values = map_texts(values, conceal)
    for name, value in values.items():
        if name == "data" or value is not None:
            body[name], is_cut = cut(value, _MAX_PART_BYTES[name])
            cut_parts += [name] if is_cut else []
    meta: dict[str, Any] = {"cut": cut_parts} if cut_parts else {}
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


def cut(value: Any, limit: int) -> tuple[Any, bool]:
    """`value` within `limit` bytes of JSON, and whether it was cut: a list to its first items, others as text."""
    if size(value) <= limit:
        return value, False
    if isinstance(value, list) and size(value[:1]) <= limit:
        bytes_left = limit - 2
        for index, one in enumerate(value):
            bytes_left -= size(one) + 1
            if bytes_left < 0:
                return value[:index], True
    text = value if isinstance(value, str) else _compact(value)
    shown = text[:limit]
    while shown and (shown_bytes := size(shown + "…")) > limit:
        shown = shown[: max(len(shown) * limit // shown_bytes - 1, 0)]
    return shown + "…", True


def diagnostic(parts: Mapping[str, Any], limit: int = MAX_DIAGNOSTIC_BYTES) -> Any:
    """Arguments or a result for people: without secrets, phone numbers and NUL, within `limit` bytes of JSON.

    The longest members are cut first; where all are short, the whole becomes the beginning of its JSON, a string.
    """
    if is_too_deep(parts):
        return f"nested deeper than {MAX_JSON_DEPTH} levels"
    if any(isinstance(one, float) and not math.isfinite(one) for one in json_parts(parts)):
        parts = {name: str(value) for name, value in parts.items()}
    value: dict[str, Any] = redact(map_texts(parts, lambda text: _without_tail(clean(text), limit)))
    for _ in range(len(_MAX_PART_BYTES)):
        if (excess := size(value) - limit) <= 0:
            return value
        name = max(value, key=lambda one: size(value[one]))
        value[name], is_cut = cut(value[name], max(size(value[name]) - excess, _MIN_PART_BYTES))
        if not is_cut:
            break
    return cut(value, limit)[0]


def _without_tail(text: str, chars: int) -> str:
    """At most `chars` characters, without the last word, of which half might not be recognised as a secret."""
    if len(text) <= chars:
        return text
    head = text[:chars]
    last_word = "" if head[-1].isspace() else head.rsplit(maxsplit=1)[-1]
    return head[: chars - min(len(last_word), _MAX_SECRET_CHARS)] + "…"


def size(value: Any) -> int:
    """The length of its JSON in bytes."""
    return len(_compact(value).encode())


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


def _compact(value: Any, *, is_sorted: bool = False) -> str:
    """JSON without blanks, which would cost a model a fifth more tokens."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=is_sorted)


def tag_safe_json(value: Any, *, is_sorted: bool = False) -> str:
    """JSON for a prompt: no text in it can open or close a tag."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=is_sorted)
    return text.replace("<", "\\u003c").replace(">", "\\u003e")
