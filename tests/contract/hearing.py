"""Listening to a stream: what is said, what was said before it broke, and the whole."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Response

from shared.models import ALIVE, Model, ModelError, Piece, Reply, Request
from tests.contract.dialects import (
    Dialect,
    ask,
)


def events(*texts: str) -> Response:
    return Response("".join(texts), content_type="text/event-stream")


def serve(httpserver: HTTPServer, dialect: Dialect, answer: Response) -> None:
    httpserver.expect_request(dialect.stream_path).respond_with_response(answer)


async def hear(model: Model, request: Request, timeout: float = 10) -> list[Piece]:
    async with aclosing(model.stream(request, timeout)) as pieces:
        return [piece async for piece in pieces if piece != ALIVE]


async def broken(model: Model, timeout: float = 10) -> tuple[list[Piece], ModelError]:
    """What came before the failure, and the failure."""
    received: list[Piece] = []
    with pytest.raises(ModelError) as caught:
        async with aclosing(model.stream(ask(), timeout)) as pieces:
            async for piece in pieces:
                received += [] if piece == ALIVE else [piece]
    return received, caught.value


def whole(pieces: Sequence[Piece]) -> Reply:
    assert [type(piece) for piece in pieces].count(Reply) == 1
    assert isinstance(pieces[-1], Reply)
    return pieces[-1]


@asynccontextmanager
async def opened(dialect: Dialect, url: str) -> AsyncIterator[Model]:
    model = dialect.open(url)
    try:
        yield model
    finally:
        await model.close()


def until(said: Sequence[str], word: str) -> tuple[str, str]:
    """The events up to the one with `word`, and the others."""
    place = next(place for place, event in enumerate(said) if word in event) + 1
    return "".join(said[:place]), "".join(said[place:])
