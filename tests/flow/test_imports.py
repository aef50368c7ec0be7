"""Imports that are made to take all there is: the server stays small, and others are answered meanwhile."""

from __future__ import annotations

import base64
import json
import re
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import httpx2
import pytest

from maas.memory.transfer.import_ import MAX_CONCURRENT_IMPORTS
from tests.pictures import exif, picture
from tests.stack import Stack

MOST_MB = 400
LONGEST_S = 2.0  # of another request; on an idle machine a tenth of it


@pytest.fixture
def server(database: str, tmp_path: Path) -> Iterator[tuple[Stack, Path]]:
    """A server of its own, and what the system knows of its process."""
    with Stack(database, tmp_path) as stack:
        yield stack, Path(f"/proc/{stack.start_server().pid}/status")


def peak_mb(status: Path) -> int:
    found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text())
    assert found is not None
    return int(found[1]) // 1024


def send(stack: Stack, body: bytes, kind: str = "application/x-ndjson") -> httpx2.Response:
    url = f"{stack.client.base_url}/v1/users/{uuid4()}/import"
    return httpx2.post(url, content=body, headers={"content-type": kind}, timeout=60, trust_env=False, verify=False)


@contextmanager
def others(stack: Stack) -> Iterator[list[float]]:
    """How long the requests of another client took, one after another meanwhile."""
    times: list[float] = []
    is_over = threading.Event()

    def ask() -> None:
        with httpx2.Client(base_url=stack.client.base_url, timeout=60, trust_env=False, verify=False) as client:
            while not is_over.is_set():
                began = time.monotonic()
                assert client.get("/v1/runs", params={"user_id": str(uuid4())}).status_code == 200
                times.append(time.monotonic() - began)

    with ThreadPoolExecutor(1) as asking:
        done = asking.submit(ask)
        try:
            yield times
        finally:
            is_over.set()
            done.result()


def test_brackets_take_neither_memory_nor_time(server: tuple[Stack, Path]) -> None:
    """Millions of empty objects, as elements and in a line: one clear error each, nothing changed."""
    stack, status = server
    many = b"{}," * 6_000_000 + b"{}]"
    with others(stack) as times:
        as_elements = send(stack, b"[" + many, "application/json")
        in_a_line = send(stack, b'{"role": "user", "content": "x", "a": [' + many + b"}")
    assert as_elements.status_code == in_a_line.status_code == 422
    assert "of no product that MaaS reads exports of" in as_elements.text
    assert "line 1: holds more than 500000 values" in in_a_line.text
    assert max(times) < LONGEST_S and peak_mb(status) < MOST_MB
    assert stack.rows("select from raw_logs") == []


def test_large_pictures_are_decoded_one_at_a_time(server: tuple[Stack, Path]) -> None:
    """Exports and uploads of 40 megapixels at once: as many imports as there are places, others wait or retry."""
    stack, status = server
    image = picture("JPEG", (8000, 5000), exif=exif(6))
    header = {"maas": "export", "version": 1, "user_id": str(uuid4())}
    line = {
        "type": "attachment",
        "id": str(uuid4()),
        "created_at": "2025-01-01T00:00:00Z",
        "run_id": None,
        "kind": "upload",
        "content": base64.b64encode(image).decode(),
    }
    export = "\n".join(map(json.dumps, (header, line))).encode()

    def upload(_: int) -> int:
        form = {"user_id": str(uuid4())}
        files = {"file": ("a.jpg", image, "image/jpeg")}
        return stack.client.post("/v1/attachments", data=form, files=files, timeout=60).status_code

    with others(stack) as times, ThreadPoolExecutor(14) as clients:
        uploads = clients.map(upload, range(2))
        replies = list(clients.map(lambda _: send(stack, export), range(12)))
        assert set(uploads) == {201}
    taken = [reply for reply in replies if reply.status_code == 202]
    refused = [reply for reply in replies if reply.status_code == 503]
    assert len(taken) >= MAX_CONCURRENT_IMPORTS and len(refused) == len(replies) - len(taken)
    assert {reply.headers["retry-after"] for reply in refused} <= {"3"}
    assert max(times) < LONGEST_S and peak_mb(status) < MOST_MB
    sides = stack.rows("select width, height from attachments")
    assert sides == [{"width": 5000, "height": 8000}] * (len(taken) + 2)
