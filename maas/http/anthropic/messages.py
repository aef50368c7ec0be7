"""/v1/messages: a request of Anthropic's API to a pass-through model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from maas.http.anthropic import MessageRequest, anthropic_error_response
from maas.http.authorize import principal_of
from maas.http.openai import error_of_failed_run
from maas.http.openai.caller import Caller, bad_parameter, read_caller, resolve_caller
from maas.http.openai.completions import read_value
from maas.http.openai.passthrough import find_model, follow, open_call
from maas.http.openai.request import unknown_model
from maas.http.request_input import validate
from maas.passthrough.apis import MESSAGES
from shared.errors import MaasError


async def post_message(request: Request) -> Response:
    """Send a request of the Messages API to its provider with memory in it, and the reply back."""
    value = await read_value(request)
    validate(MessageRequest, value)
    assert isinstance(value, dict)
    caller = _read_caller(request, value)
    if (model := find_model(request, value)) is None:
        await resolve_caller(request, caller)
        raise await unknown_model(request, value["model"])
    call = await open_call(request, model, value, value["messages"], MESSAGES, caller)
    try:
        return await follow(request, call)
    except MaasError as error:
        status, detail = error_of_failed_run(error.code, f"{error.message} (run {call.notes['request_id']})")
        return anthropic_error_response(status, error.code, detail.message, {"x-should-retry": "true"})


def _read_caller(request: Request, body: Mapping[str, Any]) -> Caller:
    """Who asks: `user` or a header says it, or the key; agents send a `user_id` that is another one each session."""
    ours = {name: value for name, value in body.items() if name in MESSAGES.own_fields}
    caller = read_caller(request, ours)
    named = (body.get("metadata") or {}).get("user_id")
    if caller.user is not None or named is None or principal_of(request).user_id is not None:
        return caller
    if not isinstance(named, str):
        raise bad_parameter("metadata.user_id: must be text", "metadata.user_id")
    return replace(caller, user=named)
