"""/oauth: a client registers by itself, exchanges a code for tokens, renews and revokes them."""

from __future__ import annotations

import base64
import hashlib
import re
import time
from typing import TypeVar
from urllib.parse import parse_qsl

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from maas import queries
from maas.accounts import hash_token
from maas.accounts.apps import (
    AppTokens,
    check_redirect,
    clean_client_name,
    exchange_code,
    find_client,
    register_client,
    renew_app,
)
from maas.http.client_documents import is_document
from maas.http.oauth import MAX_BODY_BYTES, NewClient, RegisteredClient, RevocationForm, TokenForm, TokenResponse
from maas.http.protected_resource import FORM, check_issues_tokens
from maas.http.request_input import content_type, read_chunks, read_json, validate
from maas.http.schemas import json_response
from maas.http.sign_in.wrong_passwords import client_network
from maas.http.state import AppState, app_state
from shared.errors import MaasError

MAX_FORM_FIELDS = 20
TOKEN_FACTOR = 10  # codes and tokens may come so many times as often as registrations
_VERIFIER = re.compile(r"[A-Za-z0-9._~-]{43,128}", re.ASCII)
Model = TypeVar("Model", bound=BaseModel)


async def post_client(request: Request) -> Response:
    """Register a client (RFC 7591), without a secret: PKCE proves that it is the one who asked.

    It is deleted after a day, unless somebody has connected it.
    """
    state = _begin(request, "register", 1)
    try:
        body = validate(NewClient, await read_json(request, MAX_BODY_BYTES))
    except MaasError as error:
        raise (
            MaasError("invalid_client_metadata", error.message) if error.code == "invalid_request" else error
        ) from None
    for address in body.redirect_uris:
        if (problem := check_redirect(address)) is not None:
            raise MaasError("invalid_redirect_uri", f"redirect_uris: {address[:80]!r} {problem}")
    name = clean_client_name(body.client_name)
    addresses = list(dict.fromkeys(body.redirect_uris))
    client_id = await register_client(state.db, name, addresses)
    registered = RegisteredClient(
        client_id=client_id, client_id_issued_at=int(time.time()), client_name=name, redirect_uris=addresses
    )
    return json_response(registered, 201)


async def post_app_token(request: Request) -> Response:
    """Exchange a code, which is valid once and for a minute, or a refresh token, which is valid once.

    The later use of either disconnects the app, because somebody else may have it.
    """
    state = _begin(request, "token", TOKEN_FACTOR)
    form = await _read_form(request, TokenForm)
    if form.grant_type not in ("authorization_code", "refresh_token"):
        raise MaasError("unsupported_grant_type", "grant_type: must be authorization_code or refresh_token")
    if not is_document(form.client_id) and await find_client(state.db, form.client_id) is None:
        raise MaasError("invalid_client", "client_id: is not registered here; register again")
    tokens = await (_exchange(state, form) if form.grant_type == "authorization_code" else _renew(state, form))
    sent = TokenResponse(
        access_token=tokens.access_token,
        expires_in=tokens.expires_in,
        refresh_token=tokens.refresh_token,
        scope=" ".join(tokens.scopes),
    )
    return json_response(sent)


async def post_app_revocation(request: Request) -> Response:
    """Disconnect the app of a token (RFC 7009). An unknown token is answered in the same way."""
    state = _begin(request, "token", TOKEN_FACTOR)
    form = await _read_form(request, RevocationForm)
    await state.db.value(queries.revoke_app_token, hash_token(form.token), form.client_id)
    return Response(status_code=200)


async def _exchange(state: AppState, form: TokenForm) -> AppTokens:
    if form.code is None or form.code_verifier is None:
        raise MaasError("invalid_request", "code and code_verifier: both are required")
    if not _VERIFIER.fullmatch(form.code_verifier):
        raise MaasError("invalid_request", "code_verifier: must be 43 to 128 letters, digits or . _ ~ -")
    digest = hashlib.sha256(form.code_verifier.encode()).digest()
    challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
    return await exchange_code(
        state.db, state.settings.access, form.client_id, form.code, form.redirect_uri, challenge, form.resource
    )


async def _renew(state: AppState, form: TokenForm) -> AppTokens:
    if form.refresh_token is None:
        raise MaasError("invalid_request", "refresh_token: is required")
    return await renew_app(state.db, state.settings.access, form.client_id, form.refresh_token, form.resource)


def _begin(request: Request, name: str, factor: int) -> AppState:
    """Count the request of this client address. Raises MaasError: not_found where nobody signs in, rate_limited."""
    state = app_state(request)
    check_issues_tokens(state.settings)
    per_minute = state.limits["sign_in_address_rate"] * factor
    state.rate_limiter.take(f"oauth {name} of {client_network(request)}", per_minute, "one address")
    return state


async def _read_form(request: Request, model: type[Model]) -> Model:
    """Return the form as `model`; a field that is sent twice is refused, other fields have no effect."""
    if content_type(request) != FORM:
        raise MaasError("unsupported_media_type", f"send the body as {FORM}")
    raw = bytearray()
    async for chunk in read_chunks(request, MAX_BODY_BYTES):
        raw += chunk
    try:
        pairs = parse_qsl(raw.decode("ascii"), errors="strict", max_num_fields=MAX_FORM_FIELDS)
    except ValueError as error:
        raise MaasError("invalid_request", f"the body is not a form of at most {MAX_FORM_FIELDS} fields") from error
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise MaasError("invalid_request", "a field was sent twice")
    return validate(model, {name: fields[name] for name in model.model_fields if name in fields})
