"""The official clients of MCP, in Python and Node, sign in at /mcp by our own sign-in; a person agrees on our page."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit
from uuid import UUID

import httpx2
import pytest
from mcp.client import Client
from mcp.client.auth import OAuthClientProvider, OAuthFlowError
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl

from tests.connecting import answer_in
from tests.people import COOKIE_MODE, PASSWORD, Person, signed_up
from tests.polling import apoll
from tests.stack import ROOT, Stack

NODE = ROOT / "tests" / "contract"
CALLBACK = "http://127.0.0.1:4711/callback"


@pytest.fixture(scope="module")
def stack(fresh_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with Stack(fresh_database, tmp_path_factory.mktemp("stack"), MAAS_AUTH="local") as running:
        running.start_server()
        yield running


@pytest.fixture
def ann(stack: Stack) -> Person:
    return signed_up(stack)


@dataclass
class Storage:
    """What the client keeps."""

    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


@dataclass
class Browser:
    """A person's browser on our page: it signs in with a cookie, shows what is asked, and clicks."""

    email: str
    says_yes: bool = True
    shown: list[dict[str, object]] = field(default_factory=list)
    returned: str = ""

    async def open(self, address: str) -> None:
        origin = "{0.scheme}://{0.netloc}".format(urlsplit(address))
        async with httpx2.AsyncClient(base_url=origin, headers={"origin": origin}, trust_env=False, timeout=60) as http:
            page = await http.get(address)
            assert page.status_code == 200 and "text/html" in page.headers["content-type"]
            password = {"email": self.email, "password": PASSWORD}
            signed_in = await http.post("/auth/v1/token?grant_type=password", json=password, headers=COOKIE_MODE)
            renewed = await http.post("/auth/v1/token?grant_type=refresh_token", json={}, headers=COOKIE_MODE)
            assert (signed_in.status_code, renewed.status_code) == (200, 200)
            bearer = {"authorization": f"Bearer {renewed.json()['access_token']}"}
            asked = answer_in(address)
            shown = (await http.post("/v1/apps/preview", json=asked, headers=bearer)).json()
            self.shown.append(shown)
            self.returned = shown["refusal_url"]
            if self.says_yes:
                reply = await http.post("/v1/apps", json=asked, headers=bearer)
                assert reply.status_code == 201, reply.text
                self.returned = reply.json()["redirect_url"]

    async def result(self) -> AuthorizationCodeResult:
        assert self.returned.startswith(f"{CALLBACK}?")
        sent = answer_in(self.returned)
        return AuthorizationCodeResult(code=sent.get("code", ""), state=sent["state"], iss=sent["iss"])


@asynccontextmanager
async def connected(
    port: int, browser: Browser, storage: Storage, document: str | None = None
) -> AsyncIterator[Client]:
    """The SDK's client, which signs in by itself; `document` is the address of what it says of itself."""
    url = f"http://127.0.0.1:{port}/mcp"
    metadata = OAuthClientMetadata(client_name="SDK", redirect_uris=[AnyUrl(CALLBACK)])
    provider = OAuthClientProvider(url, metadata, storage, browser.open, browser.result, document)
    async with (
        httpx2.AsyncClient(auth=provider, trust_env=False, timeout=30) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        yield client


async def test_the_python_client_signs_in_renews_and_is_disconnected(stack: Stack, ann: Person) -> None:
    browser, storage = Browser(ann.email), Storage()
    async with connected(stack.port, browser, storage) as client:
        await client.call_tool("add_memory", {"memory": "The cello is in Lisbon."})
        found = await client.call_tool("search_memories", {"query": "cello"})
        assert not found.is_error and "Lisbon" in str(found.structured_content)
    (shown,) = browser.shown
    assert (shown["name"], shown["redirect_kind"], shown["scopes"]) == ("SDK", "computer", ["read", "ask"])
    (row,) = stack.rows("select distinct user_id from raw_logs where content like '%Lisbon%'")
    assert row["user_id"] == UUID(ann.id)

    first = storage.tokens
    assert first is not None and first.refresh_token is not None
    storage.tokens = first.model_copy(update={"expires_in": 0})  # it has run out: the next one renews it
    async with connected(stack.port, browser, storage) as client:
        assert (await client.list_tools()).tools
    assert len(browser.shown) == 1

    (app,) = stack.client.get("/v1/apps", params={"user_id": ann.id}, headers=ann.headers).json()["results"]
    assert stack.client.delete(f"/v1/apps/{app['id']}", headers=ann.headers).status_code == 204
    token = storage.tokens.access_token
    bearer = {"authorization": f"Bearer {token}"}

    async def is_refused() -> bool:
        return stack.client.post("/mcp", json={}, headers=bearer).status_code == 401

    await apoll(is_refused)
    async with connected(stack.port, browser, storage) as client:  # it asks the person again
        assert (await client.list_tools()).tools
    assert len(browser.shown) == 2


async def test_the_python_client_goes_back_with_a_no(stack: Stack, ann: Person) -> None:
    browser = Browser(ann.email, says_yes=False)
    with pytest.raises(BaseExceptionGroup) as raised:
        async with connected(stack.port, browser, Storage()) as client:
            await client.list_tools()
    assert raised.group_contains(OAuthFlowError, match="No authorization code")
    assert answer_in(browser.returned)["error"] == "access_denied"


def test_the_client_in_node_signs_in_and_renews(stack: Stack, ann: Person) -> None:
    node = shutil.which("node")
    if node is None or not (NODE / "node_modules" / "@modelcontextprotocol").exists():
        pytest.skip("needs Node 20.15 or newer, and `npm ci` in tests/contract")
    program = str(Path("mcp_app.mjs"))
    command = [node, program, f"http://127.0.0.1:{stack.port}/mcp", ann.session["access_token"]]
    done = subprocess.run(command, cwd=NODE, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    came = json.loads(done.stdout)
    assert came["asked"] == 1 and came["isRenewed"]
    assert [result.get("isError", False) for result in came["results"]] == [False, False]
    (app,) = stack.client.get("/v1/apps", params={"user_id": ann.id}, headers=ann.headers).json()["results"]
    assert app["name"] == "Node"
