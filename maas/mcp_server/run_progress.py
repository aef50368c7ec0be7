"""How far a request is: at work, waiting for a decision about what it has proposed, or at its end with a result."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from mcp_types import CallToolResult, TextContent

from maas.client.calls import END_STATUSES
from maas.mcp_server.context import McpContext, ReportProgress
from maas.mcp_server.schemas import ToolOutput, run_output
from maas.mcp_server.tools import wait_for_run

MARK = "⏸"  # with which code begins what it says of a waiting action; it takes the mark out of what models say
HOW_TO_APPROVE = (
    "It changes nothing before the user approves it. Show the user the call as it is. It is approved with "
    "POST /v1/actions/{id}/approve or rejected with /reject, each with the fingerprint {fingerprint}, in a web "
    "interface, or by an operator with maas_decide_action; the action is {id}, {call}"
)


@dataclass(frozen=True, slots=True)
class RunProgress:
    """A run, the only action that it has proposed, and the run that executes this action; as the HTTP API tells them.

    `action` is None also where a run has proposed several: these are decided elsewhere.
    """

    run: dict[str, Any]
    action: dict[str, Any] | None = None
    execution: dict[str, Any] | None = None

    @property
    def is_waiting(self) -> bool:
        """Whether the user is to decide."""
        return self.action is not None and self.action["status"] == "pending"

    @property
    def is_at_work(self) -> bool:
        if self.action is not None and self.action["action_run_id"] is not None:
            return self.execution is None or self.execution["status"] not in END_STATUSES
        return self.run["status"] not in END_STATUSES

    @property
    def shown(self) -> str:
        """What waits, in the words of MaaS."""
        if (body := _body_of_call(self.run)) is not None:
            return str(body["shown"])
        return "".join(self.run["final_answer"].partition(MARK)[1:])

    def result(self) -> CallToolResult:
        """The result of the tool call that stands for the run."""
        if (body := _body_of_call(self.run)) is not None:
            return self._result_of_call(body)
        run = self.run
        if self.action is not None and not self.is_waiting:
            said = run["final_answer"].partition(MARK)[0].strip()
            run = run | {"final_answer": f"{said}\n\n{self._decision()}".strip()}
        return success(run_output(run), is_error=run["status"] == "FAILED" and run["kind"] == "action")

    def _decision(self) -> str:
        """What came of the action."""
        if self.execution is None:
            return f"The action is {self.action and self.action['status']}; nothing was done."
        if self.is_at_work:
            return f"It is approved and under way: call get_run with request_id {self.execution['request_id']}."
        return str(self.execution["final_answer"] or self.execution["error_message"])

    def _result_of_call(self, body: dict[str, Any]) -> CallToolResult:
        if self.action is None:
            return _call_result(body)
        if self.is_waiting:
            action = self.action
            call = f"{action['tool']} {json.dumps(action['arguments'], ensure_ascii=False)}"
            how = HOW_TO_APPROVE.format(id=action["id"], fingerprint=action["fingerprint"], call=call)
            pending = {name: action[name] for name in ("fingerprint", "expires_at")} | {"action_id": action["id"]}
            return _result(f"This waits for the user's approval: {body['reason']}. {how}", body | pending)
        if self.action["result"]:
            return _call_result(self.action["result"])
        return _result(self._decision(), is_error=self.execution is None)


async def look(
    context: McpContext, run_id: UUID, user: str, wait_s: float = 0.0, report: ReportProgress | None = None
) -> RunProgress:
    """How far a run of the user is, at its end or after `wait_s` seconds. Raises ClientError, NotFound for others'."""
    run = await wait_for_run(context, run_id, user, wait_s, report)
    if not _has_proposed(run):
        return RunProgress(run)
    actions = await context.client.actions(user_id=user, request_id=run_id)
    return await follow(context, RunProgress(run, dict(actions[0])), user) if len(actions) == 1 else RunProgress(run)


async def follow(
    context: McpContext,
    progress: RunProgress,
    user: str,
    wait_s: float = 0.0,
    report: ReportProgress | None = None,
) -> RunProgress:
    """The progress with what became of its action by now, or within `wait_s` seconds. Raises ClientError."""
    if progress.action is None or progress.action["action_run_id"] is None:
        return progress
    execution = await wait_for_run(context, UUID(progress.action["action_run_id"]), user, wait_s, report)
    action = await context.client.get_action(progress.action["id"], user_id=user)
    return RunProgress(progress.run, dict(action), execution)


def success(output: ToolOutput, is_error: bool = False) -> CallToolResult:
    """The result of a tool with an output schema."""
    return _result(output.text(), output.model_dump(mode="json"), is_error)


def failure(message: str) -> CallToolResult:
    """The result of a call that failed."""
    return _result(message, is_error=True)


def _result(text: str, data: dict[str, Any] | None = None, is_error: bool = False) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=data, is_error=is_error)


def _call_result(body: dict[str, Any]) -> CallToolResult:
    if body.get("success") or body.get("error_code") == "approval_required":
        return _result(json.dumps(body, ensure_ascii=False), body)
    return failure(f"{body.get('error_code')}: {body.get('message')}")


def _body_of_call(run: dict[str, Any]) -> dict[str, Any] | None:
    """What a call gave that a client made itself; None for any other run, whose answer is words."""
    if run["kind"] != "action" or run["action"] is not None or run["final_answer"] is None:
        return None
    try:
        body = json.loads(run["final_answer"])
    except ValueError:  # a button was pressed
        return None
    return body if isinstance(body, dict) and "success" in body else None


def _has_proposed(run: dict[str, Any]) -> bool:
    if run["status"] != "COMPLETED" or run["final_answer"] is None:
        return False
    if (body := _body_of_call(run)) is not None:
        return bool(body.get("error_code") == "approval_required")
    return MARK in run["final_answer"]
