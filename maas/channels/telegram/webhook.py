"""The webhook: Telegram sends updates to a small HTTP server of this process, which a proxy with TLS makes public.

A request is known by a secret that is made from the token. It is answered when its update is stored.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import uvicorn
from pydantic import TypeAdapter
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from maas.channels.telegram.client import NumberedUpdate
from maas.channels.telegram.settings import TelegramSettings
from maas.channels.telegram.update_handler import UpdateHandler
from shared.db import CONNECTION_LOST
from shared.errors import MaasError
from shared.json import parse_json

MAX_BODY_BYTES = 1024 * 1024
_NUMBERED = TypeAdapter(NumberedUpdate)
SECRET_HEADER = "x-telegram-bot-api-secret-token"


class Webhooks:
    """Receives the updates of all bots at /telegram/NUMBER, that of a bot; nothing without MAAS_TELEGRAM_WEBHOOK."""

    def __init__(self, settings: TelegramSettings) -> None:
        self._settings = settings
        self._open: dict[str, tuple[str, UpdateHandler]] = {}  # by the number of the bot: its secret

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Listen while the context is open."""
        if self._settings.telegram_webhook is None:
            yield
            return
        app = Starlette(routes=[Route("/telegram/{bot}", self._receive, methods=["POST"])])
        config = uvicorn.Config(
            app,
            host=self._settings.telegram_host,
            port=self._settings.telegram_port,
            log_config=None,
            access_log=False,
            server_header=False,
            ws="none",
            lifespan="off",
        )
        server = uvicorn.Server(config)
        task = asyncio.create_task(server._serve())  # not `serve`, which takes over the signals of the process
        try:
            yield
        finally:
            server.should_exit = True
            with suppress(asyncio.CancelledError):
                await task

    def open(self, token: str, updates: UpdateHandler) -> tuple[str, str]:
        """Accept updates of a bot; the URL and the secret for Telegram."""
        number, secret = token.partition(":")[0], hashlib.sha256(f"webhook {token}".encode()).hexdigest()
        self._open[number] = (secret, updates)
        return f"{(self._settings.telegram_webhook or '').rstrip('/')}/telegram/{number}", secret

    def close(self, token: str) -> None:
        """Accept no more updates of a bot."""
        self._open.pop(token.partition(":")[0], None)

    async def _receive(self, request: Request) -> Response:
        known = self._open.get(request.path_params["bot"])
        given = request.headers.get(SECRET_HEADER, "")
        if known is None or not hmac.compare_digest(known[0].encode(), given.encode()):
            return Response(status_code=404)
        _, updates = known
        content = bytearray()
        async for piece in request.stream():
            content += piece
            if len(content) > MAX_BODY_BYTES:
                return Response(status_code=413)
        try:
            update = parse_json(bytes(content))
            _NUMBERED.validate_python(update)
        except ValueError:  # also of pydantic
            return Response(status_code=400)
        try:
            await updates.store([update])
        except (MaasError, *CONNECTION_LOST):
            return Response(status_code=503)  # Telegram sends it again
        return Response(status_code=200)
