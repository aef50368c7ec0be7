"""`maas mcp`: memory as MCP tools over standard input and output."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import Annotated

import typer

from maas.cli.invocation import LOCAL_USER
from maas.cli.ui import note
from maas.mcp_server.stdio import serve
from shared import log
from shared.errors import MaasError
from shared.settings import load_settings


def serve_mcp(
    user: Annotated[
        str | None,
        typer.Option(
            "--user", "-u", envvar="MAAS_MCP_USER", help="user whose memory is used: a UUID, or any constant name",
            show_default="the user of the key, else a user of this machine",
        ),
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(envvar="MAAS_URL", help="address of MaaS", show_default="MAAS_HOST and MAAS_PORT"),
    ] = None,
) -> None:  # fmt: skip
    """Serve until the end of standard input. Raises MaasError('bad_setting')."""
    settings = load_settings()
    log.configure(settings.log_level, settings.log_format)
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    address = (url or f"http://{host}:{settings.port}").rstrip("/")
    if not address.startswith(("http://", "https://")):
        raise MaasError("bad_setting", f"MAAS_URL: {address!r} must begin with http:// or https://")
    if sys.stdin.isatty():
        note(f"maas: this command speaks MCP and is started by MCP clients; MaaS is at {address}; Ctrl-C ends it")
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # standard input is read by a thread that cannot be interrupted
    asyncio.run(serve(address, os.environ.get("MAAS_API_KEY"), user, LOCAL_USER))
