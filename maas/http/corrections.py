"""/v1/memories/{id}/correct: a statement that says what is right instead of a memory."""

from __future__ import annotations

from uuid import UUID

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from maas.http.authorize import read_body
from maas.http.request_input import read_id
from maas.http.schemas import QueryText, RequestBody, RunAccepted, json_response
from maas.http.state import app_state
from maas.memory.corrections import correct


class NewCorrection(RequestBody):
    user_id: UUID
    memory: QueryText = Field(description="What is right instead, as a statement of the user.")


class CorrectionAccepted(RunAccepted):
    """The correction is a memory of its own and can be searched now; the run summarizes it."""

    id: UUID = Field(description="The id of the correction; the same text again is the same correction.")


async def post_correct(request: Request) -> Response:
    """Correct a memory by a statement, which is a memory of its own and is found first; both stay visible.

    The same text again is the same correction. Deleting the correction makes the memory valid again.
    """
    memory_id = read_id(request, "memory")
    body = await read_body(request, NewCorrection)
    run_id, log_id = await correct(app_state(request).db, body.user_id, memory_id, body.memory)
    return json_response(CorrectionAccepted(request_id=run_id, poll_url=f"/v1/runs/{run_id}", id=log_id), 202)
