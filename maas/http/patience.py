"""Patience with bodies: how long one may take, and how long nothing of it may come."""

from __future__ import annotations

import asyncio
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shared.errors import MaasError


class Patience:
    """ASGI middleware: reading a body raises MaasError('timeout') after `whole` seconds, or `pause` without a byte."""

    def __init__(self, app: ASGIApp, whole: float, pause: float) -> None:
        self._app = app
        self._whole = whole
        self._pause = pause

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        deadline = time.monotonic() + self._whole
        is_over = False

        async def receive_soon() -> Message:
            nonlocal is_over
            if is_over:
                return await receive()
            try:
                async with asyncio.timeout(min(self._pause, deadline - time.monotonic())):
                    message = await receive()
            except TimeoutError as error:
                raise MaasError("timeout", "the body came too slowly; send it again") from error
            is_over = not message.get("more_body", False)
            return message

        await self._app(scope, receive_soon, send)
