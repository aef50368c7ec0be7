"""Links by which anybody may read a conversation: made, listed and revoked by its user, read without a key.

The token stands in no address that a server sees: the page takes it from behind the # and sends it in a body.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal, cast
from uuid import UUID

from pydantic import Field, StrictBool
from starlette.requests import Request
from starlette.responses import Response

from maas import queries
from maas.conversations.links import PAGE_SIZE, create_link, list_links, read_shared, revoke_link
from maas.http.authorize import principal_of, read_body, read_user
from maas.http.request_input import read_id, read_json, read_parameter, validate
from maas.http.schemas import NUMBER, RequestBody, Schema, json_response
from maas.http.sign_in.wrong_passwords import client_network
from maas.http.state import app_state
from shared.errors import MaasError

MAX_DAYS = 365
MAX_AFTER = 1_000_000
READS_PER_MINUTE = 60  # of one address
NOT_INDEXED = {"x-robots-tag": "noindex", "cache-control": "no-store"}


class NewLink(RequestBody):
    days: Annotated[int, Field(ge=1, le=MAX_DAYS), NUMBER] | None = Field(
        None, description="How long it lasts: at most MAAS_LINK_DAYS, which is the default."
    )
    evidence: StrictBool = Field(
        True, description="Whether it shows the memories that the answers cite, whichever conversation they are from."
    )


class ConversationLink(Schema):
    id: UUID
    conversation_id: UUID
    title: str | None
    has_evidence: bool
    created_at: datetime = Field(description="Later messages of the conversation are not shown.")
    expires_at: datetime


class CreatedLink(ConversationLink):
    token: str = Field(description="It is shown this once. The page reads it from /ui/shared#TOKEN.")


class LinkList(Schema):
    results: list[ConversationLink]


class SharedToken(RequestBody):
    token: Annotated[str, Field(pattern="^[A-Za-z0-9_-]{22}$")]
    after: Annotated[int, Field(ge=0, le=MAX_AFTER), NUMBER] = Field(0, description="`next` of the previous page.")


class SharedEvidence(Schema):
    number: int | None = Field(description="The number by which the answer cites it.")
    speaker: str | None
    said_at: datetime
    text: str = Field(description="At most 2,000 characters.")


class SharedMessage(Schema):
    role: Literal["user", "assistant"]
    content: str
    agent: str | None
    images: int = Field(description="How many images came with it; they are not shown.")
    evidence: list[SharedEvidence]
    created_at: datetime


class SharedConversation(Schema):
    """A conversation as it was when its link was made; without any id."""

    title: str | None
    assistant: str
    assistant_title: str = Field(description="How people call it.")
    shared_at: datetime
    expires_at: datetime
    messages: list[SharedMessage] = Field(description="Oldest first.")
    next: int | None = Field(description="Send it as `after` to get the next page.")


async def post_link(request: Request) -> Response:
    """Make a link by which anybody may read a conversation. The response alone shows its token."""
    conversation_id = read_id(request, "conversation")
    body = await read_body(request, NewLink)
    state, actor = app_state(request), principal_of(request).name
    longest = state.settings.access.link_days
    if longest == 0:
        raise MaasError("links_off", "an operator must allow links first: MAAS_LINK_DAYS says how long they last")
    days = body.days or longest
    if days > longest:
        raise MaasError("invalid_request", f"days: must be at most {longest}")
    link_id, token = await create_link(state.db, conversation_id, days, body.evidence, actor)
    owner = await state.db.value(queries.owner_of_conversation, conversation_id)
    row = next(row for row in await list_links(state.db, owner, conversation_id) if row["id"] == link_id)
    return json_response(CreatedLink(**row, token=token), 201)


async def get_links(request: Request) -> Response:
    """List the links of a user that lead somewhere, newest first."""
    user_id, conversation_id = read_user(request), read_parameter(request, "conversation_id", UUID)
    rows = await list_links(app_state(request).reads, user_id, conversation_id)
    return json_response(LinkList(results=[ConversationLink(**row) for row in rows]))


async def delete_link(request: Request) -> Response:
    """Revoke a link: it leads nowhere from now on."""
    await revoke_link(app_state(request).db, read_id(request, "link"), principal_of(request).name)
    return Response(status_code=204)


async def post_shared(request: Request) -> Response:
    """Read the conversation of a link, as it was when the link was made; the token is all that this needs."""
    state = app_state(request)
    state.rate_limiter.take(f"shared of {client_network(request)}", READS_PER_MINUTE, "one address")
    body = validate(SharedToken, await read_json(request))
    link, rows = await read_shared(state.reads, body.token, state.settings.access.link_days, body.after)
    shared = SharedConversation(
        title=link["title"],
        assistant=link["assistant"],
        assistant_title=link["assistant_title"],
        shared_at=link["created_at"],
        expires_at=link["expires_at"],
        messages=[_to_message(row) for row in rows],
        next=body.after + len(rows) if len(rows) == PAGE_SIZE else None,
    )
    response = json_response(shared)
    response.headers.update(NOT_INDEXED)
    return response


def _to_message(row: queries.SharedMessagesRow) -> SharedMessage:
    content: str = row["content"]
    for image in row["attachment_ids"]:  # an answer names the images that were generated for it
        content = content.replace(f": {image}", "").replace(str(image), "")
    return SharedMessage(
        role=cast(Literal["user", "assistant"], row["role"]),
        content=content,
        agent=row["agent"],
        images=len(row["attachment_ids"]),
        evidence=[SharedEvidence(**one) for one in row["evidence"] or []],
        created_at=row["created_at"],
    )
