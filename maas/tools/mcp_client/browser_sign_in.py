"""A person signs in at an MCP server: the browser comes back to a port of this machine (RFC 8252)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import httpx2
from mcp.shared.auth import AuthorizationCodeResult

from maas.tools.mcp_client.http_client import tls
from maas.tools.mcp_client.oauth import PersonProvider
from maas.tools.mcp_client.servers import McpServer
from maas.tools.mcp_client.sign_in import MAX_AUTHORIZATION_REPLY_BYTES, SignIn, SignInFailed
from shared.bounded_http import open_bounded
from shared.errors import MaasError

TIMEOUT_S = 10.0
PERSON_TIMEOUT_S = 300.0
_PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
_HEADERS = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-06-18"}
_PAGE = "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\nYou may close this page.\n"


async def sign_in_by_browser(server: McpServer, port: int, show: Callable[[str], object]) -> str:
    """Have a person agree, and return the secret that holds it; `show` gets the address to open.

    Raises MaasError('sign_in_failed').
    """
    oauth, url = server.oauth, server.url
    assert oauth is not None and url is not None
    returned: asyncio.Future[httpx2.QueryParams] = asyncio.get_running_loop().create_future()

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = (await reader.readline()).decode("ascii", errors="replace").split(" ")
        query = httpx2.QueryParams(line[1].partition("?")[2] if len(line) == 3 else "")
        if ("code" in query or "error" in query) and not returned.done():
            returned.set_result(query)
        writer.write(_PAGE.encode())
        await writer.drain()
        writer.close()

    async def show_address(address: str) -> None:
        show(address)

    async def wait() -> AuthorizationCodeResult:
        query = await returned
        if "code" not in query:
            raise SignInFailed(f"the authorization server says {query['error'][:100]}")
        return AuthorizationCodeResult(code=query["code"], state=query.get("state"), iss=query.get("iss"))

    provider = PersonProvider(url, oauth, f"http://127.0.0.1:{port}/callback", show_address, wait)
    sign_in = SignIn(provider, server.trusted_urls, TIMEOUT_S)
    try:
        async with (
            asyncio.timeout(PERSON_TIMEOUT_S),
            await asyncio.start_server(listen, "127.0.0.1", port),
            sign_in.open(tls()),
            open_bounded(MAX_AUTHORIZATION_REPLY_BYTES, timeout=TIMEOUT_S, verify=tls()) as http,
        ):
            response = await sign_in.send(
                http.build_request("POST", url, json=_PING, headers=_HEADERS), lambda one: http.send(one, stream=True)
            )
            await response.aclose()
    except TimeoutError:
        raise MaasError("sign_in_failed", f"{server.name}: nobody came back within {PERSON_TIMEOUT_S:g} s") from None
    except (SignInFailed, httpx2.HTTPError, OSError) as error:
        raise MaasError("sign_in_failed", f"{server.name}: {error or type(error).__name__}") from error
    if (grant := provider.grant()) is None:
        raise MaasError("sign_in_failed", f"{server.name} wants no sign-in: HTTP {response.status_code}")
    return grant.to_secret()
