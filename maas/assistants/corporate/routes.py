"""/api/supervisor and /api/complex-task: work that an outside caller hands to the corporate assistant.

Each request is a run that calls one tool, so limits, approvals and the ledger are those of a dialogue.
"""

from __future__ import annotations

from typing import Any, Literal
from uuid import UUID

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel
from starlette.requests import Request
from starlette.responses import Response
from structlog.contextvars import bind_contextvars

from maas.conversations.actions import list_actions
from maas.engine.states import Status
from maas.http.authorize import principal_of, read_body
from maas.http.errors import error_of_failed_run
from maas.http.examples import EXAMPLE_USER
from maas.http.openai.completions import wait_for_completion
from maas.http.openapi import IDEMPOTENCY_KEY
from maas.http.request_input import read_idempotency_key, read_parameter, to_seconds
from maas.http.route import Parameters, Route
from maas.http.schemas import RequestBody, Schema, SentenceText, json_response
from maas.http.state import app_state
from maas.http.users import read_user_header, resolve_user
from maas.runs.tool_calls import insert_call
from shared.errors import MaasError
from shared.json import json_object

ASSISTANT = "corporate"
PLANNING, COMPLEX_TASK = "delegateToPlanningAgent", "delegateToComplexTaskAgent"
DEFAULT_WAIT_S, MAX_WAIT_S = 30.0, 60.0


class DelegationBody(RequestBody):
    """Base of the request bodies, whose fields are in camel case."""

    model_config = ConfigDict(alias_generator=to_camel)

    user_id: UUID | None = Field(
        None, description="By default X-MaaS-User, or the user that the key or token is bound to."
    )


class SupervisorTask(DelegationBody):
    conversation_context: SentenceText = Field(description="What the dialogue is about, in 2 or 3 sentences.")
    proposed_plan: SentenceText = Field(description="How it may be done, in 1 or 2 sentences.")
    user_intent: SentenceText = Field(description="What the user wants, in one sentence.")
    complexity: Literal["high", "medium", "low"]


class NewComplexTask(DelegationBody):
    task_description: SentenceText = Field(description="The whole task, in 3 to 5 sentences.")
    conversation_context: SentenceText = Field(description="What the dialogue is about, in 2 or 3 sentences.")


class DelegationPending(Schema):
    """The work goes on; the answer of the run is the result of the tool as JSON."""

    run_id: UUID
    poll_url: str = Field(description="The path of the run.")


class PlannedStep(Schema):
    title: str
    tool: str | None
    state: Literal["done", "waiting", "failed", "in_doubt", "skipped", "not_needed"] = Field(
        description="waiting: it is an action that the user decides on, see `GET /v1/actions?run_id=`."
    )


class SupervisorAnswer(Schema):
    next_response: str = Field(
        serialization_alias="nextResponse", description="What to say to the user, word for word."
    )
    verdict: Literal["executed", "direct", "complex"] = Field(
        description="executed: the steps were worked through. direct: it is one step, complex: it is a task for "
        "/api/complex-task; then nothing was executed."
    )
    steps: list[PlannedStep]
    run_id: UUID


class ProposedStep(Schema):
    title: str
    tool: str | None


class ComplexTaskAnswer(Schema):
    """The task waits for its user; approving the action begins it, and the report is the answer of its own run."""

    status: Literal["approval_required"] = "approval_required"
    action_id: UUID = Field(description="For POST /v1/actions/{id}/approve or reject.")
    fingerprint: str = Field(description="Send it with the decision: it stands for exactly these steps.")
    warning: str = Field(description="What to say to the user before they decide.")
    steps: list[ProposedStep]
    run_id: UUID


async def post_supervisor(request: Request) -> Response:
    """Have a planner do 2 to 7 dependent steps, and wait for what to tell the user.

    Steps that need approval are not done: they become actions that the user decides on.
    """
    body = await read_body(request, SupervisorTask)
    user_id = await _user_of(request, body)
    run_id, result = await _call(request, user_id, PLANNING, body)
    if result is None:
        return _pending(run_id)
    data: dict[str, Any] = result["data"] if result["success"] else {}
    if not data:
        raise _not_executed(run_id, result)
    answer = SupervisorAnswer(
        next_response=result.get("final") or data["say"],
        verdict=data["verdict"],
        run_id=run_id,
        steps=[PlannedStep(**step) for step in data.get("steps", ())],
    )
    return json_response(answer)


