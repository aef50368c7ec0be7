"""The providers of the SDK that obtain tokens for MCP servers: for a program of its own, and for a person."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from uuid import UUID

import asyncpg
import httpx2
import structlog
from jwt import PyJWTError
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.extensions.client_credentials import (
    ClientCredentialsOAuthProvider,
    PrivateKeyJWTOAuthProvider,
    SignedJWTParameters,
)
from mcp.client.auth.utils import issuers_match
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import AnyUrl, BaseModel, ValidationError

from maas.tools.mcp_client.servers import McpServer, OAuth
from maas.tools.mcp_client.sign_in import SignInFailed, TokenMemory, TokensReplaced
from maas.user_secrets import UserSecrets
from shared.db import UNAVAILABLE
from shared.errors import MaasError

CLIENT_NAME = "MaaS"
RELOAD_DELAY_S = 1.0
UNUSED_REDIRECT_URI = "http://127.0.0.1/callback"  # where nobody is asked
log = structlog.get_logger()


def for_program(server: McpServer) -> OAuthClientProvider:
    """A provider of the grant `client_credentials`, with a secret or a signed assertion."""
    url, oauth = server.url, server.oauth
    assert url is not None and oauth is not None and oauth.client_id is not None
    if oauth.private_key is None:
        assert oauth.client_secret is not None
        return ClientCredentialsOAuthProvider(
            url, TokenMemory(), oauth.client_id, oauth.client_secret, oauth.auth_method, oauth.scope, oauth.issuer
        )
    signed = SignedJWTParameters(
        issuer=oauth.client_id,
        subject=oauth.client_id,
        signing_key=oauth.private_key,
        signing_algorithm=oauth.algorithm,
    )
    sign = signed.create_assertion_provider()

    async def assertion(audience: str) -> str:
        try:
            return await sign(audience)
        except (PyJWTError, ValueError, TypeError):  # the message of some quotes the key
            raise SignInFailed(f"private_key is not a PEM for {oauth.algorithm}") from None

    return PrivateKeyJWTOAuthProvider(url, TokenMemory(), oauth.client_id, assertion, oauth.scope, oauth.issuer)


class Grant(BaseModel):
    """What a person has agreed to, and what renewing it needs; the value of a secret of that user."""

    tokens: OAuthToken
    expires_at: float | None
    client: OAuthClientInformationFull
    metadata: OAuthMetadata
    resource: ProtectedResourceMetadata | None

    def to_secret(self) -> str:
        """JSON in ASCII, without what is not set."""
        return json.dumps(self.model_dump(mode="json", exclude_none=True), separators=(",", ":"))


class PersonProvider(OAuthClientProvider):
    """A provider of the grant `authorization_code` with PKCE.

    `show` gets the address that the person opens; `wait` returns what the browser brings back. A client that is
    registered nowhere registers itself, or is named by `client_metadata_url`. `load` returns the grant that is stored,
    `save` replaces it.
    """

    def __init__(
        self,
        url: str,
        oauth: OAuth,
        redirect_uri: str,
        show: Callable[[str], Awaitable[None]],
        wait: Callable[[], Awaitable[AuthorizationCodeResult]],
        load: Callable[[], Awaitable[Grant]] | None = None,
        save: Callable[[Grant], Awaitable[None]] | None = None,
    ) -> None:
        metadata = OAuthClientMetadata(
            redirect_uris=[AnyUrl(redirect_uri)],
            client_name=CLIENT_NAME,
            scope=oauth.scope,
            token_endpoint_auth_method=None if oauth.client_secret is None else oauth.auth_method,
        )
        storage = TokenMemory(_registered_client(oauth, redirect_uri))
        super().__init__(url, metadata, storage, show, wait, oauth.client_metadata_url)
        self._issuer = oauth.issuer
        self._load = load
        self._save = save

    def grant(self) -> Grant | None:
        """What there is now; None if the person has not agreed."""
        context = self.context
        if context.current_tokens is None or context.client_info is None or context.oauth_metadata is None:
            return None
        known, resource = context.oauth_metadata, context.protected_resource_metadata
        return Grant(
            tokens=context.current_tokens,
            expires_at=context.token_expiry_time,
            client=context.client_info,
            metadata=OAuthMetadata(
                issuer=known.issuer,
                authorization_endpoint=known.authorization_endpoint,
                token_endpoint=known.token_endpoint,
            ),
            resource=resource
            and ProtectedResourceMetadata(
                resource=resource.resource, authorization_servers=resource.authorization_servers
            ),
        )

    async def _initialize(self) -> None:
        grant = None if self._load is None else await self._load()
        await super()._initialize()
        if grant is not None:
            self._take(grant)

    def _take(self, grant: Grant) -> None:
        self.context.current_tokens, self.context.token_expiry_time = grant.tokens, grant.expires_at
        self.context.client_info, self.context.oauth_metadata = grant.client, grant.metadata
        self.context.protected_resource_metadata = grant.resource
        self._issuer = str(grant.metadata.issuer)
        if grant.resource is not None:
            self.context.auth_server_url = self._issuer

    async def _refresh_token(self) -> httpx2.Request:
        await self._take_newer(self.context.current_tokens)
        return await super()._refresh_token()

    async def _handle_refresh_response(self, response: httpx2.Response) -> bool:
        used = self.context.current_tokens
        if await super()._handle_refresh_response(response):
            if self._save is not None and (grant := self.grant()) is not None:
                await self._save(grant)
            return True
        if self._load is not None:  # another process may have been first, and has not stored its tokens yet
            await asyncio.sleep(RELOAD_DELAY_S)
            await self._take_newer(used)
        return False

    async def _take_newer(self, known: OAuthToken | None) -> None:
        """Raises TokensReplaced if other tokens are stored than the known ones."""
        if self._load is None:
            return
        grant = await self._load()
        if known is None or grant.tokens.access_token != known.access_token:
            self._take(grant)
            raise TokensReplaced

    def _select_authorization_server(self, advertised: list[str]) -> str:
        if self._issuer is None:
            return advertised[0]
        for server in advertised:
            if issuers_match(server, self._issuer):
                return server
        raise SignInFailed(f"it names other authorization servers than {self._issuer}")


def for_user(server: McpServer, secrets: UserSecrets, user_id: UUID) -> PersonProvider:
    """A provider with what the user has agreed to before; it asks nobody. A renewed token is stored at once."""
    name, oauth, url = server.grant_secret, server.oauth, server.url
    assert name is not None and oauth is not None and url is not None
    stored = ""

    async def load() -> Grant:
        nonlocal stored
        if (secret := (await secrets.read(user_id, [name])).get(name)) is None:
            raise SignInFailed("the user has not signed in")
        stored = secret.value
        try:
            return Grant.model_validate_json(stored)
        except ValidationError:  # its message would quote the value
            raise SignInFailed(f"the secret {name} of the user is not of `maas secrets sign-in`") from None

    async def save(grant: Grant) -> None:
        nonlocal stored
        value = grant.to_secret()
        try:
            if await secrets.renew(user_id, name, stored, value):
                stored = value
        except (asyncpg.PostgresError, MaasError, *UNAVAILABLE) as error:  # the tokens hold, until this process ends
            log.warning("mcp_grant_not_stored", server=server.name, cause=type(error).__name__)

    async def show(_: str) -> None:
        raise SignInFailed("the user must sign in again")

    async def wait() -> AuthorizationCodeResult:
        raise SignInFailed("the user must sign in again")

    return PersonProvider(url, oauth, UNUSED_REDIRECT_URI, show, wait, load, save)


def _registered_client(oauth: OAuth, redirect_uri: str) -> OAuthClientInformationFull | None:
    """The client that an operator has registered, bound to its issuer; None if the client registers itself."""
    if oauth.client_id is None:
        return None
    return OAuthClientInformationFull(
        redirect_uris=[AnyUrl(redirect_uri)],
        client_id=oauth.client_id,
        client_secret=oauth.client_secret,
        token_endpoint_auth_method="none" if oauth.client_secret is None else oauth.auth_method,
        issuer=oauth.issuer,
    )
