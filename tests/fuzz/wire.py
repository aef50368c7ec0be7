"""Requests that no HTTP library would send, byte by byte over a socket, and what comes back."""

from __future__ import annotations

import base64
import json
import random
import re
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from uuid import UUID

from maas.http.routes import all_routes
from tests.fuzz.residents import Resident
from tests.fuzz.runs import long_run

TIMEOUT_S = 20.0
MOST = 1 << 20  # read of one reply
STATUS = re.compile(rb"HTTP/1\.[01] (\d{3})")
HOST = b"Host: 127.0.0.1\r\n"
JSON = b"Content-Type: application/json\r\n"
NUMBERS = (b"1e999", b"-0", b"9" * 5_000, b"NaN", b"1" + b"0" * 400)
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "CONNECT", "QUERY", "get", "G\u00cbT")


@dataclass(frozen=True, slots=True)
class Attack:
    """What is sent, in pieces with pauses; one that is no whole request may get no reply."""

    name: str
    pieces: tuple[bytes, ...]
    is_whole: bool = True
    pause: float = 0.0
    most: int = MOST

    @property
    def command(self) -> str:
        """What repeats it in a shell."""
        return f"echo {base64.b64encode(b''.join(self.pieces)).decode()} | base64 -d | nc 127.0.0.1 $PORT"


@dataclass(frozen=True, slots=True)
class Response:
    """What came back; no status when nothing did, or no HTTP."""

    status: int | None
    reply: bytes
    seconds: float


Maker = Callable[[random.Random, Resident], Attack]


def send(port: int, attack: Attack) -> Response:
    """Send it and read until the end, the limit, or TIMEOUT_S seconds without a byte."""
    began, reply = time.monotonic(), bytearray()
    with socket.create_connection(("127.0.0.1", port), TIMEOUT_S) as connection:
        try:
            for number, piece in enumerate(attack.pieces):
                time.sleep(attack.pause if number else 0)
                connection.sendall(piece)
            if not attack.is_whole:
                connection.shutdown(socket.SHUT_WR)
            while len(reply) < attack.most and (chunk := connection.recv(65536)):
                reply += chunk
        except (TimeoutError, ConnectionError):
            pass
    found = STATUS.match(reply)
    return Response(int(found[1]) if found else None, bytes(reply), time.monotonic() - began)


def judge(attack: Attack, response: Response, foreign: Sequence[str]) -> str | None:
    """What is wrong with the reply; None for one that is as it should be."""
    if any(word.encode() in response.reply for word in foreign):
        return "the words of somebody else"
    if response.status is not None and response.status >= 500:
        return f"status {response.status}"
    if attack.is_whole and response.seconds >= TIMEOUT_S:
        return f"no end of a reply within {TIMEOUT_S:.0f} s"
    return None


def post(body: bytes, who: Resident, path: str = "/v1/runs", more: bytes = b"", kind: bytes = JSON) -> bytes:
    """A whole request in the name of somebody."""
    length = b"" if b"chunked" in more else f"Content-Length: {len(body)}\r\n".encode()
    return _head("POST", path, who) + kind + more + length + b"\r\n" + body


def _head(method: str, path: str, who: Resident) -> bytes:
    word = "".join(f"{name}: {value}\r\n" for name, value in who.headers.items())
    return f"{method} {path} HTTP/1.1\r\n".encode() + HOST + word.encode() + b"Connection: close\r\n"


def _get(path: str, who: Resident, more: bytes = b"", method: str = "GET") -> bytes:
    return _head(method, path, who) + more + b"\r\n"


def body(draw: random.Random, who: Resident) -> Attack:
    """Broken JSON, broken UTF-8, NUL, depths, numbers, names twice, encodings that are none."""
    good = {"user_id": str(who.user_id), "query": "hello"}
    text = json.dumps(good).encode()
    place = draw.randrange(len(text))
    forms: dict[str, tuple[bytes, bytes]] = {
        "cut": (text[:place], b""),
        "changed": (text[:place] + bytes([draw.randrange(256)]) + text[place + 1 :], b""),
        "utf-8": (text.replace(b"hello", bytes(draw.randrange(128, 256) for _ in range(8))), b""),
        "nul": (text.replace(b"hello", draw.choice([b"\x00", b"\\u0000", b"\\ud800", b"\\udfff\\ud800"])), b""),
        "nested": (draw.choice([b"[", b'{"a":', b'{"user_id":[']) * draw.choice([100, 5_000, 100_000]), b""),
        "closed": (b'{"metadata":' + b"[" * (depth := draw.choice([500, 20_000])) + b"]" * depth + b"}", b""),
        "number": (text.replace(b'"hello"', draw.choice(NUMBERS)), b""),
        "twice": (text[:-1] + b', "user_id": "' + str(UUID(int=draw.getrandbits(128))).encode() + b'"}', b""),
        "encoding": (text, b"Content-Encoding: " + draw.choice([b"gzip", b"br", b"zstd", b"x"]) + b"\r\n"),
        "bom": (draw.choice([b"\xef\xbb\xbf", b"\xff\xfe", b"\x00"]) + text, b""),
        "large": (b'"' + b"x" * draw.choice([1 << 20, 3 << 20]) + b'"', b""),
        "noise": (draw.randbytes(draw.randrange(2_000)), b""),
    }
    name = draw.choice(list(forms))
    path = draw.choice([route.path for route in all_routes() if route.method == "POST"])
    raw, more = forms[name]
    kind = draw.choice(
        [JSON, JSON, JSON, b"Content-Type: multipart/form-data; boundary=x\r\n", b"Content-Type: \xff\r\n"]
    )
    return Attack(f"body: {name}", (post(raw, who, path.replace("{id}", str(who.things["run"])), more, kind),))


