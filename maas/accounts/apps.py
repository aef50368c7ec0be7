"""Apps that people connect: clients of MCP that sign in by OAuth 2.1 and act as the user who has said yes.

A client proves nothing of what it says of itself. What holds is where a person is sent back to, which is compared
exactly, and the verifier that only who has asked knows (PKCE).
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlencode, urlsplit
from uuid import UUID

from maas import queries
from maas.accounts import hash_token
from maas.settings.access import AccessSettings
from shared.db import Database
from shared.errors import MaasError
from shared.text import is_blank, visible_line

AppScope = Literal["read", "ask"]
APP_SCOPES: tuple[AppScope, ...] = ("read", "ask")
ACCESS_PREFIX, REFRESH_PREFIX, CODE_PREFIX, CLIENT_PREFIX = "maasat_", "maasrt_", "maasac_", "maasci_"
TOKEN_BYTES, CLIENT_BYTES = 32, 16
CODE_LIFETIME_S = 60.0
MAX_CLIENT_NAME_CHARS, MAX_REDIRECT_CHARS, MAX_REDIRECTS = 100, 1000, 10
MAX_UNUSED_CLIENTS = 10_000  # that have registered and wait for somebody to connect them
APP_SCHEMES = frozenset({"claude", "cursor", "vscode", "vscode-insiders", "windsurf", "zed"})
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*:[!-~]+", re.ASCII)
_REFUSED_IN_ADDRESS = re.compile(r"""[#\\<>"`{|}^]""")
_LOOPBACK = re.compile(r"http://(?:127\.0\.0\.1|\[::1\]|localhost)(:[0-9]{1,5})?(?=[/?]|$)", re.ASCII)
_REFUSALS = {
    "unknown": ("invalid_grant", "the code or token is unknown, expired or not of this client; connect again"),
    "reused": ("invalid_grant", "the code or token was used before, so the app was disconnected for safety"),
    "other_resource": ("invalid_target", "resource: is not the one that the person has allowed"),
}


@dataclass(frozen=True, slots=True)
class AppClient:
    """What a client says of itself; nobody has verified it."""

    id: str
    name: str | None
    redirect_uris: tuple[str, ...]

    def choose_redirect(self, wanted: str | None) -> str | None:
        """Return where the person is sent back to, None for an address that is not registered.

        Addresses are compared exactly; that of a program on the person's machine may have any port (RFC 8252).
        """
        if wanted is None:
            return self.redirect_uris[0] if len(self.redirect_uris) == 1 else None
        known = wanted in self.redirect_uris or (
            _LOOPBACK.match(wanted) is not None
            and _without_port(wanted) in {_without_port(one) for one in self.redirect_uris}
        )
        return wanted if known and check_redirect(wanted) is None else None


@dataclass(frozen=True, slots=True)
class AppTokens:
    """What an app keeps; `repr` shows no token."""

    access_token: str
    refresh_token: str
    expires_in: int
    scopes: tuple[str, ...]

    def __repr__(self) -> str:
        return f"AppTokens({self.scopes})"


def check_redirect(address: str) -> str | None:
    """Return why nobody may be sent to an address; None if it may be registered.

    Allowed are https, http on the person's own machine, and schemes that belong to one app: reverse domain names
    (RFC 8252), and those of known editors.
    """
    if len(address) > MAX_REDIRECT_CHARS or not _ADDRESS.fullmatch(address) or _REFUSED_IN_ADDRESS.search(address):
        return f"must be an absolute address of at most {MAX_REDIRECT_CHARS} characters of ASCII without a fragment"
    scheme = address.partition(":")[0]
    if scheme == "http":
        return None if _LOOPBACK.match(address) else "http is for 127.0.0.1, [::1] and localhost; use https"
    if scheme != "https":
        return None if "." in scheme or scheme in APP_SCHEMES else f"the scheme {scheme!r} is not one of an app"
    try:
        url = urlsplit(address)
        is_plain = bool(url.hostname) and "@" not in url.netloc and url.port != 0
    except ValueError:
        is_plain = False
    return None if is_plain else "must have a host, and no user"


def place_of(address: str) -> tuple[Literal["site", "computer", "app"], str]:
    """Return what a redirect address leads to, and its name: a host, or the scheme of an app."""
    scheme = address.partition(":")[0]
    if scheme == "https":
        return "site", urlsplit(address).netloc.lower()
    return ("computer", "localhost") if scheme == "http" else ("app", scheme)


def add_parameters(address: str, parameters: dict[str, str | None]) -> str:
    """Return a redirect address with parameters of the response behind its own; those that are None are left out."""
    sent = urlencode({name: value for name, value in parameters.items() if value is not None})
    return f"{address}{'&' if '?' in address else '?'}{sent}"


def clean_client_name(name: str | None) -> str | None:
    """Return a name as it may be shown on one line, None for a blank one."""
    shown = visible_line(name).strip() if name is not None and not is_blank(name) else ""
    return shown[:MAX_CLIENT_NAME_CHARS].strip() or None


async def register_client(db: Database, name: str | None, redirect_uris: Sequence[str]) -> str:
    """Store a client and return its id. Raises MaasError: `busy`."""
    client_id = CLIENT_PREFIX + secrets.token_urlsafe(CLIENT_BYTES)
    if not await db.value(queries.register_client, client_id, name, list(redirect_uris), MAX_UNUSED_CLIENTS):
        raise MaasError("busy", "too many clients register at the moment; try again later", {"retry_after": 600})
    return client_id


async def find_client(db: Database, client_id: str) -> AppClient | None:
    """Return a client that has registered."""
    row = await db.row(queries.find_client, client_id)
    return None if row is None else AppClient(client_id, row["name"], tuple(row["redirect_uris"]))


async def connect_app(
    db: Database, client: AppClient, redirect: str, scopes: Sequence[str], resource: str, challenge: str, user_id: UUID
) -> str:
    """Connect an app that the user has said yes to, and return its code. Raises MaasError('forbidden')."""
    code = CODE_PREFIX + secrets.token_urlsafe(TOKEN_BYTES)
    name = client.name or place_of(redirect)[1][:MAX_CLIENT_NAME_CHARS]
    app_id = await db.value(
        queries.connect_app,
        user_id,
        client.id,
        name,
        redirect,
        list(scopes),
        resource,
        hash_token(code),
        challenge,
        CODE_LIFETIME_S,
        f"user:{user_id}",
    )
    if app_id is None:
        raise MaasError("forbidden", "only a person with an account can connect an app")
    return code


async def exchange_code(
    db: Database,
    settings: AccessSettings,
    client_id: str,
    code: str,
    redirect: str | None,
    challenge: str,
    resource: str | None,
) -> AppTokens:
    """Return the first tokens of an app. Raises MaasError: `invalid_grant`, `invalid_target`."""
    access, refresh = _new_tokens()
    row = await db.row(
        queries.exchange_code,
        hash_token(code),
        client_id,
        redirect,
        challenge,
        resource,
        hash_token(access),
        hash_token(refresh),
        settings.access_lifetime,
        settings.refresh_days,
    )
    assert row is not None
    return _tokens(row["verdict"], access, refresh, settings, row["scopes"])


async def renew_app(
    db: Database, settings: AccessSettings, client_id: str, refresh_token: str, resource: str | None
) -> AppTokens:
    """Replace a refresh token, which is valid once. Raises MaasError: `invalid_grant`, `invalid_target`."""
    access, refresh = _new_tokens()
    row = await db.row(
        queries.renew_app,
        hash_token(refresh_token),
        client_id,
        resource,
        hash_token(access),
        hash_token(refresh),
        settings.access_lifetime,
        settings.refresh_days,
    )
    assert row is not None
    return _tokens(row["verdict"], access, refresh, settings, row["scopes"])


def _new_tokens() -> tuple[str, str]:
    return ACCESS_PREFIX + secrets.token_urlsafe(TOKEN_BYTES), REFRESH_PREFIX + secrets.token_urlsafe(TOKEN_BYTES)


def _tokens(
    verdict: str, access: str, refresh: str, settings: AccessSettings, scopes: Sequence[str] | None
) -> AppTokens:
    if verdict != "given":
        raise MaasError(*_REFUSALS[verdict])
    return AppTokens(access, refresh, int(settings.access_lifetime), tuple(scopes or ()))


def _without_port(address: str) -> str:
    match = _LOOPBACK.match(address)
    return address if match is None or match[1] is None else address[: match.start(1)] + address[match.end(1) :]
