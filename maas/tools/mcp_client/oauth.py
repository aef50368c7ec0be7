"""The providers of the SDK that obtain tokens for MCP servers: for a program of its own, and for a person."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from jwt import PyJWTError
from mcp.client.auth import OAuthClientProvider, TokenStorage
from mcp.client.auth.extensions.client_credentials import (
    ClientCredentialsOAuthProvider,
    PrivateKeyJWTOAuthProvider,
    SignedJWTParameters,
)
from mcp.client.auth.utils import issuers_match
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata
from pydantic import AnyUrl

from maas.tools.mcp_client.servers import OAuth
from maas.tools.mcp_client.sign_in import SignInFailed, TokenMemory

CLIENT_NAME = "MaaS"


def for_program(url: str, oauth: OAuth) -> OAuthClientProvider:
    """A provider of the grant `client_credentials`, with a secret or a signed assertion."""
    assert oauth.client_id is not None
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


class PersonProvider(OAuthClientProvider):
    """A provider of the grant `authorization_code` with PKCE.

    `show` gets the address that the person opens; `wait` returns what the browser brings back. A client that is
    registered nowhere registers itself, or is named by `client_metadata_url`.
    """

    def __init__(
        self,
        url: str,
        oauth: OAuth,
        redirect_uri: str,
        storage: TokenStorage,
        show: Callable[[str], Awaitable[None]],
        wait: Callable[[], Awaitable[AuthorizationCodeResult]],
    ) -> None:
        metadata = OAuthClientMetadata(
            redirect_uris=[AnyUrl(redirect_uri)],
            client_name=CLIENT_NAME,
            scope=oauth.scope,
            token_endpoint_auth_method=None if oauth.client_secret is None else oauth.auth_method,
        )
        super().__init__(url, metadata, storage, show, wait, oauth.client_metadata_url)
        self._issuer = oauth.issuer

    def _select_authorization_server(self, advertised: list[str]) -> str:
        if self._issuer is None:
            return advertised[0]
        for server in advertised:
            if issuers_match(server, self._issuer):
                return server
        raise SignInFailed(f"it names other authorization servers than {self._issuer}")


def registered_client(oauth: OAuth, redirect_uri: str) -> OAuthClientInformationFull | None:
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
