"""/v1/webhooks: where events of a user are sent, and what came of each; /v1/admin/webhooks: of all users."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, cast, get_args
from uuid import UUID

import asyncpg
from pydantic import Field, StrictBool
from starlette.requests import Request
from starlette.responses import Response

from maas import queries
from maas.http.admin import admin_of
from maas.http.authorize import principal_of, read_body, read_user
from maas.http.request_input import read_cursor, read_id, read_limit, read_parameter, write_cursor
from maas.http.schemas import NUMBER, RequestBody, Schema, json_response
from maas.http.state import app_state
from shared.errors import MaasError

MAX_URL_CHARS = 2000
MAX_HOURS = 168
URL_PATTERN = r"^https?://[!$&-.0-;=A-Z\[\]_a-z~%]+([/?][!$-;=?-Z\[\]_a-z~%]*)?$"
UserEvent = Literal[
    "run.completed",
    "run.failed",
    "run.approval_required",
    "memory.added",
    "memory.forgotten",
    "fact.changed",
    "task.progress",
]
WebhookEvent = UserEvent | Literal["user.erased"]
EVENTS: tuple[WebhookEvent, ...] = (*get_args(UserEvent), "user.erased")
WebhookState = Literal["enabled", "asked", "gone", "failing", "queue_full"]
DeliveryState = Literal["waiting", "delivered", "failed"]
DeliveryError = Literal["unknown_host", "not_public", "not_https", "timeout", "unreachable", "no_answer"]
WebhookUrl = Annotated[str, Field(max_length=MAX_URL_CHARS, pattern=URL_PATTERN)]
Events = Annotated[list[WebhookEvent], Field(min_length=1, max_length=len(EVENTS))]
UserEvents = Annotated[list[UserEvent], Field(min_length=1, max_length=len(EVENTS))]
URL = "https://; http:// to networks that an operator has named."
TEXTS = "Whether events hold what was said, beside ids; it takes the scope read, too."


class NewSharedWebhook(RequestBody):
    url: WebhookUrl = Field(description=URL)
    events: Events | None = Field(None, description="null: all.")
    texts: StrictBool = Field(False, description=TEXTS)


class NewWebhook(RequestBody):
    user_id: UUID
    url: WebhookUrl = Field(description=URL)
    events: UserEvents | None = Field(None, description="null: all.")
    texts: StrictBool = Field(False, description=TEXTS)


class WebhookChange(RequestBody):
    """What is null stays as it is."""

    url: WebhookUrl | None = None
    events: Events | None = Field(None, description="user.erased is for webhooks of operators.")
    texts: StrictBool | None = Field(None, description=TEXTS)
    enabled: StrictBool | None = Field(None, description="true: what waits is sent; false: nothing is recorded.")


class SecretRotation(RequestBody):
    hours: Annotated[int, Field(ge=0, le=MAX_HOURS), NUMBER] = Field(
        24, description="For which deliveries are signed with the former secret, too."
    )


class DeliveryReplay(RequestBody):
    delivery_id: UUID | None = Field(None, description="null: all that failed, at most 1000.")


class Webhook(Schema):
    id: UUID
    user_id: UUID | None = Field(description="null: an operator's, for events of all users.")
    url: str
    events: list[WebhookEvent]
    texts: bool
    state: WebhookState = Field(
        description="enabled, or why it is disabled. asked: by its owner; gone: it answered 410; failing: for three "
        "days nothing arrived; queue_full: too many events waited."
    )
    waiting: int = Field(description="How many events are still to be sent.")
    failing_since: datetime | None
    paused_until: datetime | None
    created_at: datetime

    @classmethod
    def of(cls, row: queries.WebhookRow | queries.ListWebhooksRow) -> Webhook:
        """Return the response for a row of v_webhooks."""
        return cls(
            id=row["id"],
            user_id=row["user_id"],
            url=row["url"],
            events=cast(list[WebhookEvent], row["events"]),
            texts=row["has_texts"],
            state=cast(WebhookState, row["state"]),
            waiting=row["waiting"],
            failing_since=row["failing_since"],
            paused_until=row["paused_until"],
            created_at=row["created_at"],
        )


class CreatedWebhook(Webhook):
    secret: str = Field(description="What deliveries are signed with; it is shown this once.")


class WebhookList(Schema):
    results: list[Webhook]


class NewSecret(Schema):
    secret: str = Field(description="The new secret; it is shown this once.")


class WebhookDelivery(Schema):
    id: UUID = Field(description="The webhook-id.")
    type: WebhookEvent
    data: dict[str, Any] = Field(description="The data of the event, without texts.")
    state: DeliveryState
    attempts: int
    status: int | None = Field(description="What the endpoint answered last; null: nothing.")
    error: DeliveryError | None = Field(
        description="Why there was no answer. not_public: its host has an address that is not; not_https: http:// is "
        "for networks that an operator has named; no_answer: the connection broke, or its certificate is refused."
    )
    created_at: datetime
    changed_at: datetime
    next_at: datetime | None


class WebhookDeliveryPage(Schema):
    results: list[WebhookDelivery]
    next: str | None = Field(description="Send it as `before` to get the next page.")


class Replayed(Schema):
    deliveries: int = Field(description="How many are sent again.")


async def post_webhook(request: Request) -> Response:
    """Send events of a user to an address. The response alone shows the secret."""
    body = await read_body(request, NewWebhook)
    return await _create(request, body.user_id, body)


async def post_shared_webhook(request: Request) -> Response:
    """Send events of all users to an address. The response alone shows the secret."""
    admin_of(request)
    return await _create(request, None, await read_body(request, NewSharedWebhook))


async def _create(request: Request, user_id: UUID | None, body: NewWebhook | NewSharedWebhook) -> Response:
    _check_texts(request, body.texts)
    db, actor = app_state(request).db, principal_of(request).name
    row = await db.row(queries.create_webhook, user_id, body.url, body.events, body.texts, actor)
    assert row is not None
    found = await _read(request, row["id"])
    return json_response(CreatedWebhook(**found.model_dump(), secret=row["secret"]), 201)


async def get_webhooks(request: Request) -> Response:
    """List the webhooks of a user, the oldest first."""
    rows = await app_state(request).reads.rows(queries.list_webhooks, read_user(request))
    return json_response(WebhookList(results=[Webhook.of(row) for row in rows]))


async def get_shared_webhooks(request: Request) -> Response:
    """List the webhooks of operators, the oldest first."""
    admin_of(request)
    rows = await app_state(request).reads.rows(queries.list_webhooks, None)
    return json_response(WebhookList(results=[Webhook.of(row) for row in rows]))


async def get_webhook(request: Request) -> Response:
    """Read a webhook."""
    return json_response(await _own(request))


async def patch_webhook(request: Request) -> Response:
    """Change a webhook, disable it, or enable it again."""
    webhook = await _own(request)
    body = await read_body(request, WebhookChange)
    _check_texts(request, body.texts)
    db, actor = app_state(request).db, principal_of(request).name
    try:
        await db.value(queries.change_webhook, webhook.id, body.url, body.events, body.texts, body.enabled, actor)
    except asyncpg.InvalidParameterValueError as error:
        raise MaasError("conflict", str(error.args[0])) from None
    return json_response(await _read(request, webhook.id))


async def delete_webhook(request: Request) -> Response:
    """Delete a webhook; what waits for it is not sent."""
    webhook = await _own(request)
    await app_state(request).db.value(queries.delete_webhook, webhook.id, principal_of(request).name)
    return Response(status_code=204)


async def post_rotate(request: Request) -> Response:
    """Make a new secret; for some hours deliveries are signed with both."""
    webhook = await _own(request)
    body = await read_body(request, SecretRotation)
    secret = await app_state(request).db.value(
        queries.rotate_webhook, webhook.id, body.hours, principal_of(request).name
    )
    if secret is None:
        raise _not_found(webhook.id)
    return json_response(NewSecret(secret=secret))


async def get_deliveries(request: Request) -> Response:
    """List the deliveries of a webhook, newest first."""
    webhook, limit = await _own(request), read_limit(request)
    state: DeliveryState | None = read_parameter(request, "state", _to_state)
    before = read_cursor(request) or (None, None)
    rows = await app_state(request).reads.rows(queries.webhook_deliveries, webhook.id, state, *before, limit)
    found = [
        WebhookDelivery(
            id=row["id"],
            type=cast(WebhookEvent, row["type"]),
            data=row["data"],
            state=row["state"],
            attempts=row["attempts"],
            status=row["status"],
            error=cast(DeliveryError | None, row["error"]),
            created_at=row["created_at"],
            changed_at=row["changed_at"],
            next_at=row["next_at"],
        )
        for row in rows
    ]
    return json_response(WebhookDeliveryPage(results=found, next=write_cursor(rows, limit)))


async def post_replay(request: Request) -> Response:
    """Send a delivery again that has arrived or failed, or all that failed, with their ids."""
    webhook = await _own(request)
    body = await read_body(request, DeliveryReplay)
    count = await app_state(request).db.value(
        queries.replay_webhook, webhook.id, body.delivery_id, principal_of(request).name
    )
    return json_response(Replayed(deliveries=count or 0))


async def _own(request: Request) -> Webhook:
    """Return the webhook of the path; one of operators to administrators of all users only. Raises not_found."""
    webhook = await _read(request, read_id(request, "webhook"))
    principal = principal_of(request)
    if webhook.user_id is None and (principal.is_bound or not principal.may("admin")):
        raise _not_found(webhook.id)
    return webhook


async def _read(request: Request, webhook_id: UUID) -> Webhook:
    row = await app_state(request).db.row(queries.webhook, webhook_id)
    if row is None:
        raise _not_found(webhook_id)
    return Webhook.of(row)


def _not_found(webhook_id: UUID) -> MaasError:
    return MaasError("not_found", f"there is no webhook {webhook_id}")


def _check_texts(request: Request, texts: bool | None) -> None:
    principal = principal_of(request)
    if texts and not principal.may("read"):
        raise MaasError("forbidden", f"texts requires the scope read; you have {', '.join(sorted(principal.scopes))}")


def _to_state(text: str) -> DeliveryState:
    if text not in get_args(DeliveryState):
        raise ValueError(f"must be one of {', '.join(get_args(DeliveryState))}")
    return cast(DeliveryState, text)
