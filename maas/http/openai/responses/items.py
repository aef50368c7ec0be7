"""Items of the Responses API as messages of a chat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from maas.http.openai.caller import bad_parameter, unsupported_parameter

MAX_ITEMS = 10_000
ROLES = ("user", "assistant", "system", "developer")
TEXT_PARTS = ("input_text", "output_text", "text", "refusal")
UNUSED_ITEMS = ("reasoning",)  # what models thought is not shown to other models
_IDS = {"message": "msg", "function_call": "fc", "function_call_output": "fco"}


def read_items(value: object) -> list[dict[str, Any]]:
    """The items of an input; a text is one message of the user. Raises MaasError('bad_parameter')."""
    if isinstance(value, str):
        return [{"type": "message", "role": "user", "content": value}]
    if not isinstance(value, list) or not value:
        raise bad_parameter("input: must be text or a list with at least one item", "input")
    if len(value) > MAX_ITEMS:
        raise bad_parameter(f"input: has {len(value)} items; at most {MAX_ITEMS} are allowed", "input")
    for number, item in enumerate(value):
        if not isinstance(item, dict):
            raise bad_parameter(f"input[{number}]: must be an object", "input")
    return value


def is_reference(item: Mapping[str, Any]) -> bool:
    """Whether an item only names another one, by its id."""
    return item.get("type") == "item_reference" or (not item.get("type") and "id" in item and "role" not in item)


def with_ids(items: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The items as they are stored: each with its type, a status and an id."""
    kinds = [str(item.get("type") or "message") for item in items]
    return [
        {"id": f"{_IDS.get(kind, 'item')}_{uuid4().hex}", "status": "completed", **item, "type": kind}
        for kind, item in zip(kinds, items, strict=True)
    ]


def to_messages(items: Sequence[Mapping[str, Any]]) -> tuple[list[dict[str, Any]], list[str]]:
    """The messages that the items are in a chat, and the names of items that have no place there.

    Calls that follow one another are those of one message. Raises MaasError: `bad_parameter`, `unsupported_parameter`.
    """
    messages: list[dict[str, Any]] = []
    unused: dict[str, None] = {}
    for number, item in enumerate(items):
        kind, name = item.get("type") or "message", f"input[{number}]"
        if kind == "message":
            messages.append(_message(item, name))
        elif kind == "function_call":
            _add_call(messages, item, name)
        elif kind == "function_call_output":
            call_id = _text(item, "call_id", name)
            messages.append({"role": "tool", "tool_call_id": call_id, "content": _output(item, name)})
        elif kind in UNUSED_ITEMS:
            unused[f"input[].{kind}"] = None
        else:
            raise unsupported_parameter(f"{name}: items of the type {str(kind)[:40]!r} are not supported", "input")
    return messages, list(unused)


def _message(item: Mapping[str, Any], name: str) -> dict[str, Any]:
    role = item.get("role")
    if role not in ROLES:
        raise bad_parameter(f"{name}: role must be one of {', '.join(ROLES)}", "input")
    content = item.get("content")
    if isinstance(content, str):
        return {"role": role, "content": content}
    parts = [_part(part, f"{name}.content[{n}]") for n, part in enumerate(_list(content, f"{name}.content"))]
    if all(part["type"] == "text" for part in parts) and (len(parts) == 1 or role == "assistant"):
        return {"role": role, "content": "".join(part["text"] for part in parts)}
    return {"role": role, "content": parts}


def _part(part: object, name: str) -> dict[str, Any]:
    if not isinstance(part, Mapping):
        raise bad_parameter(f"{name}: must be an object", "input")
    kind = part.get("type")
    if kind in TEXT_PARTS:
        return {"type": "text", "text": _text(part, "refusal" if kind == "refusal" else "text", name)}
    if kind == "input_image" and isinstance(url := part.get("image_url"), str):
        detail = {"detail": part["detail"]} if isinstance(part.get("detail"), str) else {}
        return {"type": "image_url", "image_url": {"url": url, **detail}}
    if kind == "input_file" and isinstance(part.get("file_data"), str):
        return {"type": "file", "file": {one: part[one] for one in ("filename", "file_data") if one in part}}
    if kind == "input_audio" and isinstance(part.get("input_audio"), Mapping):
        return {"type": "input_audio", "input_audio": part["input_audio"]}
    raise unsupported_parameter(
        f"{name}: parts of the type {str(kind)[:40]!r} without data of their own are not supported", "input"
    )


def _add_call(messages: list[dict[str, Any]], item: Mapping[str, Any], name: str) -> None:
    function = {one: _text(item, one, name) for one in ("name", "arguments")}
    call = {"id": _text(item, "call_id", name), "type": "function", "function": function}
    last = messages[-1] if messages else {}
    if last.get("role") == "assistant":
        last.setdefault("tool_calls", []).append(call)
    else:
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})


def _output(item: Mapping[str, Any], name: str) -> Any:
    output = item.get("output")
    if isinstance(output, str):
        return output
    parts = [_part(part, f"{name}.output[{n}]") for n, part in enumerate(_list(output, f"{name}.output"))]
    return "".join(one["text"] for one in parts) if all(one["type"] == "text" for one in parts) else parts


def _list(value: object, name: str) -> list[Any]:
    if not isinstance(value, list) or not value:
        raise bad_parameter(f"{name}: must be text or a list of parts", "input")
    return value


def _text(item: Mapping[str, Any], field: str, name: str) -> str:
    if not isinstance(text := item.get(field), str):
        raise bad_parameter(f"{name}: needs `{field}`, a text", "input")
    return text
