"""/v1/conversations: dialogues; what is said in one is a run that names it."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from maas.http.bodies import (
    Cleared,
    Conversation,
    ConversationChange,
    Message,
    MessagePage,
    NewConversation,
    OpenedConversation,
)
from maas.http.parameters import read_cursor, read_id, read_limit, write_cursor
from maas.http.reading import read_body
from maas.http.rooms import rooms
from maas.http.sending import send
from maas.pipeline.conversations import (
    change_conversation,
    clear_conversation,
    create_conversation,
    list_messages,
    read_conversation,
)


async def post_conversation(request: Request) -> Response:
    """Open a conversation; a run that names a new conversation_id opens one, too, in which the user speaks first."""
    body = await read_body(request, NewConversation)
    parts = rooms(request)
    limit = parts.submissions.queue_limit
    row = await create_conversation(parts.db, body.user_id, body.assistant, body.mode, limit)
    poll_url = f"/v1/runs/{row['request_id']}" if row["request_id"] else None
    return send(OpenedConversation(**row, poll_url=poll_url), 201)


async def get_conversation(request: Request) -> Response:
    """A conversation, and whether an answer in it is on its way."""
    return send(Conversation(**await read_conversation(rooms(request).db, read_id(request, "conversation"))))


async def patch_conversation(request: Request) -> Response:
    """Change mode or title; the mode holds from the next request on."""
    conversation_id = read_id(request, "conversation")
    body = await read_body(request, ConversationChange)
    return send(Conversation(**await change_conversation(rooms(request).db, conversation_id, body.mode, body.title)))


async def post_clear(request: Request) -> Response:
    """Remove the messages of a conversation; what is remembered stays."""
    return send(Cleared(messages=await clear_conversation(rooms(request).db, read_id(request, "conversation"))))


async def get_messages(request: Request) -> Response:
    """The messages of a conversation, newest first."""
    limit = read_limit(request)
    rows = await list_messages(rooms(request).db, read_id(request, "conversation"), read_cursor(request), limit)
    return send(MessagePage(results=[Message(**row) for row in rows], next=write_cursor(rows, limit)))
