"""Replies of providers that have no end: they are read to a limit, and the request is not repeated."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

import pytest
from werkzeug import Request as HttpRequest
from werkzeug import Response

from maas.model_registry import open_images
from maas.settings import load_settings
from shared.bounded_http import MAX_IMAGE_REPLY_BYTES, MAX_STREAM_BYTES, MAX_TEXT_REPLY_BYTES, MAX_VECTORS_BYTES, MIB
from shared.models import Model, ModelError
from shared.models.calls import complete
from tests.contract import test_embeddings, test_images
from tests.contract.dialects import Dialect, ask, sse
from tests.contract.hearing import broken
from tests.contract.test_mcp_limits import peak_mib
from tests.http_server import HTTPServer

SIZE = 1024 * MIB
PIECE = b"x" * 65_536
IN_BUFFERS_BYTES = 16 * MIB  # of sockets: sent, and never read
MAX_GROWTH_MIB = 200  # two to four times the largest limit; a GiB would be 1,024 and more


class Endless:
    """A body of a GiB that is made while it is read; `sent` counts it."""

    def __init__(self, piece: bytes = PIECE, head: bytes = b"") -> None:
        self.sent = 0
        self._piece, self._head = piece, head

    def __iter__(self) -> Iterator[bytes]:
        yield self._head
        for _ in range(SIZE // len(self._piece)):
            self.sent += len(self._piece)
            yield self._piece

    def serve(self, server: HTTPServer, path: str, media_type: str, encoding: str | None = None) -> None:
        def answer(_: HttpRequest) -> Response:
            headers = {"content-encoding": encoding} if encoding else {}
            return Response(iter(self), content_type=media_type, headers=headers, direct_passthrough=True)

        server.expect_request(path).respond_with_handler(answer)


def bomb(size: int) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return b"".join([*(packer.compress(b" " * MIB) for _ in range(size // MIB)), packer.flush()])


async def test_a_whole_reply(wired: Model, dialect: Dialect, httpserver: HTTPServer) -> None:
    body, before = Endless(head=b'{"id": "'), peak_mib()
    body.serve(httpserver, dialect.path, "application/json")
    with pytest.raises(ModelError) as caught:
        await complete(wired, ask(), budget=60, attempt_timeout=60)
    error = caught.value
    assert (error.code, error.retryable, error.attempts) == ("reply_too_large", False, 1)
    assert f"larger than {MAX_TEXT_REPLY_BYTES:,} bytes" in error.message
    assert body.sent < MAX_TEXT_REPLY_BYTES + IN_BUFFERS_BYTES
    assert peak_mib() < before + MAX_GROWTH_MIB


async def test_a_reply_that_unpacks_to_a_gigabyte(wired: Model, dialect: Dialect, httpserver: HTTPServer) -> None:
    before = peak_mib()
    Endless(head=bomb(SIZE)).serve(httpserver, dialect.path, "application/json", "gzip")
    with pytest.raises(ModelError) as caught:
        await wired.complete(ask(), 60)
    assert caught.value.code == "reply_too_large"
    assert httpserver.log[0][0].headers["accept-encoding"] == "identity"
    assert peak_mib() < before + MAX_GROWTH_MIB


async def test_a_line_of_a_stream(wired: Model, dialect: Dialect, httpserver: HTTPServer) -> None:
    body, before = Endless(head=b"data: "), peak_mib()
    body.serve(httpserver, dialect.stream_path, "text/event-stream")
    _, error = await broken(wired)
    assert (error.code, error.retryable) == ("reply_too_large", False)
    assert body.sent < MAX_TEXT_REPLY_BYTES + IN_BUFFERS_BYTES
    assert peak_mib() < before + MAX_GROWTH_MIB


async def test_a_stream_of_events(wired: Model, dialect: Dialect, httpserver: HTTPServer) -> None:
    """Thoughts without an end, as they are streamed."""
    said = "".join(dialect.streamed(("one ", "two "), ())[:2]).encode()
    body, before = Endless(sse({"x": "y" * 4000}).encode(), said), peak_mib()
    body.serve(httpserver, dialect.stream_path, "text/event-stream")
    _, error = await broken(wired)
    assert not error.retryable
    assert body.sent < MAX_STREAM_BYTES + IN_BUFFERS_BYTES
    assert peak_mib() < before + MAX_GROWTH_MIB


@pytest.mark.parametrize("tongue", [test_embeddings.OPENAI, test_embeddings.GEMINI], ids=lambda one: one.provider)
async def test_vectors(tongue: test_embeddings.Tongue, httpserver: HTTPServer) -> None:
    body = Endless(head=b'{"data": "')
    body.serve(httpserver, tongue.path, "application/json")
    embedder = tongue.open(httpserver.url_for("").rstrip("/"))
    with pytest.raises(ModelError) as caught:
        await embedder.embed(["a text"], "document", 60)
    await embedder.close()
    assert caught.value.code == "reply_too_large"
    assert body.sent < MAX_VECTORS_BYTES + IN_BUFFERS_BYTES


@pytest.mark.parametrize("brush", [test_images.OPENAI, test_images.GEMINI], ids=lambda one: one.provider)
async def test_pictures(brush: test_images.Brush, httpserver: HTTPServer) -> None:
    body, before = Endless(head=b'{"data": "'), peak_mib()
    body.serve(httpserver, brush.path, "application/json")
    settings = load_settings(**brush.settings(httpserver.url_for("").rstrip("/")))
    async with open_images(settings) as images:
        assert images is not None
        with pytest.raises(ModelError) as caught:
            await images.model.draw("a cat", None, 60)
    assert (caught.value.code, caught.value.retryable) == ("reply_too_large", False)
    assert body.sent < MAX_IMAGE_REPLY_BYTES + IN_BUFFERS_BYTES
    assert peak_mib() < before + MAX_GROWTH_MIB
