"""Where clients of /mcp get tokens: the metadata of RFC 9728, and of RFC 8414 where our own sign-in issues them."""

from __future__ import annotations

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from maas.accounts.apps import APP_SCOPES
from maas.http.auth.apps import mcp_address, origin_of
from maas.http.schemas import Schema, json_response
from maas.http.state import app_state
from maas.settings import Settings
from shared.errors import MaasError

ROOT_PATH = "/.well-known/oauth-protected-resource"
PATH = f"{ROOT_PATH}/mcp"
SERVER_PATH = "/.well-known/oauth-authorization-server"
CONSENT_PAGE = "/ui/connect"
FORM = "application/x-www-form-urlencoded"


class ProtectedResource(Schema):
    resource: str = Field(description="The address that tokens are for.")
    authorization_servers: list[str] = Field(description="Who issues them: MAAS_JWT_ISSUER, or this server.")
    scopes_supported: tuple[str, ...] | None = Field(
        default=None, description="What an app may be allowed, where this server issues its tokens."
    )
    bearer_methods_supported: list[str] = Field(default=["header"], description="How a token is sent.")
    resource_name: str = "MaaS"


class AuthorizationServer(Schema):
    issuer: str
    authorization_endpoint: str = Field(description="The page on which a person says yes to an app.")
    token_endpoint: str
    registration_endpoint: str
    revocation_endpoint: str
    scopes_supported: tuple[str, ...] = APP_SCOPES
    response_types_supported: tuple[str, ...] = ("code",)
    response_modes_supported: tuple[str, ...] = ("query",)
    grant_types_supported: tuple[str, ...] = ("authorization_code", "refresh_token")
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("none",)
    revocation_endpoint_auth_methods_supported: tuple[str, ...] = ("none",)
    code_challenge_methods_supported: tuple[str, ...] = ("S256",)
    authorization_response_iss_parameter_supported: bool = True
    client_id_metadata_document_supported: bool = True


async def get_protected_resource(request: Request) -> Response:
    """Return who issues tokens for /mcp. 404 where nobody does."""
    settings = app_state(request).settings
    if issues_tokens(settings):
        found = ProtectedResource(
            resource=mcp_address(request), authorization_servers=[origin_of(request)], scopes_supported=APP_SCOPES
        )
    elif (issuer := issuer_of(settings)) is not None:
        found = ProtectedResource(resource=mcp_address(request), authorization_servers=[issuer])
    else:
        raise MaasError(
            "not_found", "no authorization server is configured: set MAAS_AUTH=local, or MAAS_AUTH=jwt, MAAS_JWT_ISSUER"
        )
    return Response(found.model_dump_json(exclude_none=True), media_type="application/json")


async def get_root_resource(request: Request) -> Response:
    """Return the same for clients that look for it at the root."""
    return await get_protected_resource(request)


async def get_authorization_server(request: Request) -> Response:
    """Return how apps sign in at this server. 404 where it signs nobody in."""
    check_issues_tokens(app_state(request).settings)
    origin = origin_of(request)
    return json_response(
        AuthorizationServer(
            issuer=origin,
            authorization_endpoint=origin + CONSENT_PAGE,
            token_endpoint=f"{origin}/oauth/token",
            registration_endpoint=f"{origin}/oauth/register",
            revocation_endpoint=f"{origin}/oauth/revoke",
        )
    )


def issues_tokens(settings: Settings) -> bool:
    """Whether apps can sign in at this server: people do, and there is a page on which they say yes."""
    return settings.access.auth == "local" and settings.page.ui


def check_issues_tokens(settings: Settings) -> None:
    """Raise MaasError('not_found') where apps cannot sign in at this server."""
    if not issues_tokens(settings):
        raise MaasError("not_found", "apps cannot sign in here: set MAAS_AUTH=local, and leave MAAS_UI on")


def issuer_of(settings: Settings) -> str | None:
    """The issuer of tokens elsewhere, if it is one that clients can find: MAAS_JWT_ISSUER as an address."""
    issuer = settings.access.jwt_issuer if settings.access.auth == "jwt" else None
    return issuer if issuer and issuer.startswith(("https://", "http://")) else None


def challenge(request: Request) -> str | None:
    """What a 401 of /mcp says beside its scheme; None where there is no metadata."""
    settings = app_state(request).settings
    if not issues_tokens(settings) and issuer_of(settings) is None:
        return None
    return f'Bearer realm="maas", resource_metadata="{origin_of(request)}{PATH}"'
