"""Health, readiness, who calls, and the description of all this."""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from uuid import UUID

from pydantic import Field
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from maas.http.access import caller
from maas.http.bodies import Health, Readiness
from maas.http.rooms import rooms
from maas.http.sending import send
from maas.http.shapes import Shape
from shared.errors import MaasError

START = 'SwaggerUIBundle({url: "/openapi.json", dom_id: "#ui", deepLinking: true, validatorUrl: null})'
DOCS = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>MaaS</title>
<link rel="stylesheet" href="/docs/static/swagger-ui.css"></head>
<body><div id="ui"></div><script src="/docs/static/swagger-ui-bundle.js"></script>
<script>{START}</script></body></html>
"""
_HASH = b64encode(sha256(START.encode()).digest()).decode()
DOCS_POLICY = (
    f"default-src 'none'; script-src 'self' 'sha256-{_HASH}'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class CallerState(Shape):
    name: str
    scopes: list[str]
    user_id: UUID | None = Field(description="the one user whose memory the key is for; null: it is not for one")
    prefix: str | None = Field(description="the key is for users with a name that begins so")


async def healthz(_: Request) -> Response:
    """The process is alive."""
    return send(Health())


async def readyz(request: Request) -> Response:
    """The database answers and holds the schema."""
    db = rooms(request).db
    if not await db.value("schema_is_there"):
        raise MaasError("no_schema", "the database holds no MaaS schema; run `maas migrate`")
    return send(Readiness(orchestrators=len(await db.rows("living_engines"))))


async def get_caller(request: Request) -> Response:
    """What the key of this request may do, and for whom."""
    found = caller(request)
    return send(
        CallerState(name=found.name, scopes=sorted(found.scopes), user_id=found.user_id, prefix=found.prefix)
    )  # fmt: skip


async def openapi(request: Request) -> Response:
    """This interface as OpenAPI 3.1."""
    return JSONResponse(request.app.state.describe())


async def docs(_: Request) -> Response:
    """This interface to read and to try."""
    return HTMLResponse(DOCS, headers={"content-security-policy": DOCS_POLICY})


async def home(_: Request) -> Response:
    return RedirectResponse("/docs")


@cache
def docs_files() -> Path:
    """The folder of Swagger UI's own files; nothing is fetched from elsewhere."""
    spec = find_spec("swagger_ui")
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).parent / "static"
