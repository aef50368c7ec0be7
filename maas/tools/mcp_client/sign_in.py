"""Signing in at an MCP server by OAuth: the SDK knows the protocol, this file sends its requests.

Addresses that the server names are untrusted: those of other hosts than its own and the configured issuer's must be
public. Replies of authorization servers have a limit of bytes and of time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthFlowError
from mcp.client.auth.utils import extract_field_from_www_auth
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken

from shared.bounded_http import MIB, ReplyTooLarge, open_bounded
from shared.pinned_requests import AddressRefused, PinnedRequests

MAX_AUTHORIZATION_REPLY_BYTES = MIB
MAX_SIGN_INS = 3  # for one request: the server may refuse what it has just admitted
RENEWAL_MARGIN_S = 30.0
_EXPIRED = 1.0  # a moment long ago; the SDK takes 0 for "never"

Send = Callable[[httpx2.Request], Awaitable[httpx2.Response]]


class SignInFailed(Exception):
    """The client could not sign in; the message says why."""


class TokensReplaced(Exception):
    """Another process has renewed the tokens; the flow begins anew with those."""


class TokenMemory:
    """Tokens and registration of one connection, kept in memory."""

    def __init__(self, client: OAuthClientInformationFull | None = None) -> None:
        self._tokens: OAuthToken | None = None
        self._client = client

    async def get_tokens(self) -> OAuthToken | None:
        return self._tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self._tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self._client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self._client = client_info


class SignIn:
    """The access of one connection: it adds the token to requests, and obtains or renews it where need be.

    `trusted_urls` are addresses that an operator has configured: their hosts may be internal. `on_tokens` is
    called with the secrets of every new answer. No lock is held while a request with a token is under way.
    """

    def __init__(
        self,
        provider: OAuthClientProvider,
        trusted_urls: tuple[str, ...],
        timeout_s: float,
        on_tokens: Callable[..., object] = lambda *_: None,
    ) -> None:
        self._provider = provider
        self._trusted = {_origin(httpx2.URL(url)) for url in trusted_urls}
        self._timeout_s = timeout_s
        self._on_tokens = on_tokens
        self._known_token: str | None = None
        self._http: httpx2.AsyncClient | None = None
        self._pins: PinnedRequests | None = None

    @asynccontextmanager
    async def open(self, tls: Any) -> AsyncIterator[None]:
        """Open the client for authorization servers; tokens outlive it."""
        # A connection belongs to one host, whatever others have its address: none is kept.
        limits = httpx2.Limits(max_keepalive_connections=0)
        async with open_bounded(
            MAX_AUTHORIZATION_REPLY_BYTES, timeout=self._timeout_s, limits=limits, verify=tls
        ) as self._http:
            self._pins = PinnedRequests(())
            try:
                yield
            finally:
                self._pins.close()

    async def send(self, request: httpx2.Request, send: Send) -> httpx2.Response:
        """Send a request with a token; where the server wants another one, sign in and send it again.

        Raises SignInFailed, httpx2.TransportError. A server that goes on to refuse has its response returned.
        """
        refusal: httpx2.Response | None = None
        refused_token: str | None = None
        for attempt in range(MAX_SIGN_INS):
            if (token := self._valid_token()) is not None and token != refused_token:
                request.headers["Authorization"] = f"Bearer {token}"
                response = await send(request)
                if not self._asks_for_more(response):
                    return response
                await response.aclose()
                refusal, refused_token = response, token
                if attempt == 0 and response.status_code == 401 and self._provider.context.can_refresh_token():
                    self._expire(token)
            try:
                final = await self._sign_in(request, send, refusal, refused_token)
            except (
                OAuthFlowError,
                AddressRefused,
                ReplyTooLarge,
                httpx2.InvalidURL,
                ValueError,
                TimeoutError,
            ) as error:
                raise SignInFailed(_explain(error)) from error
            if final is not None:
                return final
        if refusal is None:
            raise SignInFailed("no token holds long enough to be used")
        return httpx2.Response(refusal.status_code, request=request)

    async def _sign_in(
        self, request: httpx2.Request, send: Send, refusal: httpx2.Response | None, refused_token: str | None
    ) -> httpx2.Response | None:
        """Run the flow of the SDK until there is a token that was not refused; return the response that ends it else.

        The flow holds a lock: whoever waits for it finds the token that another request has obtained.
        """
        flow = self._provider.async_auth_flow(request)
        try:
            outgoing = await anext(flow)
            while True:
                if outgoing is not request:
                    # A refresh token is valid once: what comes for it is stored, although the call may be over.
                    with anyio.CancelScope(shield=outgoing.method == "POST"):
                        response = await self._send_to_authorization_server(outgoing)
                        outgoing = await flow.asend(response)
                else:
                    token = self._valid_token()
                    if token is not None and token != refused_token:
                        return None
                    if refusal is None:
                        request.headers.pop("Authorization", None)
                        refusal = await send(request)
                        if not self._asks_for_more(refusal):
                            return refusal
                        await refusal.aclose()
                    outgoing = await flow.asend(refusal)
        except TokensReplaced:
            return None
        except StopAsyncIteration:
            assert refusal is not None
            return httpx2.Response(refusal.status_code, request=request)
        finally:
            await flow.aclose()

    async def _send_to_authorization_server(self, request: httpx2.Request) -> httpx2.Response:
        assert self._http is not None and self._pins is not None
        async with asyncio.timeout(self._timeout_s):
            if _origin(request.url) in self._trusted:
                return await self._http.send(request)
            response = await self._http.send(await self._pins.pin(request))
            response.next_request = None  # it would go to the address, without the name
            return response

    def _valid_token(self) -> str | None:
        """The token, if it holds for RENEWAL_MARGIN_S more, or for half of its time."""
        context = self._provider.context
        tokens = context.current_tokens
        if tokens is None or not context.is_token_valid():
            return None
        if context.token_expiry_time is not None and tokens.expires_in:
            margin_s = min(RENEWAL_MARGIN_S, tokens.expires_in / 2)
            if time.time() > context.token_expiry_time - margin_s:
                self._expire(tokens.access_token)
                return None
        if tokens.access_token != self._known_token:
            self._known_token = tokens.access_token
            self._on_tokens(*filter(None, (tokens.access_token, tokens.refresh_token)))
        return tokens.access_token

    def _expire(self, token: str) -> None:
        """Have the flow renew a token, unless another one has replaced it."""
        context = self._provider.context
        if context.current_tokens is not None and context.current_tokens.access_token == token:
            context.token_expiry_time = _EXPIRED

    def _asks_for_more(self, response: httpx2.Response) -> bool:
        """Whether signing in may help: 401, or 403 with scopes that were not asked for yet."""
        if response.status_code != 403 or extract_field_from_www_auth(response, "error") != "insufficient_scope":
            return response.status_code == 401
        wanted = (extract_field_from_www_auth(response, "scope") or "").split()
        return not set(wanted) <= set((self._provider.context.client_metadata.scope or "").split())


def _origin(url: httpx2.URL) -> tuple[str, str]:
    return url.scheme, url.host


def _explain(error: BaseException) -> str:
    if isinstance(error, AddressRefused):
        return f"an address of the authorization server is refused: {error.code}"
    if isinstance(error, TimeoutError):
        return "the authorization server does not answer"
    return f"{error}" or type(error).__name__
