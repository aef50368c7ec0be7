"""/auth/v1: sign up, sign in, refresh, sign out, and the account of the person who is signed in."""

from __future__ import annotations

from collections.abc import Awaitable
from importlib.metadata import version
from typing import TypeVar, get_args
from uuid import UUID

import structlog
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from maas.accounts import normalise_email
from maas.accounts.sign_in import Session, SignIn, SignOutScope
from maas.http.auth import TokenVerifier, Unauthenticated, read_credential
from maas.http.request_input import read_json, read_parameter, validate
from maas.http.schemas import json_response
from maas.http.sign_in import (
    AccountUser,
    AuthHealth,
    AuthSession,
    AuthSettings,
    SignUp,
    TokenRequest,
    UserChange,
    Verification,
)
from maas.http.sign_in.cookie import clear_cookie, is_cookie_mode, read_browser, read_cookie, set_browser, set_cookie
from maas.http.sign_in.wrong_passwords import address_bucket, client_network, counting_wrong_passwords
from maas.http.state import app_state
from shared.errors import MaasError

GRANT_TYPES = ("password", "refresh_token")
SIGN_OUT_SCOPES: tuple[str, ...] = get_args(SignOutScope)
LIGHT_FACTOR = 10  # requests without a password may come so many times as often
NO_TOKEN = "send the access token as `Authorization: Bearer ...`"
Model = TypeVar("Model", bound=BaseModel)
log = structlog.get_logger()


async def post_sign_up(request: Request) -> Response:
    """Create an account and sign in.

    With MAAS_SIGNUP=closed, and for the first administrator, `data.admin_code` is the code that the server prints.
    """
    sign_in = _begin(request, is_password=True)
    is_cookie = is_cookie_mode(request)
    body = await _read_body(request, SignUp)
    data = body.data
    session = await sign_in.sign_up(
        body.email,
        body.password,
        data.name if data else None,
        data.admin_code if data else None,
        client_network(request),
    )
    return await _session_response(request, session, is_cookie)


async def post_token(request: Request) -> Response:
    """Sign in with email and password, or replace a refresh token.

    A refresh token is valid once. Its later use ends the session, because it may have been stolen; within 10 seconds,
    two tabs that refresh at once both get a session.
    """
    grant: str | None = read_parameter(request, "grant_type", str)
    if grant not in GRANT_TYPES:
        _begin(request)
        raise MaasError("validation_failed", f"grant_type: must be one of {', '.join(GRANT_TYPES)}")
    sign_in = _begin(request)
    is_cookie = is_cookie_mode(request)
    body = await _read_body(request, TokenRequest)
    if grant == "password":
        if body.email is None or body.password is None:
            raise MaasError("validation_failed", "email and password: both are required")
        email = normalise_email(body.email)
        browser = await read_browser(request, sign_in, email) if is_cookie else None
        with counting_wrong_passwords(request, email, browser):
            client = browser or client_network(request)
            return await _answer(request, sign_in.sign_in(email, body.password, client), is_cookie)
    refresh_token = body.refresh_token or (read_cookie(request) if is_cookie else "")
    if not refresh_token:
        raise MaasError("refresh_token_not_found", "refresh_token: is required; sign in again")
    return await _answer(request, sign_in.refresh(refresh_token), is_cookie)


async def post_verify(request: Request) -> Response:
    """Sign in by the one-time link that an administrator made for a forgotten password."""
    sign_in = _begin(request, is_password=True)
    is_cookie = is_cookie_mode(request)
    body = await _read_body(request, Verification)
    return await _answer(request, sign_in.use_link(body.token_hash), is_cookie)


async def get_account(request: Request) -> Response:
    """Return the person who is signed in."""
    sign_in = _begin(request)
    return json_response(AccountUser.of(await sign_in.account(*await _read_session(request))))


async def put_account(request: Request) -> Response:
    """Set a new password or name of the person who is signed in."""
    sign_in = _begin(request, is_password=True)
    user_id, session_id = await _read_session(request)
    body = await _read_body(request, UserChange)
    account = await sign_in.account(user_id, session_id)
    if body.email is not None and normalise_email(body.email) != account.email:
        raise MaasError("validation_failed", "email: cannot be changed; ask an administrator for another account")
    if body.password is not None:
        state = app_state(request)
        state.rate_limiter.take(f"password:{user_id}", state.limits["sign_in_rate"], "one account")
    account = await sign_in.change(
        account,
        session_id,
        body.password,
        body.current_password,
        body.data.name if body.data else None,
        client_network(request),
    )
    return json_response(AccountUser.of(account))


