"""A server of tools on accounts of users, made with the official SDK: `python mcp_accounts.py PORT`.

An account is a bearer token. The file `refused-ACCOUNT` makes it one that is refused, `held-ACCOUNT` one that gets no
reply while that file exists. Each call is a line of the file `calls`.
"""

from __future__ import annotations

import asyncio
import os
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError

FOLDER = Path(os.environ["TOOLBOX"])
server = MCPServer("accounts", log_level="ERROR")


def account(token: str) -> str:
    """The name of an account, which does not give its token away."""
    return sha256(token.encode()).hexdigest()[:16]


def token_of(context: Context[Any, Any]) -> str:
    return (context.headers or {})["authorization"].removeprefix("Bearer ")


@server.tool()
async def whoami(nonce: str, seconds: float, context: Context[Any, Any]) -> str:
    """Say whose account this is, after some time."""
    with (FOLDER / "calls").open("a") as file:
        file.write(f"{account(token_of(context))} {nonce}\n")
    await asyncio.sleep(seconds)
    return f"{account(token_of(context))} {nonce}"


@server.tool()
async def confess(context: Context[Any, Any]) -> dict[str, str]:
    """Return all headers of the request."""
    return dict(context.headers or {})


@server.tool()
async def complain(context: Context[Any, Any]) -> str:
    """Fail with the token in the message."""
    raise ToolError(f"refused: {token_of(context)}")


@server.tool()
async def die() -> str:
    """End the process during the call."""
    os._exit(3)


application = server.streamable_http_app()


async def guarded(scope: Any, receive: Any, send: Any) -> None:
    """The server for requests with a token that is not refused; 401 for all others."""
    if scope["type"] == "http":
        token = dict(scope["headers"]).get(b"authorization", b"").decode().removeprefix("Bearer ")
        if not token or (FOLDER / f"refused-{account(token)}").exists():
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": f"no access for {token}".encode()})
            return
        while (FOLDER / f"held-{account(token)}").exists():
            await asyncio.sleep(0.02)
    await application(scope, receive, send)


if __name__ == "__main__":
    uvicorn.run(guarded, host="127.0.0.1", port=int(sys.argv[1]), log_level="error")
