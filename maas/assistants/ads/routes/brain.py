"""/api/brain: assistants that act, in the shapes that web interfaces of advertising assistants use."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping
from typing import Any, cast
from uuid import NAMESPACE_URL, UUID, uuid4, uuid5

from pydantic import ConfigDict, Field, StrictBool
from pydantic.alias_generators import to_camel
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from structlog.contextvars import bind_contextvars

from maas.assistants.ads import queries
from maas.conversations import Mode
from maas.engine.events import EventType
from maas.engine.states import Status
from maas.http.actions import get_action, post_approve, post_reject
from maas.http.authorize import hold_stream, principal_of, read_body
from maas.http.errors import error_of_failed_run
from maas.http.openai.completions import wait_for_completion
from maas.http.request_input import read_idempotency_key
from maas.http.schemas import AssistantName, Name, QueryText, RequestBody, Schema, json_response
from maas.http.server_sent_events import (
    EVENT_STREAM,
    EVENT_STREAM_HEADERS,
    KEEP_ALIVE_COMMENT,
    data_line,
    still_answering,
)
from maas.http.state import AppState, app_state
from maas.http.users import read_user_header, resolve_user
from maas.runs.answers import RunAnswer, read_answer
from maas.runs.submit import Submission
from shared.db import CONNECTION_LOST, Database
from shared.errors import MaasError

ASSISTANT = "ads"  # answers if a request names none
ORCHESTRATOR = "MetaOrchestrator"  # the agent of an answer under `meta_tools`
STREAMED = (
    EventType.TEXT,
    EventType.TOOL_START,
    EventType.TOOL_RESULT,
    EventType.APPROVAL_REQUIRED,
    EventType.LAYER,
)


class BrainBody(RequestBody):
    """Base of the request bodies, whose fields are in camel case."""

    model_config = ConfigDict(alias_generator=to_camel)


class BrainMessage(BrainBody):
    message: QueryText
    user: Name | None = Field(None, description="The user, by any text of 1 to 200 characters; else X-MaaS-User.")
    user_account_id: Name | None = Field(None, description="The user account that tools work on.")
    ad_account_id: Name | None = Field(None, description="The ad account that tools work on: its id or `act_NUMBER`.")
    conversation_id: UUID | None = Field(None, description="Without one, a conversation is opened.")
    mode: Mode | None = Field(None, description="The mode of this request; by default the conversation's.")
    debug_layers: StrictBool = Field(False, description="Whether the stream has events of the type `layer`.")
    assistant: AssistantName = ASSISTANT


class BrainSchema(Schema):
    """Base of the responses, whose fields are in camel case."""

    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True)


class BrainMetadata(BrainSchema):
    iterations: int = Field(description="Rounds of the tool loop; calls of domain agents and of tools are not rounds.")
    tokens: int = Field(description="Tokens, in and out, of all model calls that made the answer.")
    run_id: UUID


class BrainAnswer(BrainSchema):
    """An answer, and what was done for it."""

    conversation_id: UUID | None
    response: str
    executed_actions: list[dict[str, Any]] = Field(
        description="What the answer proposes: {id, tool, arguments, fingerprint}, and the writes that were made for "
        "it: {tool, arguments, status, verification}."
    )
    mode: Mode = Field(description="The mode in which the request was answered.")
    agent: str = Field(description="The agent that answered; MetaOrchestrator under the routing `meta_tools`.")
    metadata: BrainMetadata


async def post_brain_chat(request: Request) -> Response:
    """Send a message to an assistant and wait for its answer."""
    run_id = await submit(request, await _read_message(request))
    return await answer_when_finished(request, run_id)


async def post_brain_stream(request: Request) -> Response:
    """Send a message to an assistant and stream its answer; the last event has what POST /api/brain/chat returns.

    An event `text` with another `attempt` begins the text anew; the answer is that of `done`. Disconnecting does not
    cancel the run.
    """
    submission = await _read_message(request)
    hold_stream(request)
    run_id = await submit(request, submission)
    lines = stream_answer(app_state(request), run_id)
    return StreamingResponse(lines, media_type=EVENT_STREAM, headers=EVENT_STREAM_HEADERS)


async def get_brain_action(request: Request) -> Response:
    """Return the status of an action, as GET /v1/actions/{id} does."""
    return await get_action(request)


async def approve_brain_action(request: Request) -> Response:
    """Approve an action, as POST /v1/actions/{id}/approve does."""
    return await post_approve(request)


async def reject_brain_action(request: Request) -> Response:
    """Reject an action, as POST /v1/actions/{id}/reject does."""
    return await post_reject(request)


async def _read_message(request: Request) -> Submission:
    """Raises MaasError: what `read_body`, `resolve_user` and `read_own_account` raise."""
    body = await read_body(request, BrainMessage)
    user_id = await resolve_user(request, body.user or read_user_header(request))
    caller, key = principal_of(request).name, read_idempotency_key(request)
    account = await read_own_account(app_state(request).db, user_id, body.user_account_id, body.ad_account_id)
    # A repeated request must name the conversation that its first one opened.
    opened = uuid4() if key is None else uuid5(NAMESPACE_URL, f"{caller} {user_id} {key}")
    return Submission(
        user_id=user_id,
        query=body.message,
        assistant=body.assistant,
        conversation_id=body.conversation_id or opened,
        metadata=run_metadata(account, body.debug_layers),
        caller=caller,
        idempotency_key=key,
        mode=body.mode,
    )


async def read_own_account(
    db: Database, user_id: UUID, user_account_id: str | None, ad_account_id: str | None
) -> str | None:
    """The id of the ad account, or of the user account where none is named; None without both.

    Raises MaasError('not_found') for one that does not exist, is another user's, or is not part of the other.
    """
    if user_account_id is None and ad_account_id is None:
        return None
    account: str | None = await db.value(queries.own_account, user_id, user_account_id, ad_account_id)
    if account is None:
        name = user_account_id if ad_account_id is None else ad_account_id
        raise MaasError("not_found", f"there is no account {name} of this user")
    return account


def run_metadata(account: str | None, debug_layers: bool = False) -> dict[str, Any] | None:
    """The metadata of a run that works on this account."""
    return ({"account": account} if account else {}) | ({"debugLayers": True} if debug_layers else {}) or None


async def submit(request: Request, submission: Submission) -> UUID:
    """Insert the run of a message. Raises MaasError as Submitter.submit."""
    run_id = await app_state(request).submissions.submit(submission)
    bind_contextvars(run_id=run_id)  # for the log line of this request
    return run_id


async def answer_when_finished(request: Request, run_id: UUID) -> Response:
    """The answer of a run as a response. Raises MaasError: `answer_timeout`, and the error of a run that FAILED."""
    state = app_state(request)
    completion = await wait_for_completion(state, run_id)
    if completion.status is Status.FAILED:
        raise error_of_failed_run(run_id, completion.error_code, completion.error_message)
    return json_response(await _to_answer(state.db, completion))


async def stream_answer(state: AppState, run_id: UUID) -> AsyncGenerator[str, None]:
    """Yield the events of a run, each as one line of JSON with its `type`; the last is `done` or `error`."""
    async with state.follow_run(run_id) as pages:
        async for events in pages:
            if not events:
                yield KEEP_ALIVE_COMMENT
            for event in events:
                if event.type in STREAMED:
                    yield _data_line(event.type, json.loads(event.data))
                elif event.type in ("done", "error"):
                    yield await _last_line(state.db, run_id, event.type, json.loads(event.data))
                    return
    yield _error_line(MaasError("leaving", still_answering(run_id)))


async def _last_line(db: Database, run_id: UUID, kind: str, data: Mapping[str, Any]) -> str:
    if kind == "error":
        return _error_line(error_of_failed_run(run_id, data["code"], data["message"]))
    try:
        answer = await _to_answer(db, await read_answer(db, run_id))
    except (MaasError, *CONNECTION_LOST):
        message = f"the answer is there, but cannot be read at the moment: GET /v1/runs/{run_id}"
        return _error_line(MaasError("database_unreachable", message))
    return _data_line("done", answer.model_dump(mode="json", by_alias=True))


async def _to_answer(db: Database, completion: RunAnswer) -> BrainAnswer:
    """Raises MaasError('not_found') for a run that was erased."""
    row = await db.row(queries.brain_answer, completion.run_id)
    if row is None:
        raise MaasError("not_found", f"there is no run {completion.run_id}")
    return BrainAnswer(
        conversation_id=completion.conversation_id,
        response=completion.answer,
        executed_actions=row["actions"],
        mode=cast(Mode, row["mode"]),
        agent=ORCHESTRATOR if row["routing"] == "meta_tools" else row["agent"] or completion.assistant,
        metadata=BrainMetadata(iterations=row["iterations"], tokens=row["tokens"], run_id=completion.run_id),
    )


def _error_line(error: MaasError) -> str:
    return _data_line("error", {"code": error.code, "message": error.message} | dict(error.details or {}))


def _data_line(kind: str, data: Mapping[str, Any]) -> str:
    return data_line({"type": kind, **data})
