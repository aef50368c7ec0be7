"""What a client may send, how slowly, and how many of them: by sockets that behave badly."""

from __future__ import annotations

import json
import select
import socket
from collections.abc import Iterator
from contextlib import closing, suppress
from uuid import uuid4

import pytest

from tests.polling import poll
from tests.stack import NOBODY, Stack

CONNECTIONS = 12
FOLLOWERS = 2
RUN = b"POST /v1/runs HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n"


@pytest.fixture(scope="module")
def stack(fresh_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    limits = {
        "MAAS_HEAD_TIMEOUT": "0.4",
        "MAAS_BODY_TIMEOUT": "1.0",
        "MAAS_BODY_PAUSE": "0.4",
        "MAAS_WRITE_TIMEOUT": "0.4",
        "MAAS_CONNECTIONS": str(CONNECTIONS),
        "MAAS_FOLLOWERS": str(FOLLOWERS),
    }
    with Stack(fresh_database, tmp_path_factory.mktemp("limits"), **limits) as running:
        running.start_server()
        yield running


def connect(stack: Stack, *, window: int | None = None) -> socket.socket:
    connection = socket.socket()
    if window is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window)
    connection.settimeout(10)
    connection.connect(("127.0.0.1", stack.port))
    return connection


def read_reply(connection: socket.socket) -> tuple[int, str]:
    """Status and code of a reply after which the server closes."""
    said = b""
    with suppress(ConnectionResetError):  # a server that closes before it has read all resets; the reply came first
        while piece := connection.recv(65536):
            said += piece
    head, _, body = said.partition(b"\r\n\r\n")
    assert b"x-request-id: " in head.lower()
    return int(head.split()[1]), json.loads(body)["error"]["code"]


def is_cut(connection: socket.socket, seconds: float) -> bool:
    """Whether the server cuts the connection while nothing is read from it."""
    watch = select.poll()
    watch.register(connection, 0)
    return any(what & (select.POLLERR | select.POLLHUP) for _, what in watch.poll(seconds * 1000))


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\nhost: localhost\r\n\r\n", (414, "uri_too_long")),
        (b"GET /healthz?" + b"a" * 20_000, (414, "uri_too_long")),
        (b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 101 + b"\r\n", (431, "headers_too_large")),
        (
            b"GET / HTTP/1.1\r\n" + b"".join(b"a%d: %s\r\n" % (n, b"b" * 9000) for n in range(8)) + b"\r\n",
            (431, "headers_too_large"),
        ),
        (b"GET / HTTP/1.1\r\na: " + b"b" * 70_000, (431, "headers_too_large")),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01", (400, "bad_request")),
    ],
    ids=["path", "query", "number", "size", "one without end", "no http"],
)
def test_a_head_is_limited(stack: Stack, said: bytes, expected: tuple[int, str]) -> None:
    with closing(connect(stack)) as connection:
        connection.sendall(said)
        assert read_reply(connection) == expected


def test_a_trailer_without_end_is_cut(stack: Stack) -> None:
    with closing(connect(stack)) as connection:
        head = RUN.replace(b"content-length: 1000", b"transfer-encoding: chunked")
        connection.sendall(head + b"1\r\n{\r\n0\r\na: ")
        with pytest.raises((ConnectionError, BrokenPipeError)):
            for _ in range(200):
                connection.sendall(b"b" * 65536)


def trickle(connection: socket.socket, piece: bytes, pause: float) -> None:
    """Send a piece, again and again, until there is a reply."""
    for _ in range(100):
        connection.sendall(piece)
        if select.select([connection], [], [], pause)[0]:
            return
    raise AssertionError("it is listened to for ever")


def test_headers_may_not_trickle(stack: Stack) -> None:
    with closing(connect(stack)) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\n")
        trickle(connection, b"a: b\r\n", 0.1)
        assert read_reply(connection) == (408, "timeout")


def test_headers_may_not_trickle_in_a_connection_that_is_used_again(stack: Stack) -> None:
    with closing(connect(stack)) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
        assert connection.recv(65536).startswith(b"HTTP/1.1 200")
        connection.sendall(b"GET /healthz HTTP/1.1\r\n")
        trickle(connection, b"a: b\r\n", 0.1)
        assert read_reply(connection) == (408, "timeout")


def test_who_connects_and_says_nothing_is_let_go(stack: Stack) -> None:
    with closing(connect(stack)) as connection:
        assert connection.recv(1) == b""


def test_silence_within_a_body_ends_it(stack: Stack) -> None:
    with closing(connect(stack)) as connection:
        connection.sendall(RUN + b"{")
        assert read_reply(connection) == (408, "timeout")


@pytest.mark.parametrize("path", ["/v1/runs", "/v1/chat/completions", "/v1/messages"])
def test_who_leaves_within_a_body_is_no_error_of_ours(stack: Stack, path: str) -> None:
    with closing(connect(stack)) as connection:
        connection.sendall(RUN.replace(b"/v1/runs", path.encode()) + b"{")
    poll(lambda: f'"path": "{path}", "status": 400' in stack.log(), what="it is logged")
    assert "request_crashed" not in stack.log()


def test_a_body_may_not_trickle(stack: Stack) -> None:
    with closing(connect(stack)) as connection:
        connection.sendall(RUN + b"{")
        trickle(connection, b" ", 0.1)
        assert read_reply(connection) == (408, "timeout")


def test_an_import_may_not_trickle(stack: Stack) -> None:
    with closing(connect(stack)) as connection:
        path = f"POST /v1/users/{uuid4()}/import HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-ndjson\r\n"
        connection.sendall(path.encode() + b"transfer-encoding: chunked\r\n\r\n")
        trickle(connection, b"1\r\n \r\n", 0.1)
        assert read_reply(connection) == (408, "timeout")


def test_who_does_not_read_a_reply_loses_it(stack: Stack) -> None:
    with closing(connect(stack, window=4096)) as connection:
        large = b"GET /docs/static/swagger-ui-bundle.js HTTP/1.1\r\nhost: localhost\r\n\r\n"
        connection.sendall(large * 8)  # more than the kernel takes off the server's hands
        assert is_cut(connection, 10)


def test_one_connection_too_many_must_retry_later(stack: Stack) -> None:
    waiting = [connect(stack) for _ in range(CONNECTIONS)]
    try:
        for connection in waiting:  # a wait keeps each of them
            connection.sendall(b"GET /v1/runs/%s/events HTTP/1.1\r\nhost: localhost\r\n" % str(NOBODY).encode())
        with closing(connect(stack)) as late:
            late.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
            said = late.recv(65536)
            assert said.startswith(b"HTTP/1.1 503") and b"retry-after: 1" in said
    finally:
        for connection in waiting:
            connection.close()
    poll(lambda: stack.client.get("/healthz").status_code == 200, what="a connection is free again")


def test_one_follower_too_many_must_retry_later(stack: Stack) -> None:
    run = stack.ask(uuid4(), "Who follows?")
    path = f"/v1/runs/{run}/events"
    with stack.client.stream("GET", path) as one, stack.client.stream("GET", path) as two:
        assert (one.status_code, two.status_code) == (200, 200)
        lines = [one.iter_lines(), two.iter_lines()]  # kept: a reader that is dropped hangs up
        assert [next(each)[:3] for each in lines] == ["id:", "id:"]
        refused = stack.client.get(path, timeout=5)
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "busy")
        assert refused.headers["retry-after"] == "1"
    poll(lambda: _can_follow(stack, path), what="a place is free again")


def _can_follow(stack: Stack, path: str) -> bool:
    with stack.client.stream("GET", path) as reply:
        return reply.status_code == 200
