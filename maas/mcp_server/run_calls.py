"""Calls that become runs: answered at their end, as a task, or with the question whether to do what they propose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp_types import INVALID_PARAMS, CallToolRequestParams, CallToolResult, InputRequiredResult

from maas.client.results import Forbidden, Unavailable
from maas.mcp_server import tasks
from maas.mcp_server.approvals import ask_user, can_ask, decide
from maas.mcp_server.context import McpContext, ReportProgress
from maas.mcp_server.run_progress import RunProgress, follow, look, success
from maas.mcp_server.schemas import DEFAULT_WAIT_S, RunOutput

CallReply = CallToolResult | InputRequiredResult | dict[str, Any]  # the last is a task


@dataclass(frozen=True, slots=True)
class RunCall:
    """A call for a user, whose run has the id that `wait` gets."""

    context: McpContext
    request: ServerRequestContext[Any]
    user: str
    report: ReportProgress | None

    async def wait(self, run_id: UUID, wait_s: float) -> CallReply:
        """What became of the run, within `wait_s` seconds. Raises ClientError."""
        if tasks.is_declared(self.request):
            wait_s = min(wait_s, tasks.TASK_AFTER_S)
        try:
            return self._reply(await look(self.context, run_id, self.user, wait_s, self.report))
        except Forbidden:  # the key has the scope `ask` without `read`
            return success(RunOutput(request_id=run_id, status="NEW"))
        except Unavailable as error:
            text = f"{error.message}; the request was accepted: call get_run with request_id {run_id} later"
            raise Unavailable(error.code, text, error.details) from error

    async def go_on(self, params: CallToolRequestParams) -> CallReply:
        """Decide as the user has answered, and wait for what comes of it. Raises ClientError, MCPError."""
        try:
            action_id = UUID(params.request_state or "")
        except ValueError:
            raise MCPError(INVALID_PARAMS, "requestState: is not what this server has sent") from None
        action = dict(await self.context.client.get_action(action_id, user_id=self.user))
        progress = RunProgress(await self.context.get_run(UUID(str(action["run_id"])), self.user), action)
        answered = await decide(self.context, progress, self.user, params.input_responses or {})
        if answered is progress and not params.input_responses:
            return self._reply(progress)
        wait_s = tasks.TASK_AFTER_S if tasks.is_declared(self.request) else DEFAULT_WAIT_S
        progress = await follow(self.context, answered, self.user, wait_s, self.report)
        return tasks.new_task(progress) if self._is_task(progress) else progress.result()

    def _reply(self, progress: RunProgress) -> CallReply:
        if self._is_task(progress):
            return tasks.new_task(progress)
        return ask_user(progress) if progress.is_waiting and can_ask(self.request) else progress.result()

    def _is_task(self, progress: RunProgress) -> bool:
        is_open = progress.is_at_work or (progress.is_waiting and can_ask(self.request))
        return is_open and tasks.is_declared(self.request)
