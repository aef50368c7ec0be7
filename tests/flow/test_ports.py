"""Server processes on one port: refused in one line, or sharing it."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from tests.polling import poll
from tests.stack import Stack


@pytest.fixture
def stack(database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with Stack(database, tmp_path_factory.mktemp("stack")) as running:
        yield running


def test_a_port_that_is_taken(stack: Stack) -> None:
    stack.start_server()
    second = stack.launch("server.py")
    assert second.wait(20) == 1
    assert f"cannot listen on 127.0.0.1:{stack.port}" in stack.last_words(second)
    assert stack.client.get("/healthz").status_code == 200


def test_a_port_that_is_shared(stack: Stack) -> None:
    """Connections go to both; when one is killed the other goes on."""
    servers = [stack.start_server(MAAS_SHARE_PORT="on") for _ in range(2)]

    def reached() -> set[str]:
        names = (stack.client.get("/metrics", headers={"connection": "close"}).text for _ in range(10))
        return {next(line for line in text.splitlines() if line.startswith("process_start_time")) for text in names}

    assert poll(lambda: len(reached()) == 2)
    servers[0].send_signal(signal.SIGKILL)
    servers[0].wait()
    assert poll(lambda: len(reached()) == 1)
