"""/v1/ui/chat: a chat of the AI SDK's `useChat` as a conversation, and the stream of its answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import ConfigDict, Field, StrictBool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from structlog.contextvars import bind_contextvars

from maas import queries
from maas.conversations import Mode
from maas.http.ai_sdk.stream import stream_parts
from maas.http.authorize import hold_stream, principal_of, read_body
from maas.http.chats import (
    MAX_MESSAGES,
    bad_message,
    conversation_named,
    decode_images,
    key_of,
    read_query,
    store_images,
)
from maas.http.request_input import read_parameter
from maas.http.runs import with_marks
from maas.http.schemas import AssistantName, Name, Schema
from maas.http.server_sent_events import EVENT_STREAM, EVENT_STREAM_HEADERS
from maas.http.state import AppState, app_state
from maas.http.users import find_user_by_name, read_user_header, resolve_user
from maas.runs.submit import Submission

MAX_PARTS = 500
UI_HEADERS = EVENT_STREAM_HEADERS | {"x-vercel-ai-ui-message-stream": "v1"}
_DATA_URL = re.compile(r"data:image/[\w.+-]{1,40};base64,", re.ASCII)


class UIMessage(Schema):
    """A message of the AI SDK; of all but the user's last one nothing is read."""

    model_config = ConfigDict(extra="allow")

    id: Annotated[str, Field(max_length=200)] = ""
    role: Literal["system", "user", "assistant"]
    parts: list[dict[str, Any]] = Field(
        max_length=MAX_PARTS, description="Parts of the types `text` and `file` (images as data: URLs)."
    )


class UIChat(Schema):
    """What `useChat` sends: the last message of the user is the query, and MaaS adds history and memory."""

    model_config = ConfigDict(extra="allow")

    id: Name = Field(description="The chat: the UUID of a conversation, or any text, which is one of this user.")
    messages: list[UIMessage] = Field(min_length=1, max_length=MAX_MESSAGES)
    trigger: Literal["submit-message", "regenerate-message"] = "submit-message"
    message_id: Annotated[str, Field(max_length=200)] | None = Field(None, alias="messageId")
    user: Name | None = Field(None, description="The user, by any text of 1 to 200 characters; else X-MaaS-User.")
    assistant: AssistantName = "mentor"
    mode: Mode | None = Field(None, description="The mode of this request; by default the conversation's.")
    marks: StrictBool | None = Field(None, description="Whether the answer cites memories by [numbers].")


async def post_ui_chat(request: Request) -> Response:
    """Send a message of `useChat` and stream the answer as the AI SDK's UI message stream.

    The same message again is the same request. Disconnecting does not cancel it.
    """
    state, principal = app_state(request), principal_of(request)
    body = await read_body(request, UIChat)
    said = next((one for one in reversed(body.messages) if one.role == "user"), None)
    if said is None:
        raise bad_message("none of them has the role user")
    query = read_query(part.get("text") for part in said.parts if part.get("type") == "text")
    images = _read_images(said.parts)
    user_id = await resolve_user(request, body.user or read_user_header(request))
    hold_stream(request)
    conversation_id = conversation_named(user_id, body.id)
    run_id = await state.submissions.submit(
        Submission(
            user_id=user_id,
            query=query,
            assistant=body.assistant,
            conversation_id=conversation_id,
            mode=body.mode,
            metadata=with_marks(None, body.marks),
            caller=principal.name,
            idempotency_key=_key(conversation_id, body, said, query),
            attachment_ids=await store_images(state, user_id, images),
            replaces=await _replaced(state, user_id, conversation_id, query, body),
        )
    )
    return _stream(request, run_id)


async def get_ui_stream(request: Request) -> Response:
    """Stream the answer that a chat waits for, from its beginning; 204 when it waits for none."""
    state = app_state(request)
    name: str | None = read_parameter(request, "user", str)
    name = read_user_header(request) if name is None else name
    user_id = await find_user_by_name(request, name) if name is not None else await resolve_user(request, None)
    hold_stream(request)
    run_id: UUID | None = None
    if user_id is not None:
        conversation_id = conversation_named(user_id, request.path_params["chat"])
        run_id = await state.reads.value(queries.open_run_of_conversation, user_id, conversation_id)
    return Response(status_code=204) if run_id is None else _stream(request, run_id)


def _stream(request: Request, run_id: UUID) -> Response:
    bind_contextvars(run_id=run_id)  # for the log line of this request
    return StreamingResponse(stream_parts(app_state(request), run_id), media_type=EVENT_STREAM, headers=UI_HEADERS)


async def _replaced(state: AppState, user_id: UUID, conversation_id: UUID, query: str, body: UIChat) -> UUID | None:
    """The run whose answer the user wants anew."""
    if body.trigger != "regenerate-message":
        return None
    run_id: UUID | None = await state.db.value(queries.answered_run, user_id, conversation_id, query)
    return run_id


def _key(conversation_id: UUID, body: UIChat, said: UIMessage, query: str) -> str:
    """Return the idempotency key of a message; one that was edited, or is answered anew, is another request."""
    names = [str(conversation_id), said.id, body.trigger, body.message_id, query, body.assistant, body.mode, body.marks]
    return key_of("ui", [*names, [part.get("url") for part in said.parts]])


def _read_images(parts: Sequence[dict[str, Any]]) -> list[bytes]:
    """Return the images of data: URLs; other files are refused, because the server fetches nothing for a client."""
    texts = []
    for part in parts:
        if part.get("type") != "file":
            continue
        url = part.get("url")
        if not isinstance(url, str) or not (prefix := _DATA_URL.match(url)):
            raise bad_message("a file must be an image with a data: URL, data:image/png;base64,...; nothing is fetched")
        texts.append(url[prefix.end() :])
    return decode_images(texts)
