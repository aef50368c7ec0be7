"""Apps of a person: what one that asks may do, the person's yes to it, which are connected, and the end of that.

Only a person who has signed in says yes: with the access token of a session, which no other page and no app has.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from maas import queries
from maas.accounts.apps import APP_SCOPES, AppClient, AppScope, add_parameters, connect_app, place_of
from maas.http.auth import Principal
from maas.http.auth.apps import mcp_address, origin_of
from maas.http.authorize import principal_of, read_body, read_user
from maas.http.client_documents import get_client, host_of
from maas.http.protected_resource import check_issues_tokens
from maas.http.request_input import read_id
from maas.http.schemas import RequestBody, Schema, StorableText, json_response
from maas.http.state import app_state
from shared.errors import MaasError

MAX_STATE_CHARS = 4096
CONSENTS_PER_MINUTE = 30  # of one person
_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)
PlaceKind = Literal["site", "computer", "app"]
Problem = Literal["unsupported_response_type", "invalid_request", "invalid_scope", "invalid_target"]


class AppRequest(RequestBody):
    """The parameters with which an app has sent a person to the page, as they are (OAuth 2.1, RFC 8707)."""

    client_id: StorableText = Field(min_length=1, max_length=1000)
    redirect_uri: StorableText | None = Field(None, max_length=1000)
    response_type: StorableText | None = Field(None, max_length=100)
    code_challenge: StorableText | None = Field(None, max_length=200)
    code_challenge_method: StorableText | None = Field(None, max_length=20)
    scope: StorableText | None = Field(None, max_length=1000)
    state: StorableText | None = Field(None, max_length=MAX_STATE_CHARS)
    resource: StorableText | None = Field(None, max_length=1000)


class AskingApp(Schema):
    """An app that asks to be connected, by the name that it gives itself."""

    name: str
    document_host: str | None = Field(description="The host that answers for the name; null where nobody does.")
    redirect_kind: PlaceKind = Field(description="It is a site, a program on this computer, or another app.")
    redirect_to: str = Field(description="The host, or the scheme of the app, to which the person is sent back.")
    scopes: list[AppScope]
    problem: Problem | None = Field(description="Why it cannot be connected.")
    refusal_url: str = Field(description="Where the person goes back to without connecting it.")


class ConnectingApp(Schema):
    redirect_url: str = Field(description="Where the person goes on; it has the code for the app.")


class ConnectedApp(Schema):
    id: UUID
    name: str
    redirect_kind: PlaceKind
    redirect_to: str
    scopes: list[AppScope]
    created_at: datetime
    renewed_at: datetime | None = Field(description="When it has last renewed its access.")
    expires_at: datetime = Field(description="When it must be connected again, unless it renews its access before.")


class AppList(Schema):
    results: list[ConnectedApp]


@dataclass(frozen=True, slots=True)
class _Asked:
    client: AppClient
    redirect: str
    scopes: tuple[AppScope, ...]
    resource: str
    problem: Problem | None
    user_id: UUID


async def post_app_preview(request: Request) -> Response:
    """Return what an app asks for, to be shown to the person who decides. Nothing is changed."""
    body = await read_body(request, AppRequest)
    asked = await _read_asked(request, body)
    kind, place = place_of(asked.redirect)
    refusal = {"error": asked.problem or "access_denied", "state": body.state, "iss": origin_of(request)}
    return json_response(
        AskingApp(
            name=asked.client.name or place,
            document_host=host_of(asked.client.id),
            redirect_kind=kind,
            redirect_to=place,
            scopes=list(asked.scopes),
            problem=asked.problem,
            refusal_url=add_parameters(asked.redirect, refusal),
        )
    )


async def post_app(request: Request) -> Response:
    """Connect an app: the person who is signed in says yes. The response has where to go on."""
    body = await read_body(request, AppRequest)
    asked = await _read_asked(request, body)
    if asked.problem is not None:
        raise MaasError("invalid_request", f"the app asks for what it cannot get ({asked.problem})")
    assert body.code_challenge is not None
    code = await connect_app(
        app_state(request).db,
        asked.client,
        asked.redirect,
        asked.scopes,
        asked.resource,
        body.code_challenge,
        asked.user_id,
    )
    sent = {"code": code, "state": body.state, "iss": origin_of(request)}
    return json_response(ConnectingApp(redirect_url=add_parameters(asked.redirect, sent)), 201)


async def get_apps(request: Request) -> Response:
    """List the apps that a user has connected, newest first."""
    rows = await app_state(request).reads.rows(queries.list_apps, read_user(request))
    return json_response(AppList(results=[_to_app(row) for row in rows]))


async def delete_app(request: Request) -> Response:
    """Disconnect an app: its tokens are refused within a second."""
    app_id = read_id(request, "app")
    if not await app_state(request).db.value(queries.disconnect_app, app_id, principal_of(request).name):
        raise MaasError("not_found", f"there is no app {app_id}")
    return Response(status_code=204)


async def _read_asked(request: Request, body: AppRequest) -> _Asked:
    """Check who asks whom for what. Raises MaasError: not_found, forbidden, rate_limited, invalid_request.

    A client or an address that is unknown raises, so that nobody is sent there; other problems are told to the client.
    """
    state = app_state(request)
    check_issues_tokens(state.settings)
    user_id = _person_of(principal_of(request))
    state.rate_limiter.take(f"consent of {user_id}", CONSENTS_PER_MINUTE, "a user")
    client = await get_client(state.db, state.client_documents, body.client_id)
    if client is None:
        raise MaasError(
            "invalid_request", "client_id: is not registered here; let the app connect again from its start"
        )
    redirect = client.choose_redirect(body.redirect_uri)
    if redirect is None:
        raise MaasError("invalid_request", "redirect_uri: is not one that this app has registered")
    scopes = _choose_scopes(body.scope)
    resource = body.resource or mcp_address(request)
    problem = _problem_of(body, scopes, resource == mcp_address(request))
    return _Asked(client, redirect, scopes, resource, problem, user_id)


def _person_of(principal: Principal) -> UUID:
    """Return the person who has signed in. Raises MaasError('forbidden') for keys and apps."""
    user_id = principal.user_id or principal.default_user
    if user_id is None or not principal.name.startswith("jwt:"):
        raise MaasError("forbidden", "only a person who has signed in can connect an app")
    return user_id


def _choose_scopes(wanted: str | None) -> tuple[AppScope, ...]:
    """Return those of the scopes that there are; all if none was asked for."""
    asked = wanted.split() if wanted is not None else []
    return tuple(scope for scope in APP_SCOPES if scope in asked or not asked)


def _problem_of(body: AppRequest, scopes: tuple[AppScope, ...], is_here: bool) -> Problem | None:
    if body.response_type != "code":
        return "unsupported_response_type"
    if body.code_challenge_method != "S256" or not _CHALLENGE.fullmatch(body.code_challenge or ""):
        return "invalid_request"
    if not scopes:
        return "invalid_scope"
    return None if is_here else "invalid_target"


def _to_app(row: queries.ListAppsRow) -> ConnectedApp:
    kind, place = place_of(row["redirect_uri"])
    return ConnectedApp(
        id=row["id"],
        name=row["name"],
        redirect_kind=kind,
        redirect_to=place,
        scopes=[scope for scope in APP_SCOPES if scope in row["scopes"]],
        created_at=row["created_at"],
        renewed_at=row["renewed_at"],
        expires_at=row["expires_at"],
    )