async def post_logout(request: Request) -> Response:
    """End this session (`local`), all others (`others`) or all (`global`); access tokens are refused within a second.

    In cookie mode the cookie is enough, so that a page whose access token has expired can sign out.
    """
    sign_in = _begin(request)
    scope: SignOutScope = read_parameter(request, "scope", _to_scope, "global")
    is_cookie = is_cookie_mode(request)
    try:
        user_id, session_id = await _read_session(request)
        await sign_in.check_open(user_id, session_id)
        session: tuple[UUID, UUID] | None = (user_id, session_id)
    except MaasError:
        if not is_cookie:
            raise
        session = await sign_in.find_session(read_cookie(request))
    if session is not None:
        await sign_in.sign_out(*session, scope)
    response = Response(status_code=204)
    if is_cookie and scope != "others":
        clear_cookie(request, response)
    return response


async def get_auth_settings(request: Request) -> Response:
    """Return what a sign-in page must know."""
    _begin(request)
    settings = app_state(request).settings
    return json_response(
        AuthSettings(
            disable_signup=settings.access.signup == "closed", password_min_length=settings.access.password_length
        )
    )


async def get_auth_health(request: Request) -> Response:
    """Return 200 while the sign-in is served."""
    _begin(request)
    return json_response(AuthHealth(version=version("maas")))


def _begin(request: Request, *, is_password: bool = False) -> SignIn:
    """Count the request of this client address. Raises MaasError: not_found without MAAS_AUTH=local, rate_limited."""
    state = app_state(request)
    if state.sign_in is None:
        raise MaasError("not_found", f"sign-in is off: set MAAS_AUTH=local (now {state.settings.access.auth})")
    rate = state.limits["sign_in_address_rate"]
    per_minute = rate if is_password else rate * LIGHT_FACTOR
    network = client_network(request)
    bucket = address_bucket(network) if is_password else f"light of {network}"
    state.rate_limiter.take(bucket, per_minute, "one address")
    return state.sign_in


async def _read_body(request: Request, model: type[Model]) -> Model:
    """Return the JSON body; a request without one has no fields."""
    if request.headers.get("content-length", "0") == "0" and "transfer-encoding" not in request.headers:
        return validate(model, {})
    return validate(model, await read_json(request))


async def _read_session(request: Request) -> tuple[UUID, UUID]:
    """Return the user and the session of the access token. Raises MaasError: no_authorization, bad_jwt."""
    from maas.http.auth.jwt import parse_session, parse_subject  # slow to load

    state = app_state(request)
    try:
        token = read_credential(request)
        assert isinstance(state.authenticator, TokenVerifier)
        claims = await state.authenticator.verify(token)
        user_id, session_id = parse_subject(claims.get("sub")), parse_session(claims)
        if session_id is None:
            raise Unauthenticated("session")
    except Unauthenticated as error:
        state.request_metrics.count_unauthenticated(error.cause)
        if error.cause == "missing":
            raise MaasError("no_authorization", NO_TOKEN) from error
        raise MaasError(
            "bad_jwt", f"the access token is invalid or expired; refresh the session, or {NO_TOKEN}"
        ) from error
    return user_id, session_id


async def _answer(request: Request, signing_in: Awaitable[Session], is_cookie: bool) -> Response:
    """Return the session; log why there is none, without the email."""
    try:
        return await _session_response(request, await signing_in, is_cookie)
    except MaasError as error:
        client = request.client.host if request.client is not None else None
        log.info("sign_in_failed", cause=error.code, path=request.url.path, client=client)
        app_state(request).request_metrics.count_unauthenticated(error.code)
        raise


async def _session_response(request: Request, session: Session, is_cookie: bool) -> Response:
    state = app_state(request)
    response = json_response(AuthSession.of(session, "" if is_cookie else session.refresh_token))
    if is_cookie:
        assert state.sign_in is not None
        set_cookie(request, response, session.refresh_token, state.settings.access.refresh_days)
        await set_browser(request, response, state.sign_in, session.account.email)
    return response


def _to_scope(text: str) -> str:
    if text not in SIGN_OUT_SCOPES:
        raise ValueError(f"must be one of {', '.join(SIGN_OUT_SCOPES)}")
    return text
