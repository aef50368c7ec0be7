"""An MCP server over HTTP that lies: its replies have no end, or unpack to much more than was sent, or drip.

`python -m tests.lying_mcp PORT` serves until it is ended.
"""

from __future__ import annotations

import json
import sys
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

REPLY_BYTES = 1_500_000_000
PIECE = b"x" * 65_536
DRIP_INTERVAL_S = 0.05
_HEAD = b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"'
_EVENTS, _JSON = "text/event-stream", "application/json"


def endless_json(call_id: int, over: threading.Event) -> Iterator[bytes]:
    """A reply of 1.5 GB."""
    yield _HEAD % call_id
    for _ in range(REPLY_BYTES // len(PIECE)):
        yield PIECE
    yield b'"}]}}'


def many_values(call_id: int, over: threading.Event) -> Iterator[bytes]:
    """A reply within the limit that becomes as many Python objects as its bytes can."""
    yield b'{"jsonrpc":"2.0","id":%d,"result":{"content":[],"structuredContent":{"a":[[]' % call_id
    yield b",[]" * 1_200_000
    yield b"]}}}"


def bomb(call_id: int, over: threading.Event) -> Iterator[bytes]:
    """1.5 MB that unpack to 1.5 GB, and more after its end."""
    yield _bomb()
    yield from iter(lambda: PIECE, b"")


def endless_line(call_id: int, over: threading.Event) -> Iterator[bytes]:
    """One event whose line does not end."""
    yield b"data: " + _HEAD % call_id
    yield from iter(lambda: PIECE, b"")


def endless_lines(call_id: int, over: threading.Event) -> Iterator[bytes]:
    """One event that has more and more lines."""
    yield from iter(lambda: b"data: x\n" * 8_000, b"")


def endless_events(call_id: int, over: threading.Event) -> Iterator[bytes]:
    """Small events, as fast as they are read."""
    event = b'data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}\n\n'
    yield from iter(lambda: event * 500, b"")


def dripping_events(call_id: int, over: threading.Event) -> Iterator[bytes]:
    """A comment now and then, with an id to resume at, for ever."""
    yield b"id: 1\ndata:\n\n"
    while not over.wait(DRIP_INTERVAL_S):
        yield b": still here\n\n"


def dripping_json(call_id: int, over: threading.Event) -> Iterator[bytes]:
    """A reply whose text comes a letter at a time, for ever."""
    yield _HEAD % call_id
    while not over.wait(DRIP_INTERVAL_S):
        yield b"x"


Reply = Callable[[int, threading.Event], Iterator[bytes]]
REPLIES: dict[str, tuple[str, Reply]] = {
    "endless_json": (_JSON, endless_json),
    "many_values": (_JSON, many_values),
    "bomb": (_JSON, bomb),
    "endless_line": (_EVENTS, endless_line),
    "endless_lines": (_EVENTS, endless_lines),
    "endless_events": (_EVENTS, endless_events),
    "dripping_events": (_EVENTS, dripping_events),
    "dripping_json": (_JSON, dripping_json),
}


class LyingServer(ThreadingHTTPServer):
    """`calls` are the tools that were called, `cut` those whose reply nobody reads any more; `sent` counts bytes."""

    daemon_threads = True

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}/mcp"
        self.calls: list[str] = []
        self.cut: list[str] = []
        self.sent = 0
        self.encodings: set[str] = set()
        self.over = threading.Event()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is what this server is for."""


class _Handler(BaseHTTPRequestHandler):
    server: LyingServer
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.encodings.add(self.headers.get("accept-encoding", ""))
        match message["method"], message.get("id"):
            case "initialize", call_id:
                info = {"name": "liar", "version": "1"}
                version = message["params"]["protocolVersion"]
                self._answer(call_id, {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info})
            case "tools/list", call_id:
                tools = [{"name": name, "inputSchema": {"type": "object"}} for name in [*REPLIES, "honest"]]
                self._answer(call_id, {"tools": tools})
            case "tools/call", call_id:
                self._lie(message["params"]["name"], call_id)
            case _, None:
                self._send(202, b"")
            case _, call_id:
                error = {"code": -32601, "message": "there is no such method"}
                self._send(200, json.dumps({"jsonrpc": "2.0", "id": call_id, "error": error}).encode())

    def do_GET(self) -> None:
        self._send(405, b"")

    do_DELETE = do_GET

    def _answer(self, call_id: int, result: dict[str, Any]) -> None:
        self._send(200, json.dumps({"jsonrpc": "2.0", "id": call_id, "result": result}).encode())

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", _JSON)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _lie(self, name: str, call_id: int) -> None:
        self.server.calls.append(name)
        if name == "honest":
            self._answer(call_id, {"content": [{"type": "text", "text": "the truth"}]})
            return
        media_type, reply = REPLIES[name]
        self.send_response(200)
        self.send_header("content-type", media_type)
        self.send_header("transfer-encoding", "chunked")
        if name == "bomb":
            self.send_header("content-encoding", "gzip")
        self.end_headers()
        try:
            for piece in reply(call_id, self.server.over):
                self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                self.server.sent += len(piece)
            self.wfile.write(b"0\r\n\r\n")
        except OSError:
            self.server.cut.append(name)
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """The tests say what happened."""


@cache
def _bomb() -> bytes:
    """1.5 GB of spaces in gzip; made in 5 s, a megabyte at a time."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    pieces = [packer.compress(b" " * 1_000_000) for _ in range(REPLY_BYTES // 1_000_000)]
    return b"".join([*pieces, packer.flush()])


@contextmanager
def lying_server() -> Iterator[LyingServer]:
    """A server in a thread of its own."""
    with LyingServer() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            server.over.set()
            server.shutdown()
            thread.join()


if __name__ == "__main__":
    LyingServer(int(sys.argv[1])).serve_forever()
