"""The image of the Dockerfile, built and started where Docker or Podman runs."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx2
import pytest

from tests.polling import poll
from tests.skips import NOT_TO_BE_HAD
from tests.stack import free_port

ROOT = Path(__file__).resolve().parents[2]
IMAGE = "maas-test"
BUILD_S, COMMAND_S = 500, 60
AS_DEPLOYED = ("--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL", "--security-opt", "no-new-privileges")


def engine() -> str | None:
    """The engine of containers that answers on this machine."""
    programs = [program for name in ("docker", "podman") if (program := shutil.which(name))]
    return next((one for one in programs if run(one, "info").returncode == 0), None)


def run(*words: str, seconds: float = COMMAND_S) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False, timeout=seconds)


@pytest.fixture(scope="module")
def program() -> Iterator[str]:
    """The engine, with the image built."""
    if (program := engine()) is None:
        pytest.skip(f"{NOT_TO_BE_HAD}: neither Docker nor Podman runs")
    base = (ROOT / "Dockerfile").read_text().partition("FROM ")[2].split()[0]
    if run(program, "pull", base, seconds=BUILD_S).returncode != 0:
        pytest.skip(f"{NOT_TO_BE_HAD}: {base}")
    built = run(program, "build", "--tag", IMAGE, ".", seconds=BUILD_S)
    assert built.returncode == 0, built.stderr[-3000:]
    yield program
    run(program, "rmi", IMAGE)


@contextmanager
def container(program: str, dsn: str, port: int, *command: str) -> Iterator[str]:
    """The id of a container that runs as compose.yaml lets it run, but in the network of this machine."""
    environment = ("--env", f"DATABASE_URL={dsn}", "--env", f"MAAS_PORT={port}")
    started = run(program, "run", "--detach", "--network", "host", *AS_DEPLOYED, *environment, IMAGE, *command)
    assert started.returncode == 0, started.stderr
    name = started.stdout.strip()
    try:
        yield name
    finally:
        run(program, "rm", "--force", name)


def test_the_image_answers_and_remembers(program: str, fresh_database: str) -> None:
    port = free_port()
    with ExitStack() as stack:
        server = stack.enter_context(container(program, fresh_database, port))
        stack.enter_context(container(program, fresh_database, port, "python", "main.py"))
        assert run(program, "exec", server, "id", "-u").stdout.strip() == "10001"
        created = run(program, "exec", server, "maas", "keys", "create", "shop", "--user", "kim")
        key = next(word for word in created.stdout.split() if word.startswith("maas_"))
        http = stack.enter_context(httpx2.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False))

        def is_ready() -> bool:
            try:
                return http.get("/readyz").status_code == 200
            except httpx2.TransportError:
                return False

        poll(is_ready, 60, "ready")
        assert http.get("/v1/runs").status_code == 401
        http.headers["authorization"] = f"Bearer {key}"
        for text in ("My boat lies in Bergen.", "Where does my boat lie?"):
            body = {"model": "mentor", "messages": [{"role": "user", "content": text}]}
            reply = http.post("/v1/chat/completions", json=body, timeout=60)
            assert reply.status_code == 200, reply.text
        assert "Bergen" in reply.json()["choices"][0]["message"]["content"]
