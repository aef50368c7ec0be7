"""What a principal may do: the scope of each route, and the users that its path, query and body name."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Literal, TypeVar
from uuid import UUID

import structlog
from pydantic import BaseModel
from starlette.requests import Request
from starlette.types import Scope as ASGIScope

from maas.http.auth import Principal, Scope, Unauthenticated
from maas.http.request_input import read_id, read_json, read_parameter, validate
from maas.http.state import app_state, until_sent
from maas.named_queries import query_named
from maas.users import has_name_prefix
from shared.errors import MaasError

Resource = Literal[
    "run",
    "conversation",
    "action",
    "attachment",
    "memory",
    "fact",
    "user",
    "document",
    "response",
    "webhook",
    "schedule",
    "link",
    "app",
]
Model = TypeVar("Model", bound=BaseModel)
EVERYBODY = UUID(int=0)  # the owner of documents that all users may read
log = structlog.get_logger()


async def authorize(
    request: Request, scope: Scope, resource: Resource | None = None, *, names_users: bool = False
) -> None:
    """Authenticate the request and check its scope, its rate, the owner of its path id and the user of its query.

    With `names_users` the query has a name instead of the id of a user, and the handler checks it.
    Raises MaasError: unauthenticated, share_used, rate_limited, forbidden, not_found, bad_parameter.
    """
    if scope == "open":
        return
    principal = await authenticate(request)
    if principal.per_minute is not None:
        app_state(request).rate_limiter.take(principal.name, principal.per_minute, "this key")
    if not principal.may(scope):
        raise MaasError("forbidden", f"this requires the scope {scope}; you have {', '.join(sorted(principal.scopes))}")
    if principal.user_id is not None:
        await note_user(request, principal.user_id)
    if resource is not None:
        await _check_owner(request, resource)
    user_id: UUID | None = None if names_users else read_parameter(request, "user_id", UUID)
    if user_id is not None:
        await check_user(request, user_id)


async def authenticate(request: Request) -> Principal:
    """Find the principal of this request, store it for `principal_of`, and take one place of its share of requests.

    Raises Unauthenticated, MaasError: share_used, busy.
    """
    state = app_state(request)
    try:
        principal = request.state.principal = await state.authenticator.authenticate(request)
    except Unauthenticated as error:
        state.request_metrics.count_unauthenticated(error.cause)
        client = request.client.host if request.client is not None else None
        log.info("unauthenticated", cause=error.cause, path=request.url.path, client=client)
        raise
    until_sent(request).enter_context(state.shares.requests.hold_now(owner_of(request)))
    return principal


def principal_of(request: Request) -> Principal:
    """Return the principal of a request that was authenticated."""
    principal = request.state.principal
    assert isinstance(principal, Principal)
    return principal


def owner_of(request: Request) -> Hashable:
    """Return whose share of requests, streams and uploads is used: of the user or the prefix that the key is bound to.

    Of a key that is bound to neither it is that of the user whom it has named so far, if any.
    """
    principal = principal_of(request)
    return (principal.user_id or principal.name) if principal.is_bound else user_of(request)


def user_of(request: Request) -> Hashable:
    """Return the user whom the request has named so far; without one a new object, which shares nothing."""
    return getattr(request.state, "named_user", None) or object()


def hold_stream(request: Request) -> None:
    """Take one place for the event stream that is the response. Raises MaasError: share_used, busy."""
    until_sent(request).enter_context(app_state(request).shares.streams.hold_now(owner_of(request)))


async def check_user(request: Request, user_id: UUID) -> None:
    """Raise MaasError('not_found') for a user whom the principal does not serve, or MaasError('rate_limited')."""
    if not await serves(request, user_id):
        raise MaasError("not_found", f"there is no user {user_id}")
    await note_user(request, user_id)


async def note_user(request: Request, user_id: UUID) -> None:
    """Note that the request is about this user.

    It counts once towards MAAS_USER_RATE, for the first user that it names, and is written to the audit if it is an
    administrator's and the user is somebody else. Raises rate_limited.
    """
    state, principal = app_state(request), principal_of(request)
    if getattr(request.state, "named_user", None) is None:
        request.state.named_user = user_id
        if per_minute := state.limits["user_rate"]:
            state.rate_limiter.take(f"user:{user_id}", per_minute, "a user")
    if principal.is_administrator and user_id not in (principal.user_id, principal.default_user):
        method = "GET" if request.method == "HEAD" else request.method
        await state.access_audit.note(principal, "user_access", user_id, route=f"{method} {route_path(request.scope)}")


def route_path(scope: ASGIScope) -> str:
    """Return the path of the route with placeholders instead of ids."""
    path: str = getattr(scope.get("route"), "path", "unknown")
    return path.replace(":path}", "}")


def read_user(request: Request) -> UUID:
    """Return the query parameter `user_id`, or the user that the principal is bound to. Raises bad_parameter."""
    user_id: UUID | None = read_parameter(request, "user_id", UUID, principal_of(request).user_id)
    if user_id is None:
        raise MaasError("bad_parameter", "user_id: is required")
    return user_id


async def read_body(request: Request, model: type[Model]) -> Model:
    """Return the JSON body as `model`, after a check of the user that it names.

    Raises MaasError: unsupported_media_type, too_large, invalid_json, invalid_request, not_found, rate_limited.
    """
    return await check_body(request, model, await read_json(request))


async def check_body(request: Request, model: type[Model], value: object) -> Model:
    """Return `value` as `model`, after a check of its `user_id`. Raises invalid_request, not_found, rate_limited."""
    body = validate(model, value)
    if (user_id := getattr(body, "user_id", None)) is not None:
        await check_user(request, user_id)
    return body


async def _check_owner(request: Request, resource: Resource) -> None:
    """Check the owner of the path id; somebody else's resource is answered like one that does not exist."""
    principal = principal_of(request)
    if resource == "user":
        await check_user(request, read_id(request, resource))
    elif principal.is_bound or principal.is_administrator:
        resource_id = read_id(request, resource)
        owner = await app_state(request).db.value(query_named(f"owner_of_{resource}"), resource_id)
        if owner == EVERYBODY and request.method == "GET":
            return
        if principal.is_bound and (owner is None or not await serves(request, owner)):
            raise MaasError("not_found", f"there is no {resource} {resource_id}")
        if owner is not None:
            await note_user(request, owner)


async def serves(request: Request, user_id: UUID) -> bool:
    """Whether the principal may see the memory of this user."""
    principal = principal_of(request)
    if principal.user_id is not None:
        return principal.user_id == user_id
    return principal.prefix is None or await has_name_prefix(app_state(request).db, user_id, principal.prefix)
