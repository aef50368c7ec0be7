"""Elicitation: a client that can ask its user shows what waits for a decision, and says what the user has decided."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp_types import ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequiredResult
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from maas.client.results import InvalidRequest
from maas.mcp_server.context import McpContext
from maas.mcp_server.run_progress import RunProgress

KEY_PREFIX = (
    "approve-"  # the rest is the fingerprint of what was shown: an action that was changed since is not decided
)


def can_ask(request: ServerRequestContext[Any]) -> bool:
    """Whether the client of this request shows forms to its user."""
    capabilities = request.session.client_capabilities
    can = capabilities.elicitation if capabilities is not None else None
    is_form = can is not None and (can.form is not None or can.url is None)
    return is_form and request.protocol_version in MODERN_PROTOCOL_VERSIONS


def questions(progress: RunProgress) -> dict[str, ElicitRequest]:
    """What to show to the user, as a form without fields: to accept it is to approve."""
    assert progress.action is not None
    form = ElicitRequestFormParams(message=progress.shown, requested_schema={"type": "object", "properties": {}})
    return {KEY_PREFIX + progress.action["fingerprint"]: ElicitRequest(params=form)}


def ask_user(progress: RunProgress) -> InputRequiredResult:
    """The reply to a call that waits; the client repeats the call with the decision."""
    assert progress.action is not None
    requests: dict[str, Any] = {**questions(progress)}
    return InputRequiredResult(input_requests=requests, request_state=progress.action["id"])


async def decide(context: McpContext, progress: RunProgress, user: str, responses: Mapping[str, Any]) -> RunProgress:
    """Approve or reject what waits, as the user of the client has answered; a dismissed form decides nothing.

    Raises ClientError, InvalidRequest for an action that has changed or expired since it was shown.
    """
    action = progress.action
    found = next((name for name in responses if name.startswith(KEY_PREFIX)), None)
    verdict = _verdict(responses[found]) if found is not None else "cancel"
    if action is None or found is None or verdict == "cancel":
        return progress
    client, fingerprint = context.client, found.removeprefix(KEY_PREFIX)
    change = client.approve if verdict == "accept" else client.reject
    try:
        decided = await change(action["id"], user_id=user, fingerprint=fingerprint)
    except InvalidRequest as error:
        if error.code != "already_decided":
            raise
        decided = await client.get_action(action["id"], user_id=user)
    return replace(progress, action=dict(decided))


def _verdict(response: Any) -> str:
    """What the user has done with the form; a response that is none counts as a dismissal."""
    if isinstance(response, ElicitResult):
        return response.action
    try:
        return ElicitResult.model_validate(response).action
    except ValidationError:
        return "cancel"
