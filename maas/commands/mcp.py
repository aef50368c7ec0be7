"""`maas mcp`: memory as tools for clients of MCP, over standard input and output."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import Annotated

import typer

from maas.commands.output import note
from maas.commands.session import LOCAL_USER
from shared import log
from shared.errors import MaasError
from shared.settings import load_settings


def serve_mcp(
    user: Annotated[
        str | None,
        typer.Option(
            "--user", "-u", envvar="MAAS_MCP_USER", help="whose memory: any name that stays the same, or a UUID",
            show_default="the user of the key, else a user of this machine",
        ),
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(envvar="MAAS_URL", help="where MaaS answers", show_default="MAAS_HOST and MAAS_PORT"),
    ] = None,
) -> None:  # fmt: skip
    """Serve memory as MCP tools over standard input and output; a client of MCP starts this.

    It needs a running MaaS (`make run`); a key, where one is needed, is read from MAAS_API_KEY.
    Over HTTP the same tools are at /mcp of the server.
    """
    from maas.mcp_server.stdio import serve  # slow to load

    settings = load_settings()
    log.configure(settings.log_level, settings.log_format)
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    address = (url or f"http://{host}:{settings.port}").rstrip("/")
    if not address.startswith(("http://", "https://")):
        raise MaasError("bad_setting", f"MAAS_URL: {address!r} must begin with http:// or https://")
    if sys.stdin.isatty():
        note(f"maas: this speaks MCP, for programs; MaaS is at {address}; Ctrl-C ends it")
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # standard input is read by a thread that cannot be interrupted
    asyncio.run(serve(address, os.environ.get("MAAS_API_KEY"), user, LOCAL_USER))
