"""The card of an agent of A2A: who it is, where it is called, and how a caller authenticates."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from importlib.metadata import version
from typing import Any

from pydantic import ConfigDict
from starlette.requests import Request
from starlette.responses import Response

from maas import queries
from maas.conversations.agent_tasks import SOURCE
from maas.http.schemas import Schema, json_response
from maas.http.state import app_state
from shared.errors import MaasError

PATH = "/.well-known/agent-card.json"
PROTOCOL_VERSION = "1.0"
MAX_AGE_S = 300
INPUT_TYPES = ["text/plain", "image/png", "image/jpeg", "image/webp"]
SECURITY_SCHEMES = {
    "bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer", "description": "A key of MaaS, or a token (JWT)."}},
    "key": {"apiKeySecurityScheme": {"location": "header", "name": "X-API-Key", "description": "A key of MaaS."}},
}


class AgentCard(Schema):
    """An agent card of A2A 1.0."""

    model_config = ConfigDict(extra="allow")

    name: str
    description: str
    version: str
    supportedInterfaces: list[dict[str, Any]]
    capabilities: dict[str, Any]
    defaultInputModes: list[str]
    defaultOutputModes: list[str]
    skills: list[dict[str, Any]]


async def get_agent_card(request: Request) -> Response:
    """Return the card of the first assistant of MAAS_A2A. 404 where it names none."""
    names = app_state(request).settings.assistants.a2a
    if not names:
        raise MaasError("not_found", "no assistant is served over A2A: set MAAS_A2A")
    return await _respond(request, names[0])


async def get_agent_card_of(request: Request) -> Response:
    """Return the card of an assistant that MAAS_A2A names."""
    return await _respond(request, request.path_params["model"])


async def find_agent(request: Request, name: str) -> queries.AssistantsToChooseRow:
    """Return an assistant that is an agent. Raises MaasError('not_found')."""
    state = app_state(request)
    rows = await state.reads.rows(queries.assistants_to_choose, SOURCE) if name in state.settings.assistants.a2a else []
    for row in rows:
        if row["name"] == name:
            return row
    raise MaasError("not_found", f"there is no A2A agent {name[:80]!r}")


async def _respond(request: Request, name: str) -> Response:
    agent = await find_agent(request, name)
    description = agent["description"] or f"{agent['title']}: an assistant with a memory of its user."
    skill = {"id": name, "name": agent["title"], "description": description, "tags": ["assistant", "memory"]}
    address = {
        "url": f"{request.base_url}v1/a2a/{name}",
        "protocolBinding": "JSONRPC",
        "protocolVersion": PROTOCOL_VERSION,
    }
    is_guarded = app_state(request).settings.access.auth != "none"
    card = AgentCard(
        name=agent["title"],
        description=description,
        version=_version(),
        supportedInterfaces=[address],
        capabilities={"streaming": True, "pushNotifications": True, "extendedAgentCard": False},
        defaultInputModes=INPUT_TYPES,
        defaultOutputModes=["text/plain"],
        skills=[skill],
        **({"securitySchemes": SECURITY_SCHEMES, "securityRequirements": _either()} if is_guarded else {}),
    )
    response = json_response(card)
    response.headers["cache-control"] = f"public, max-age={MAX_AGE_S}"
    response.headers["etag"] = f'"{sha256(bytes(response.body)).hexdigest()[:32]}"'
    return response


def _either() -> list[dict[str, Any]]:
    return [{"schemes": {name: {"list": []}}} for name in SECURITY_SCHEMES]


@cache
def _version() -> str:
    return version("maas")
