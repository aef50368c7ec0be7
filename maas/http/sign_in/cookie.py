"""Cookie mode: our own page keeps its refresh token in a cookie that no script can read.

A request that sends or needs the cookie has the header `X-MaaS-Session: cookie`, which a page of another origin cannot
set without CORS, and comes from a page of this origin.
"""

from __future__ import annotations

import hmac
import secrets
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response

from maas.accounts.sign_in import SignIn
from maas.http.auth import LOOPBACK_HOST
from maas.http.sign_in import AUTH_PATH
from shared.errors import MaasError

COOKIE = "maas_refresh"
BROWSER_COOKIE = "maas_browser"
BROWSER_DAYS = 365
BROWSER_BYTES = 16
SECONDS_PER_DAY = 86_400
_FOREIGN = "X-MaaS-Session: cookie is for the page of this server; keep the refresh token yourself, without that header"


def is_cookie_mode(request: Request) -> bool:
    """Whether the request asks for the cookie. Raises MaasError('bad_origin') for a page of another origin."""
    if request.headers.get("x-maas-session") != "cookie":
        return False
    if "origin" in request.headers and not is_same_origin(request):
        raise MaasError("bad_origin", _FOREIGN)
    return True


def is_same_origin(request: Request) -> bool:
    """Whether a page of this origin sent the request: the browser says so, or its origin is the host of the request."""
    origins = request.headers.getlist("origin")
    if len(origins) != 1:
        return False
    site = request.headers.get("sec-fetch-site")  # which pages cannot set, and proxies do not change
    if site is not None:
        return site == "same-origin"
    try:
        origin = urlsplit(origins[0])
    except ValueError:
        return False
    host = request.headers.get("host", "")
    return origin.scheme in ("http", "https") and origin.netloc != "" and origin.netloc.lower() == host.lower()


def read_cookie(request: Request) -> str:
    """Return the refresh token of the cookie, empty if there is none. Raises MaasError('bad_origin')."""
    if not is_same_origin(request):
        raise MaasError("bad_origin", _FOREIGN)
    return request.cookies.get(COOKIE, "")


def set_cookie(request: Request, response: Response, refresh_token: str, days: int) -> None:
    """Store the refresh token in the browser; over TLS only, unless the page itself came without it."""
    response.set_cookie(
        COOKIE,
        refresh_token,
        max_age=days * SECONDS_PER_DAY,
        path=AUTH_PATH,
        secure=_is_secure(request),
        httponly=True,
        samesite="strict",
    )


async def read_browser(request: Request, sign_in: SignIn, email: str) -> str | None:
    """Return the name of the browser if somebody signed in with this email in it before."""
    browser, _, mark = request.cookies.get(BROWSER_COOKIE, "").partition(".")
    is_known = hmac.compare_digest(mark.encode(), (await sign_in.mark_browser(email, browser)).encode())
    return browser if is_known else None


async def set_browser(request: Request, response: Response, sign_in: SignIn, email: str) -> None:
    """Let the browser prove later that somebody signed in with this email in it; it opens nothing."""
    browser = await read_browser(request, sign_in, email) or secrets.token_urlsafe(BROWSER_BYTES)
    response.set_cookie(
        BROWSER_COOKIE,
        f"{browser}.{await sign_in.mark_browser(email, browser)}",
        max_age=BROWSER_DAYS * SECONDS_PER_DAY,
        path=AUTH_PATH,
        secure=_is_secure(request),
        httponly=True,
        samesite="strict",
    )


def clear_cookie(request: Request, response: Response) -> None:
    """Remove the refresh token from the browser."""
    response.delete_cookie(COOKIE, path=AUTH_PATH, secure=_is_secure(request), httponly=True, samesite="strict")


def _is_secure(request: Request) -> bool:
    """Whether the cookie goes over TLS only: a browser would drop such a cookie of a page that came over plain http."""
    if request.headers.get("origin", "").lower().startswith("http://") and is_same_origin(request):
        return False
    host = request.headers.get("host", "")
    return not host or not LOOPBACK_HOST.fullmatch(host)
