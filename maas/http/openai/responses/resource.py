"""The response object, and its items as a chat completion gives them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from maas.http.request_input import RESPONSE_PREFIX as PREFIX
from shared.text import as_uuid

_INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}
_ECHOED: Mapping[str, Any] = {  # fields of a request that its response repeats, and their defaults
    "instructions": None,
    "previous_response_id": None,
    "tools": [],
    "tool_choice": "auto",
    "truncation": "disabled",
    "parallel_tool_calls": True,
    "top_p": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
    "top_logprobs": 0,
    "temperature": 1.0,
    "user": None,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "background": False,
    "service_tier": "default",
    "metadata": {},
    "safety_identifier": None,
    "prompt_cache_key": None,
}


def response_id(run_id: str) -> str:
    """The id of the response that a run gives."""
    return PREFIX + UUID(run_id).hex


def run_of(name: object) -> UUID | None:
    """The run that gave the response of this id; None if it is no id of ours."""
    return as_uuid(name.removeprefix(PREFIX)) if isinstance(name, str) else None


def item_id(kind: str, response: str, index: int) -> str:
    """The id of an item of a response's output, by which `run_of_item` finds it again."""
    return f"{kind}_{response.removeprefix(PREFIX)}_{index}"


def run_of_item(name: object) -> UUID | None:
    """The run in whose output an item is; None if its id is none of ours."""
    parts = name.split("_") if isinstance(name, str) else []
    return run_of(parts[1]) if len(parts) == 3 else None


def new_resource(run_id: str, created_at: int, body: Mapping[str, Any], is_stored: bool) -> dict[str, Any]:
    """A response that is being written, with what the request asked for."""
    echoed = {name: default if body.get(name) is None else body[name] for name, default in _ECHOED.items()}
    echoed["tools"] = [{"description": None, "parameters": None, "strict": None, **tool} for tool in echoed["tools"]]
    form = (body.get("text") or {}).get("format") or {"type": "text"}
    if form.get("type") == "json_schema":
        form = {"description": None, "strict": False, **form}
    reasoning = body.get("reasoning") or {}
    return {
        "id": response_id(run_id),
        "object": "response",
        "created_at": created_at,
        "completed_at": None,
        "status": "in_progress",
        "incomplete_details": None,
        "model": body["model"],
        "output": [],
        "error": None,
        "text": {"format": form, **({"verbosity": body["text"]["verbosity"]} if _verbosity(body) else {})},
        "reasoning": {"effort": reasoning.get("effort"), "summary": reasoning.get("summary")},
        "usage": None,
        "store": is_stored,
        **echoed,
    }


def finished(
    resource: Mapping[str, Any],
    output: Sequence[Mapping[str, Any]],
    finish: str | None,
    usage: Mapping[str, Any] | None,
    now: int,
) -> dict[str, Any]:
    """The response once it is written; `finish` and `usage` are those of the chat completion."""
    reason = _INCOMPLETE.get(finish or "")
    return {
        **resource,
        "status": "incomplete" if reason else "completed",
        "completed_at": None if reason else now,
        "incomplete_details": {"reason": reason} if reason else None,
        "output": list(output),
        "usage": to_usage(usage),
    }


def failed(resource: Mapping[str, Any], code: str | None, message: str) -> dict[str, Any]:
    """The response of a request that was not answered."""
    return {**resource, "status": "failed", "error": {"code": code or "server_error", "message": message}}


def to_output(message: Mapping[str, Any], response: str) -> list[dict[str, Any]]:
    """The items of an assistant's message, in the response of this id."""
    items: list[dict[str, Any]] = []

    def new_id(kind: str) -> str:
        return item_id(kind, response, len(items))

    if isinstance(thoughts := message.get("reasoning_content"), str) and thoughts:
        items.append(reasoning_item(new_id("rs"), thoughts))
    if isinstance(text := message.get("content"), str) and text:
        items.append(message_item(new_id("msg"), text))
    elif isinstance(refusal := message.get("refusal"), str) and refusal:
        items.append(message_item(new_id("msg"), refusal, is_refusal=True))
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else []:
        function = call.get("function") or {}
        items.append(call_item(new_id("fc"), call.get("id"), function.get("name"), function.get("arguments")))
    return items


def message_item(item_id: str, text: str, status: str = "completed", *, is_refusal: bool = False) -> dict[str, Any]:
    """Return a message of the assistant as an output item; it has no content until it is completed."""
    part = {"type": "refusal", "refusal": text} if is_refusal else text_part(text)
    content = [part] if status == "completed" else []
    return {"id": item_id, "type": "message", "status": status, "role": "assistant", "content": content}


def text_part(text: str) -> dict[str, Any]:
    """Return a part of a message's content that is text."""
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def reasoning_item(item_id: str, text: str) -> dict[str, Any]:
    """Return a model's reasoning as an output item."""
    content = [{"type": "reasoning_text", "text": text}]
    return {"id": item_id, "type": "reasoning", "summary": [], "content": content, "status": "completed"}


def call_item(
    item_id: str, call_id: str | None, name: str | None, arguments: str | None, status: str = "completed"
) -> dict[str, Any]:
    """Return the call of a function as an output item; `arguments` is JSON text."""
    return {
        "id": item_id,
        "type": "function_call",
        "status": status,
        "call_id": call_id or item_id,
        "name": name or "",
        "arguments": arguments or "",
    }


def to_usage(usage: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The usage of a chat completion in the words of this API."""
    if not usage:
        return None
    details_in, details_out = usage.get("prompt_tokens_details") or {}, usage.get("completion_tokens_details") or {}
    tokens_in, tokens_out = usage.get("prompt_tokens") or 0, usage.get("completion_tokens") or 0
    return {
        "input_tokens": tokens_in,
        "input_tokens_details": {name: details_in.get(name) or 0 for name in ("cached_tokens", "cache_write_tokens")},
        "output_tokens": tokens_out,
        "output_tokens_details": {"reasoning_tokens": details_out.get("reasoning_tokens") or 0},
        "total_tokens": usage.get("total_tokens") or tokens_in + tokens_out,
    }


def _verbosity(body: Mapping[str, Any]) -> bool:
    return isinstance((body.get("text") or {}).get("verbosity"), str)