def framing(draw: random.Random, who: Resident) -> Attack:
    """Chunks that are none, lengths that lie, and bodies that come slowly."""
    text = json.dumps({"user_id": str(who.user_id), "query": "hello"}).encode()
    chunked = b"Transfer-Encoding: chunked\r\n"
    size = f"{len(text):x}".encode()
    chunks = draw.choice(
        [
            b"zz\r\n" + text,
            size + b"\r\n" + text,
            size + b";x=\xff\r\n" + text + b"\r\n0\r\n\r\n",
            b"-1\r\n\r\n",
            b"f" * 40 + b"\r\n",
            b"0\r\nX: " + b"y" * 70_000 + b"\r\n\r\n",
            size + b"\n" + text + b"\n0\n\n",
        ]
    )
    whole = post(text, who)
    return draw.choice(
        [
            Attack("framing: chunks", (post(chunks, who, more=chunked),), is_whole=False),
            Attack("framing: both", (post(text, who, more=chunked + b"Content-Length: 5\r\n"),), is_whole=False),
            Attack("framing: cut", (whole[: draw.randrange(len(whole))],), is_whole=False),
            Attack("framing: two at once", (whole + whole,)),
            Attack("framing: slow", tuple(whole[n : n + 40] for n in range(0, len(whole), 40)), pause=0.02),
        ]
    )


def headers(draw: random.Random, who: Resident) -> Attack:
    """Huge, many, not ASCII, twice, forged."""
    path = f"/v1/runs/{who.things['run']}"
    forms = {
        "huge": b"X: " + b"y" * draw.choice([10_000, 70_000, 300_000]) + b"\r\n",
        "many": b"".join(b"X-%d: y\r\n" % n for n in range(draw.choice([100, 3_000]))),
        "not ASCII": b"Last-Event-ID: \xff\xfe\xd0\xb9\r\nIdempotency-Key: \xd0\xb9\r\n",
        "twice": draw.choice([b"Content-Length: 1\r\nContent-Length: 2\r\n", HOST, b"Authorization: x\r\n"]),
        "control": b"X: a" + bytes([draw.randrange(32)]) + b"b\r\n",
        "nameless": draw.choice([b": x\r\n", b"x\r\n", b" x: y\r\n", b"\xff: y\r\n"]),
        "forged": b"X-User-Id: 1\r\nX-Forwarded-For: 127.0.0.1\r\nX-HTTP-Method-Override: DELETE\r\n",
        "upgrade": b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: eA==\r\n",
        "range": b"Range: bytes=0-99999999999\r\nIf-None-Match: " + b'"x", ' * 1_000 + b"\r\n",
    }
    name = draw.choice(list(forms))
    return Attack(f"headers: {name}", (_get(path, who, forms[name]),))


def events(draw: random.Random, who: Resident) -> Attack:
    """A stream from a place that is none, and one that is left in the middle."""
    path = f"/v1/runs/{who.things['run']}/events"
    places = ["", "x", "1.6", "-1.0.0", "1.6.12.9", "9" * 500, "1.6.\u0663", "%00", "999999999.9.999999999", "0.0.0"]
    place = draw.choice(places)
    if draw.random() < 0.5:
        return Attack("events: place", (_get(path, who, f"Last-Event-ID: {place}\r\n".encode()),))
    return Attack("events: left", (_get(f"{path}?last_event_id={draw.choice(['', '0.0.0', '%FF'])}", who),), most=200)


def address(draw: random.Random, who: Resident) -> Attack:
    """Any method on any path, but for the stream that has no end."""
    route = draw.choice([route for route in all_routes() if route.path != "/v1/users/{id}/events"])
    odd = ["%00", "..", "%2e%2e%2f", "%ff%fe", "{id}", "\u0439", "a" * 9_000, "0" * 36, "%", "//", "';--", "%c0%ae"]
    path = route.path.replace("{id}", draw.choice([*odd, str(who.things["run"]), str(UUID(int=draw.getrandbits(128)))]))
    query = draw.choice(
        ["", "?limit=1&limit=2", "?user_id=", "?before=%00", "?wait=1e400", "?" + "a=b&" * 2_000, "?%", "?a=%ff"]
    )
    return Attack("address", (_get(path + query, who, method=draw.choice(METHODS)),))


def protocol(draw: random.Random, who: Resident) -> Attack:
    """What is hardly HTTP."""
    lines = [
        b"",
        b"\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x16\x03\x01",
    ]
    return Attack("protocol", (draw.choice([*lines, draw.randbytes(300)]),), is_whole=False)


def runs(draw: random.Random, who: Resident) -> Attack:
    """Long runs as a question, as a search and as something to remember."""
    words, whose = long_run(draw), {"user_id": str(who.user_id)}
    path, more = draw.choice(
        [
            ("/v1/runs", {"query": words}),
            ("/v1/memories/search", {"query": words}),
            ("/v1/memories", {"memory": words}),
            ("/v1/context", {"query": words}),
        ]
    )
    return Attack(f"runs: {path}", (post(json.dumps(whose | more).encode(), who, path),))


def question(who: Resident) -> Attack:
    """What a user asks who does nothing wrong, and waits for."""
    given = {
        "model": "mentor",
        "user": str(who.user_id),
        "messages": [{"role": "user", "content": "Who opens my safe?"}],
    }
    return Attack("others", (post(json.dumps(given).encode(), who, "/v1/chat/completions"),))


MAKERS: tuple[Maker, ...] = (body, body, framing, headers, events, address, address, protocol, runs)
