"""The public conformance suite of MCP: what it requires of a server and of a client at the revision 2026-07-28."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import uvicorn
import yaml
from starlette.requests import Request
from starlette.routing import Route

from maas.http.app import LazyMount, create_app
from maas.http.auth import LocalAuthenticator, Principal
from maas.http.connection import limited_protocol
from maas.mcp_server.http import handle_request
from maas.settings import load_settings
from shared.db import open_database
from tests.aimock import missing
from tests.mcp_suite import ASSISTANT, ELSEWHERE, build_suite_server
from tests.mcp_suite_client import call_on_request
from tests.polling import apoll
from tests.stack import NOBODY, ROOT, Stack, free_port

REVISION = "2026-07-28"
FOLDER = ROOT / "tests" / "contract"
PACKAGE = FOLDER / "node_modules" / "@modelcontextprotocol" / "conformance"
TIMEOUT_S = 120.0
MAX_AT_A_TIME = 6
ADD_ASSISTANT = "insert into assistants (name, role_name, definition) values (%s, 'Mentor', %s)"
EXTENSIONS = ("auth/client-credentials-basic", "auth/client-credentials-jwt")  # of signing in as a program
OPTIONAL = {  # of headers that no tool of ours has, and of two questions at a time, which none of ours asks
    "http-custom-header-server-validation",
    "tasks-mrtr-input",
}


@pytest.fixture(autouse=True)
def _installed() -> None:
    if reason := missing() or ("the suite is not installed: run `npm ci` in tests/contract" * (not PACKAGE.exists())):
        pytest.skip(reason)


class NobodyAtHome(LocalAuthenticator):
    """Every program on this machine works for one user."""

    async def authenticate(self, request: Request) -> Principal:
        return replace(await super().authenticate(request), user_id=NOBODY)


@pytest.fixture
async def url(database: str, tmp_path: Path) -> AsyncIterator[str]:
    """/mcp of a server as server.py starts it, with what the suite wants to find."""
    port, settings = free_port(), load_settings()
    with Stack(database, tmp_path) as stack:
        for name, channels in ((ASSISTANT, ()), (ELSEWHERE, ("telegram",))):
            definition = json.dumps({"toolset": ["suite"], "channels": channels})
            stack.rows(ADD_ASSISTANT, name, definition)
        stack.start_orchestrator(MAAS_TOOLS="tests.mcp_suite_tools:TOOLS")
        async with open_database(database, 4, "test") as db:
            app = create_app(db, database, settings, NobodyAtHome())
            handle = partial(handle_request, make_server=build_suite_server)
            app.router.routes.append(Route("/mcp", LazyMount(lambda: handle), methods=["POST"]))
            protocol = limited_protocol(settings.http)
            server = uvicorn.Server(uvicorn.Config(app, port=port, http=protocol, log_config=None, access_log=False))
            serving = asyncio.create_task(server.serve())
            await apoll(lambda: server.started)
            yield f"http://127.0.0.1:{port}/mcp"
            app.state.maas.run_watcher.close()
            server.should_exit = True
            await serving


async def run_suite(folder: Path, *words: str) -> dict[str, list[str]]:
    """What the suite finds wrong, by scenario."""
    suite = await asyncio.create_subprocess_exec(
        "node",
        "conformance.mjs",
        *words,
        "--output-dir",
        str(folder),
        cwd=FOLDER,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with asyncio.timeout(TIMEOUT_S):
        output, _ = await suite.communicate()
    found = {path.parent.name: json.loads(path.read_bytes()) for path in folder.rglob("checks.json")}
    assert found, output.decode()
    return {
        name: [f"{one['id']}: {one.get('errorMessage')}" for one in checks if one["status"] == "FAILURE"]
        for name, checks in found.items()
    }


async def test_the_server_does_what_is_required(url: str, tmp_path: Path) -> None:
    found = await run_suite(tmp_path / "found", "server", "--url", url, "--requirements", REVISION)
    assert len(found) == 50
    wrong = {name: failures for name, failures in found.items() if failures}
    assert {name: wrong[name] for name in wrong if not any(f"server-{one}-" in name for one in OPTIONAL)} == {}


async def test_the_client_does_what_is_required(tmp_path: Path) -> None:
    port = free_port()
    command = f"node relay.mjs {port}"

    async def play(name: str, *words: str) -> list[str]:
        folder = tmp_path / name.replace("/", "-")
        async with places:
            found = await run_suite(folder, "client", "--command", command, "--scenario", name, *words)
        return [one for failures in found.values() for one in failures]

    places = asyncio.Semaphore(MAX_AT_A_TIME)
    required = yaml.safe_load((PACKAGE / "requirements" / f"{REVISION}.yaml").read_text())["client"]
    assert len(required) == 32
    plays = {name: play(name, "--spec-version", REVISION) for name in required} | {
        name: play(name) for name in EXTENSIONS
    }
    async with await asyncio.start_server(call_on_request, "127.0.0.1", port):
        found = dict(zip(plays, await asyncio.gather(*plays.values()), strict=True))
    assert {name: failures for name, failures in found.items() if failures} == {}