async def post_complex_task(request: Request) -> Response:
    """Divide a large task into steps that the user is to approve; without that nothing of it begins."""
    body = await read_body(request, NewComplexTask)
    user_id = await _user_of(request, body)
    run_id, result = await _call(request, user_id, COMPLEX_TASK, body)
    if result is None:
        return _pending(run_id)
    actions = await list_actions(app_state(request).db, user_id, run_id=run_id)
    if result.get("error_code") != "approval_required" or not actions:
        raise _not_executed(run_id, result)
    steps = [ProposedStep(title=one["title"], tool=one.get("tool")) for one in actions[0]["arguments"]["steps"]]
    answer = ComplexTaskAnswer(
        action_id=actions[0]["id"],
        fingerprint=actions[0]["fingerprint"],
        warning=result["reason"],
        steps=steps,
        run_id=run_id,
    )
    return json_response(answer)


async def _user_of(request: Request, body: DelegationBody) -> UUID:
    return body.user_id or await resolve_user(request, read_user_header(request))


async def _call(request: Request, user_id: UUID, tool: str, body: DelegationBody) -> tuple[UUID, dict[str, Any] | None]:
    """The run of the call, and what the tool gave; None if that is not there in time. Raises MaasError."""
    state, principal = app_state(request), principal_of(request)
    wait_s: float = read_parameter(request, "wait", to_seconds, DEFAULT_WAIT_S)
    if not 0 <= wait_s <= MAX_WAIT_S:
        raise MaasError("bad_parameter", f"wait: must be between 0 and {MAX_WAIT_S:.0f} seconds")
    arguments = body.model_dump(by_alias=True, exclude={"user_id"})
    try:
        run_id = await insert_call(
            state.db,
            user_id,
            ASSISTANT,
            tool,
            arguments,
            mode=None,
            account=None,
            source="http",
            caller=principal.name,
            key=read_idempotency_key(request),
            queue_limit=state.submissions.queue_limit,
        )
    except MaasError as error:
        if error.code != "unknown_assistant":
            raise
        raise MaasError("not_executed", f"nothing was executed: {error.message}") from error
    bind_contextvars(run_id=run_id)  # for the log line of this request
    try:
        completion = await wait_for_completion(state, run_id, wait_s)
    except MaasError as error:
        if error.code != "answer_timeout":
            raise
        return run_id, None
    if completion.status is Status.FAILED:
        raise error_of_failed_run(run_id, completion.error_code, completion.error_message)
    return run_id, json_object(completion.answer) or {"success": False, "message": "the run was answered otherwise"}


def _pending(run_id: UUID) -> Response:
    return json_response(DelegationPending(run_id=run_id, poll_url=f"/v1/runs/{run_id}"), 202)


def _not_executed(run_id: UUID, result: dict[str, Any]) -> MaasError:
    message = result.get("say") or result.get("message") or "nothing was executed"
    details = {"run_id": str(run_id), "error_code": result.get("error_code"), "cause": result.get("message")}
    return MaasError("not_executed", f"{message} (run {run_id})", details)


_WAIT: Parameters = {
    "wait": (
        {"type": "number", "minimum": 0, "maximum": MAX_WAIT_S, "default": DEFAULT_WAIT_S},
        "Seconds to wait for the answer; then 202.",
    ),
}
_ERRORS = (400, 404, 409, 413, 415, 422, 429, 500)
ROUTES = (
    Route("POST", "/api/supervisor", post_supervisor, "ask", SupervisorTask, SupervisorAnswer, errors=_ERRORS,
          query=_WAIT, accepted=DelegationPending, headers=(IDEMPOTENCY_KEY,), example={
              "userId": EXAMPLE_USER,
              "conversationContext": "Ann plans her week and has asked about Tuesday.",
              "proposedPlan": "Look into the calendar, then write to Alma.",
              "userIntent": "Move the meeting with Alma.",
              "complexity": "medium",
          }),
    Route("POST", "/api/complex-task", post_complex_task, "ask", NewComplexTask, ComplexTaskAnswer, errors=_ERRORS,
          query=_WAIT, accepted=DelegationPending, headers=(IDEMPOTENCY_KEY,), example={
              "userId": EXAMPLE_USER,
              "taskDescription": "Invite all twelve people of the project to meetings of their own.",
              "conversationContext": "Ann prepares the start of the project.",
          }),
)  # fmt: skip
