"""Where clients of /mcp get tokens: the metadata of RFC 9728, of servers whose tokens somebody else issues."""

from __future__ import annotations

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from maas.http.schemas import Schema, json_response
from maas.http.state import app_state
from maas.settings import Settings
from shared.errors import MaasError

PATH = "/.well-known/oauth-protected-resource/mcp"


class ProtectedResource(Schema):
    resource: str = Field(description="The address that tokens are for.")
    authorization_servers: list[str] = Field(description="Who issues them: MAAS_JWT_ISSUER.")
    bearer_methods_supported: list[str] = Field(default=["header"], description="How a token is sent.")
    resource_name: str = "MaaS"


async def get_protected_resource(request: Request) -> Response:
    """Return who issues tokens for /mcp. 404 where nobody but this server does."""
    issuer = issuer_of(app_state(request).settings)
    if issuer is None:
        raise MaasError("not_found", "no authorization server is configured: set MAAS_AUTH=jwt and MAAS_JWT_ISSUER")
    return json_response(ProtectedResource(resource=f"{request.base_url}mcp", authorization_servers=[issuer]))


def issuer_of(settings: Settings) -> str | None:
    """The issuer of tokens, if it is one that clients can find: MAAS_JWT_ISSUER as an address."""
    issuer = settings.access.jwt_issuer if settings.access.auth == "jwt" else None
    return issuer if issuer and issuer.startswith(("https://", "http://")) else None


def challenge(request: Request) -> str | None:
    """What a 401 of /mcp says beside its scheme; None where there is no metadata."""
    if issuer_of(app_state(request).settings) is None:
        return None
    return f'Bearer realm="maas", resource_metadata="{str(request.base_url).rstrip("/")}{PATH}"'
