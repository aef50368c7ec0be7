"""Edits of actions that wait: what a tool looks up is looked up before anybody is asked to approve it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any
from uuid import UUID

from maas import queries
from maas.conversations.actions import edit_action, read_action
from maas.engine.states import Status
from maas.http.errors import error_of_failed_run
from maas.http.openai.completions import wait_for_completion
from maas.http.state import AppState
from maas.runs.submit import cancel_run
from shared.errors import MaasError
from shared.json import json_object

LOOK_UP_TIMEOUT_S = 60.0
_CODES = {"already_decided": "already_decided", "tool_changed": "conflict", "not_connected": "not_executed"}


async def edit(
    state: AppState, action_id: UUID, user_id: UUID, arguments: dict[str, Any], by: str
) -> tuple[queries.ActionRow, bool]:
    """Replace the arguments of a pending action; returns it, and whether its tool has looked them up.

    What was looked up has to be shown again before it is approved. Raises MaasError as edit_action does; also
    `invalid_request` with what the tool says of arguments that cannot work, `not_executed` where it cannot be asked,
    and `answer_timeout`: then nothing is changed.
    """
    run_id = await edit_action(state.db, action_id, user_id, arguments, state.submissions.queue_limit)
    if run_id is not None:
        await _wait(state, run_id, by)
    return await read_action(state.db, action_id, user_id), run_id is not None


async def _wait(state: AppState, run_id: UUID, by: str) -> None:
    try:
        completion = await wait_for_completion(state, run_id, LOOK_UP_TIMEOUT_S)
    except MaasError as error:
        if error.code != "answer_timeout":
            raise
        with suppress(MaasError):
            await cancel_run(state.db, run_id, by)
        message = "nobody looked up the new arguments in time: look at the action again before you decide on it"
        raise MaasError("answer_timeout", message) from error
    if completion.status is Status.FAILED:
        raise error_of_failed_run(run_id, completion.error_code, completion.error_message)
    answer = json_object(completion.answer) or {}
    if (code := answer.get("error_code")) != "approval_required":
        details = {"error_code": code} | ({"say": answer["say"]} if answer.get("say") else {})
        message = str(answer.get("message") or "the tool does not take these arguments")
        raise MaasError(_CODES.get(str(code), "invalid_request"), message, details)
