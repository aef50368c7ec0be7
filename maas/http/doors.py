"""Every door in one table: the routes are made from it, and so is OpenAPI."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
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
    openai_api,
    openai_bodies,
    operations,
    runs,
    traces,
    users,
)
from maas.http.access import Owned
from maas.http.callers import Scope
from maas.http.patterns import CURSOR, PLACE
from maas.pipeline.actions import ActionStatus
from maas.pipeline.states import Status

OWNED: dict[str, Owned] = {
    "runs": "run", "conversations": "conversation", "actions": "action", "attachments": "attachment",
    "memories": "memory", "users": "user",
}  # fmt: skip
Handler = Callable[[Request], Awaitable[Response]]


def _one_of(words: type[StrEnum]) -> dict[str, Any]:
    return {"type": "string", "enum": [str(word) for word in words]}


_UUID = {"type": "string", "format": "uuid"}
_EVENT = {"type": "string", "format": "event-id", "pattern": PLACE}
_OWNER: dict[str, tuple[dict[str, Any], str]] = {"user_id": (_UUID, "whose it must be")}
_PAGE: dict[str, tuple[dict[str, Any], str]] = {
    "before": ({"type": "string", "pattern": CURSOR}, "`next` of the page before"),
    "limit": ({"type": "integer", "minimum": 1, "maximum": 100, "default": 50}, "how many"),
}


@dataclass(frozen=True, slots=True)
class Door:
    """One method on one path. `errors` are the statuses that a client must expect.

    `scope` is what a caller needs.
    `takes` and `gives` are media types of bodies that are not JSON. `refusal`: errors in another shape than ours.
    """

    method: str
    path: str
    handler: Handler
    scope: Scope
    body: type[BaseModel] | None = None
    reply: type[BaseModel] | None = None
    status: int = 200
    query: dict[str, tuple[dict[str, Any], str]] | None = None
    required: tuple[str, ...] = ()
    errors: tuple[int, ...] = ()
    takes: tuple[str, ...] = ()
    gives: tuple[str, ...] = ()
    refusal: type[BaseModel] | None = None

    @property
    def owned(self) -> Owned | None:
        """What the id in the path names: it must belong to a user that the caller is there for."""
        return OWNED[self.path.split("/")[2]] if "{id}" in self.path else None


DOORS = (
    Door("POST", "/v1/runs", runs.post_run, "ask", bodies.NewRun, bodies.Accepted, 202,
         errors=(400, 404, 409, 413, 415, 422, 429)),
    Door(
        "GET", "/v1/runs", runs.get_runs, "read", reply=bodies.RunPage, errors=(400,),
        query={"user_id": (_UUID, "whose"), "status": (_one_of(Status), "in this status"), **_PAGE},
    ),
    Door(
        "GET", "/v1/runs/{id}", runs.get_run, "read", reply=bodies.RunState, errors=(400, 404),
        query={"wait": ({"type": "number", "minimum": 0, "maximum": 60}, "seconds to wait for the answer")},
    ),
    Door("GET", "/v1/runs/{id}/trace", traces.get_trace, "admin", reply=traces.Trace, errors=(404,)),
    Door(
        "GET", "/v1/runs/{id}/events", events.get_events, "read", errors=(400, 404), gives=(events.EVENT_STREAM,),
        query={"last_event_id": (_EVENT, "as the header, which counts if both are there")},
    ),
    Door("POST", "/v1/runs/{id}/cancel", runs.post_cancel, "ask", reply=bodies.Cancelling, status=202,
         errors=(404, 409)),
    Door("POST", "/v1/runs/{id}/retry", runs.post_retry, "ask", reply=bodies.Accepted, status=202, errors=(404, 409)),
    Door("POST", "/v1/runs/{id}/press", runs.post_press, "ask", bodies.Press, bodies.Accepted, 202,
         errors=(400, 404, 409, 413, 415, 422, 429)),
    Door("POST", "/v1/conversations", conversations.post_conversation, "ask", bodies.NewConversation,
         bodies.OpenedConversation, 201, errors=(400, 413, 415, 422, 429)),
    Door("GET", "/v1/conversations/{id}", conversations.get_conversation, "read",
         reply=bodies.Conversation, errors=(404,)),
    Door("PATCH", "/v1/conversations/{id}", conversations.patch_conversation, "ask", bodies.ConversationChange,
         bodies.Conversation, errors=(400, 404, 413, 415, 422)),
    Door("POST", "/v1/conversations/{id}/clear", conversations.post_clear, "ask", reply=bodies.Cleared, errors=(404,)),
    Door("GET", "/v1/conversations/{id}/messages", conversations.get_messages, "read", reply=bodies.MessagePage,
         errors=(400, 404), query=_PAGE),
    Door("POST", "/v1/attachments", attachments.post_attachment, "ask", bodies.NewAttachment, bodies.Attachment, 201,
         takes=(attachments.FORM,), errors=(413, 415, 422)),
    Door("GET", "/v1/attachments/{id}", attachments.get_attachment, "read", reply=bodies.Attachment, errors=(400, 404),
         query=_OWNER, required=("user_id",)),
    Door("GET", "/v1/attachments/{id}/content", attachments.get_content, "read",
         errors=(400, 404), gives=attachments.IMAGES, query=_OWNER, required=("user_id",)),
    Door("DELETE", "/v1/attachments/{id}", attachments.delete_attachment, "ask", status=204, errors=(400, 404),
         query=_OWNER, required=("user_id",)),
    Door(
        "GET", "/v1/actions", actions.get_actions, "read", reply=bodies.ActionPage, errors=(400,),
        query={
            "user_id": (_UUID, "whose"), "status": (_one_of(ActionStatus), "in this status"),
            "conversation_id": (_UUID, "in this conversation"), "run_id": (_UUID, "the plan of this run, as a whole"),
            **_PAGE,
        },
        required=("user_id",),
    ),
    Door("GET", "/v1/actions/{id}", actions.get_action, "read", reply=bodies.Action, errors=(400, 404),
         query={"user_id": (_UUID, "whose it must be")}),
    Door("PATCH", "/v1/actions/{id}", actions.patch_action, "ask", bodies.ActionEdit, bodies.Action,
         errors=(400, 404, 409, 413, 415, 422)),
    Door("POST", "/v1/actions/{id}/approve", actions.post_approve, "ask", bodies.ActionDecision, bodies.Action,
         errors=(400, 404, 409, 413, 415, 422, 429)),
    Door("POST", "/v1/actions/{id}/reject", actions.post_reject, "ask", bodies.ActionDecision, bodies.Action,
         errors=(400, 404, 409, 413, 415, 422)),
    Door("POST", "/v1/memories/search", memories.post_search, "read", bodies.SearchQuery, bodies.MemoryPage,
         errors=(400, 413, 415, 422)),
    Door(
        "GET", "/v1/memories", memories.get_memories, "read", reply=bodies.MemoryPage, errors=(400,),
        query={"user_id": (_UUID, "whose"), **_PAGE}, required=("user_id",),
    ),
    Door("POST", "/v1/memories", memories.post_memories, "ask", bodies.NewMemories, bodies.Remembered, 202,
         errors=(400, 413, 415, 422)),
    Door("GET", "/v1/memories/{id}", memories.get_memory, "read", reply=bodies.Memory, errors=(400, 404), query=_OWNER),
    Door(
        "DELETE", "/v1/memories/{id}", memories.delete_memory, "ask", reply=bodies.Forgotten, errors=(400, 404, 409),
        query={
            "user_id": (_UUID, "whose it must be"),
            "doubtful": ({"type": "boolean", "default": False}, "answers, too, that may not repeat it; now or later"),
        },
    ),
    Door("GET", "/v1/memories/{id}/sources", memories.get_sources, "read", reply=bodies.Sources, errors=(400, 404),
         query=_OWNER),
    Door("GET", "/v1/memories/{id}/history", memories.get_history, "read", reply=bodies.MemoryHistory, errors=(404,)),
    Door("POST", "/v1/context", memories.post_context, "read", bodies.ContextQuery, bodies.ContextReply,
         errors=(400, 413, 415, 422)),
    Door("POST", "/v1/users", users.post_user, "ask", bodies.NewUser, bodies.User, errors=(400, 404, 413, 415, 422)),
    Door(
        "GET", "/v1/users", users.get_user, "read", reply=bodies.User, errors=(400, 404, 422),
        query={"external_id": ({"type": "string", "minLength": 1, "maxLength": 200}, "the name")},
        required=("external_id",),
    ),
    Door("GET", "/v1/users/{id}/export", users.get_export, "read", errors=(404,), gives=(users.NDJSON,)),
    Door("POST", "/v1/users/{id}/import", users.post_import, "ask", reply=bodies.Imported, status=202,
         errors=(404, 413, 415, 422), takes=users.IMPORT_TYPES),
    Door("DELETE", "/v1/users/{id}", users.delete_user, "admin", reply=bodies.Receipt, errors=(404,)),
    Door("GET", "/v1/caller", operations.get_caller, "read", reply=operations.CallerState),
    Door("POST", "/v1/chat/completions", openai_api.post_chat_completion, "ask", openai_bodies.ChatRequest,
         openai_bodies.ChatCompletion, errors=(400, 404, 409, 413, 415, 429, 500, 503, 504),
         gives=(events.EVENT_STREAM,), refusal=openai_bodies.OpenAIError),
    Door("GET", "/v1/models", openai_api.get_models, "read", reply=openai_bodies.OpenAIModels,
         refusal=openai_bodies.OpenAIError),
    Door("GET", "/v1/models/{model}", openai_api.get_model, "read", reply=openai_bodies.OpenAIModel, errors=(404,),
         refusal=openai_bodies.OpenAIError),
    Door("GET", "/healthz", operations.healthz, "open", reply=bodies.Health),
    Door("GET", "/readyz", operations.readyz, "open", reply=bodies.Readiness, errors=(503,)),
    Door("GET", "/metrics", metrics.metrics, "metrics", gives=("text/plain",)),
    Door("GET", "/openapi.json", operations.openapi, "open", gives=("application/json",)),
    Door("GET", "/docs", operations.docs, "open", gives=("text/html",)),
)  # fmt: skip
METHODS = sorted({door.method for door in DOORS})
