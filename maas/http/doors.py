"""Every door in one table: the routes are made from it, and so is OpenAPI."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from maas.http import (
    actions,
    attachments,
    bodies,
    conversations,
    events,
    memories,
    metrics,
    operations,
    runs,
    traces,
    users,
)

Handler = Callable[[Request], Awaitable[Response]]
_UUID = {"type": "string", "format": "uuid"}
_OWNER: dict[str, tuple[dict[str, Any], str]] = {"user_id": (_UUID, "whose it must be")}
_PAGE: dict[str, tuple[dict[str, Any], str]] = {
    "before": ({"type": "string"}, "`next` of the page before"),
    "limit": ({"type": "integer", "minimum": 1, "maximum": 100, "default": 50}, "how many"),
}


@dataclass(frozen=True, slots=True)
class Door:
    """One method on one path. `errors` are the statuses that a client must expect.

    `takes` and `gives` are media types of bodies that are not JSON.
    """

    method: str
    path: str
    handler: Handler
    body: type[BaseModel] | None = None
    reply: type[BaseModel] | None = None
    status: int = 200
    query: dict[str, tuple[dict[str, Any], str]] | None = None
    required: tuple[str, ...] = ()
    errors: tuple[int, ...] = ()
    takes: tuple[str, ...] = ()
    gives: str | None = None


DOORS = (
    Door("POST", "/v1/runs", runs.post_run, bodies.NewRun, bodies.Accepted, 202,
         errors=(400, 404, 409, 413, 415, 422, 429)),
    Door(
        "GET", "/v1/runs", runs.get_runs, reply=bodies.RunPage, errors=(400,),
        query={"user_id": (_UUID, "whose"), "status": ({"type": "string"}, "in this status"), **_PAGE},
    ),
    Door(
        "GET", "/v1/runs/{id}", runs.get_run, reply=bodies.RunState, errors=(400, 404),
        query={"wait": ({"type": "number", "minimum": 0, "maximum": 60}, "seconds to wait for the answer")},
    ),
    Door("GET", "/v1/runs/{id}/trace", traces.get_trace, reply=traces.Trace, errors=(404,)),
    Door(
        "GET", "/v1/runs/{id}/events", events.get_events, errors=(400, 404), gives=events.EVENT_STREAM,
        query={"last_event_id": ({"type": "string"}, "the id of the last event that was read; as the header does")},
    ),
    Door("POST", "/v1/runs/{id}/cancel", runs.post_cancel, status=202, errors=(404, 409)),
    Door("POST", "/v1/runs/{id}/retry", runs.post_retry, reply=bodies.Accepted, status=202, errors=(404, 409)),
    Door("POST", "/v1/runs/{id}/press", runs.post_press, bodies.Press, bodies.Accepted, 202,
         errors=(400, 404, 409, 413, 415, 422, 429)),
    Door("POST", "/v1/conversations", conversations.post_conversation, bodies.NewConversation,
         bodies.OpenedConversation, 201, errors=(400, 413, 415, 422, 429)),
    Door("GET", "/v1/conversations/{id}", conversations.get_conversation, reply=bodies.Conversation, errors=(404,)),
    Door("PATCH", "/v1/conversations/{id}", conversations.patch_conversation, bodies.ConversationChange,
         bodies.Conversation, errors=(400, 404, 413, 415, 422)),
    Door("POST", "/v1/conversations/{id}/clear", conversations.post_clear, reply=bodies.Cleared, errors=(404,)),
    Door("GET", "/v1/conversations/{id}/messages", conversations.get_messages, reply=bodies.MessagePage,
         errors=(400, 404), query=_PAGE),
    Door("POST", "/v1/attachments", attachments.post_attachment, bodies.NewAttachment, bodies.Attachment, 201,
         takes=(attachments.FORM,), errors=(413, 415, 422)),
    Door("GET", "/v1/attachments/{id}", attachments.get_attachment, reply=bodies.Attachment, errors=(400, 404),
         query=_OWNER, required=("user_id",)),
    Door("GET", "/v1/attachments/{id}/content", attachments.get_content, errors=(400, 404), gives=attachments.IMAGE,
         query=_OWNER, required=("user_id",)),
    Door("DELETE", "/v1/attachments/{id}", attachments.delete_attachment, status=204, errors=(400, 404),
         query=_OWNER, required=("user_id",)),
    Door(
        "GET", "/v1/actions", actions.get_actions, reply=bodies.ActionPage, errors=(400,),
        query={
            "user_id": (_UUID, "whose"), "status": ({"type": "string"}, "in this status"),
            "conversation_id": (_UUID, "in this conversation"), "run_id": (_UUID, "the plan of this run, as a whole"),
            **_PAGE,
        },
        required=("user_id",),
    ),
    Door("GET", "/v1/actions/{id}", actions.get_action, reply=bodies.Action, errors=(400, 404),
         query={"user_id": (_UUID, "whose it must be")}),
    Door("PATCH", "/v1/actions/{id}", actions.patch_action, bodies.ActionEdit, bodies.Action,
         errors=(400, 404, 409, 413, 415, 422)),
    Door("POST", "/v1/actions/{id}/approve", actions.post_approve, bodies.ActionDecision, bodies.Action,
         errors=(400, 404, 409, 413, 415, 422, 429)),
    Door("POST", "/v1/actions/{id}/reject", actions.post_reject, bodies.ActionDecision, bodies.Action,
         errors=(400, 404, 409, 413, 415, 422)),
    Door("POST", "/v1/memories/search", memories.post_search, bodies.SearchQuery, bodies.MemoryPage,
         errors=(400, 413, 415, 422)),
    Door(
        "GET", "/v1/memories", memories.get_memories, reply=bodies.MemoryPage, errors=(400,),
        query={"user_id": (_UUID, "whose"), **_PAGE}, required=("user_id",),
    ),
    Door("POST", "/v1/memories", memories.post_memories, bodies.NewMemories, bodies.Remembered, 202,
         errors=(400, 413, 415, 422)),
    Door("GET", "/v1/memories/{id}", memories.get_memory, reply=bodies.Memory, errors=(404,)),
    Door(
        "DELETE", "/v1/memories/{id}", memories.delete_memory, reply=bodies.Forgotten, errors=(400, 404, 409),
        query={"user_id": (_UUID, "whose it must be")},
    ),
    Door("GET", "/v1/memories/{id}/sources", memories.get_sources, reply=bodies.Sources, errors=(404,)),
    Door("POST", "/v1/context", memories.post_context, bodies.ContextQuery, bodies.ContextReply,
         errors=(400, 413, 415, 422)),
    Door("GET", "/v1/users/{id}/export", users.get_export, errors=(404,), gives=users.NDJSON),
    Door("POST", "/v1/users/{id}/import", users.post_import, reply=bodies.Imported, status=202,
         errors=(404, 413, 415, 422), takes=users.IMPORT_TYPES),
    Door("DELETE", "/v1/users/{id}", users.delete_user, reply=bodies.Receipt, errors=(404,)),
    Door("GET", "/healthz", operations.healthz, reply=bodies.Health),
    Door("GET", "/readyz", operations.readyz, reply=bodies.Readiness, errors=(503,)),
    Door("GET", "/metrics", metrics.metrics),
    Door("GET", "/openapi.json", operations.openapi),
    Door("GET", "/docs", operations.docs),
)  # fmt: skip
