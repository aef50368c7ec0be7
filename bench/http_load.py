"""HTTP clients written over asyncio streams, so that the client is not what is measured. It is still Python."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass
from typing import Any, Self
from uuid import uuid4

from bench.sentences import sentence
from shared.errors import MaasError

TIMEOUT = 30.0


class Caller:
    """One connection that is kept alive; `key` is shown with each request. Raises TimeoutError after `timeout_s`."""

    def __init__(self, port: int, key: str | None = None, timeout_s: float = TIMEOUT) -> None:
        self._port = port
        self._timeout_s = timeout_s
        self.key = key
        self._reader: asyncio.StreamReader
        self._writer: asyncio.StreamWriter

    async def __aenter__(self) -> Self:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._writer.close()

    async def get(self, path: str) -> tuple[int, Any]:
        """Status and JSON body."""
        status, body = await self._send(b"GET", path, b"")
        return status, json.loads(body)

    async def post(self, path: str, body: object) -> int:
        """Status of the reply."""
        status, _ = await self._send(b"POST", path, json.dumps(body).encode())
        return status

    async def post_and_read(self, path: str, body: object) -> tuple[int, Any]:
        """Status and JSON body of the reply."""
        status, reply = await self._send(b"POST", path, json.dumps(body).encode())
        return status, json.loads(reply)

    async def post_for(self, path: str, body: object) -> Any:
        """JSON body of the reply."""
        return (await self.post_and_read(path, body))[1]

    async def _send(self, method: bytes, path: str, body: bytes) -> tuple[int, bytes]:
        shown = f"authorization: Bearer {self.key}\r\n".encode() if self.key else b""
        self._writer.write(
            b"%b %b HTTP/1.1\r\nhost: localhost\r\n%bcontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b"
            % (method, path.encode(), shown, len(body), body)
        )
        async with asyncio.timeout(self._timeout_s):
            head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
            length = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0])
            return int(head[9:12]), await self._reader.readexactly(length)


@dataclass(frozen=True, slots=True)
class Load:
    """What a load did: how many were accepted, ms of each, and what the client used, in percent of a core."""

    client: str
    accepted: int
    seconds: float
    ms: list[float]
    client_cpu: float

    @property
    def rate(self) -> float:
        """Accepted requests a second."""
        return self.accepted / self.seconds


async def post_runs(port: int, connections: int, seconds: float = 0.0, count: int = 0, rate: int = 0) -> Load:
    """POST /v1/runs for a time or so often, each when the last is answered; or so many a second.

    At a rate a latency counts from when the request was due, not from when it was sent. Raises MaasError.
    """
    numbers = iter(range(count or (int(rate * seconds) if rate else 2**31)))
    elapsed: list[float] = []
    cpu, began = time.process_time(), time.perf_counter()
    end = began + seconds if seconds and not rate else float("inf")

    async def call() -> None:
        async with Caller(port) as caller:
            for number in numbers:
                body = {"user_id": str(uuid4()), "query": sentence(number)}
                start = time.perf_counter()
                if rate:
                    start = began + number / rate
                    await asyncio.sleep(max(0.0, start - time.perf_counter()))
                if start > end:
                    return
                status = await caller.post("/v1/runs", body)
                elapsed.append((time.perf_counter() - start) * 1000)
                if status != 202:
                    raise MaasError("bench_refused", f"POST /v1/runs answered {status} instead of 202")

    await asyncio.gather(*(call() for _ in range(connections)))
    took = time.perf_counter() - began
    return Load("Python", len(elapsed), took, elapsed, 100 * (time.process_time() - cpu) / took)
