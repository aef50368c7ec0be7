"""The web interface: the files that `ui/` was built to, as an ASGI application below /ui.

Names of files have a hash of their content, so browsers keep them for good; only the page itself is asked for again. A
path that names no file is a place within the page, which the page itself shows.
"""

from __future__ import annotations

import asyncio
import gzip
import mimetypes
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from maas.settings import Settings
from maas.users import LOCAL_USER

FOLDER = Path(__file__).parent / "ui"
PAGE = "index.html"
FOREVER = "public, max-age=31536000, immutable"
MIN_COMPRESSED_BYTES = 1024


@dataclass(frozen=True, slots=True)
class File:
    """A file as it is sent; `compressed` is None where that saves nothing."""

    content: bytes
    compressed: bytes | None
    media_type: str
    etag: str


class WebInterface:
    """Serves the files below /ui, and what the page must know of this server as /ui/config.json."""

    def __init__(self, settings: Settings) -> None:
        self._config = page_config(settings)
        self._policy = content_policy(settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        if request.method not in ("GET", "HEAD"):
            raise HTTPException(405, headers={"Allow": "GET, HEAD"})
        path = request.path_params["path"]
        if path == "config.json":
            response: Response = JSONResponse(self._config, headers={"cache-control": "no-store"})
        else:
            files = await asyncio.to_thread(read_files)
            response = self._respond(request, files, path)
        await response(scope, receive, send)

    def _respond(self, request: Request, files: dict[str, File], path: str) -> Response:
        is_hashed = path.startswith("assets/")
        file = files.get(path)
        if file is None and not is_hashed and "." not in path.rpartition("/")[2]:
            file = files.get(PAGE)
        if file is None:
            raise HTTPException(404)
        headers = {"etag": file.etag, "cache-control": FOREVER if is_hashed else "no-cache", "vary": "Accept-Encoding"}
        if file.media_type.startswith("text/html"):
            headers |= {"content-security-policy": self._policy, "x-robots-tag": "noindex"}
        if file.etag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        content = file.content
        if file.compressed is not None and "gzip" in request.headers.get("accept-encoding", ""):
            content = file.compressed
            headers["content-encoding"] = "gzip"
        return Response(content, media_type=file.media_type, headers=headers)


def page_config(settings: Settings) -> dict[str, object]:
    """What the page must know before anybody has signed in."""
    is_foreign = settings.access.auth == "jwt" and settings.page.supabase_url is not None
    return {
        "auth": settings.access.auth,
        "local_user_id": str(LOCAL_USER) if settings.access.auth == "none" else None,
        "is_signup_open": is_foreign or (settings.access.auth == "local" and settings.access.signup == "open"),
        "auth_url": f"{settings.page.supabase_url}/auth/v1" if is_foreign else None,
        "anon_key": settings.page.supabase_anon_key if is_foreign else None,
        "attachment_bytes": settings.uploads.attachment_bytes,
        "knowledge_bytes": settings.uploads.knowledge_bytes,
        "link_days": settings.access.link_days,
        "trace_url": settings.diagnostics.trace_url,
        "version": version("maas"),
    }


def content_policy(settings: Settings) -> str:
    """The page runs its own scripts only, and asks only this server, or the one that signs people in."""
    servers = " ".join(filter(None, ("'self'", settings.page.supabase_url)))
    return (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
        f"img-src 'self' data: blob:; connect-src {servers}; manifest-src 'self'; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )


@cache
def read_files() -> dict[str, File]:
    """The files of FOLDER by their paths within it, compressed once."""
    return {path.relative_to(FOLDER).as_posix(): _read(path) for path in sorted(FOLDER.rglob("*")) if path.is_file()}


def _read(path: Path) -> File:
    content = path.read_bytes()
    compressed = gzip.compress(content, mtime=0) if len(content) >= MIN_COMPRESSED_BYTES else None
    if compressed is not None and len(compressed) >= len(content):
        compressed = None
    media_type = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    if media_type.startswith("text/") or media_type.endswith(("javascript", "svg+xml")):
        media_type += "; charset=utf-8"
    return File(content, compressed, media_type, f'"{sha256(content).hexdigest()[:32]}"')
