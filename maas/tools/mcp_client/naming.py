"""Names of the tools of MCP servers: with the server's name before them, or without, and then none of them twice."""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import sha256

from maas.tools.mcp_client.servers import McpServer, bad_setting
from maas.tools.tool import SEPARATOR, Toolset

MAX_TOOL_NAME_CHARS = 64
_HASH_CHARS = 8
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
# Tools that the runtime itself offers to models.
_RESERVED = re.compile(
    r"transfer_to_.*|getAvailableDomains|getDomainTools|executeTools?|(?:confirm|reject)_pending", re.DOTALL
)


def tool_name(server: McpServer, name: str) -> str:
    """Our name of a server's tool."""
    chosen = server.names.get(name, name)
    return fit_name(server.name, chosen) if server.prefix else _fit(chosen, name)


def fit_name(server: str, name: str) -> str:
    """`server__tool` in the characters that every provider accepts; a changed name ends with a hash of the original."""
    return _fit(f"{server}{SEPARATOR}{name}", name)


def _fit(full_name: str, name: str) -> str:
    fitted = _NOT_IN_NAMES.sub("_", full_name)
    if fitted == full_name and len(full_name) <= MAX_TOOL_NAME_CHARS:
        return full_name
    return f"{fitted[: MAX_TOOL_NAME_CHARS - _HASH_CHARS - 1]}_{sha256(name.encode()).hexdigest()[:_HASH_CHARS]}"


def names_without_prefix(server: McpServer) -> tuple[str, ...]:
    """Our names of all tools that a server without prefix may offer: those that its entry names."""
    return (
        ()
        if server.prefix
        else tuple(tool_name(server, name) for name in dict.fromkeys((*server.effects, *server.names)))
    )


def is_named(server: McpServer, name: str) -> bool:
    """Whether `name`, of a tool or of a domain, belongs to this server."""
    own = name.partition(SEPARATOR)[0] == server.name if server.prefix else name == server.name
    return own or name in names_without_prefix(server)


def check_names(own: Toolset, servers: Sequence[McpServer]) -> None:
    """Raises MaasError('bad_setting') if a name stands for two things: a tool, a server, or the prefix of a server."""
    domains = own.domains()
    for server in servers:
        if server.name in domains or any(one.name.startswith(server.name + SEPARATOR) for one in own):
            raise bad_setting(f"{server.name!r} names tools of MAAS_TOOLS, too; name it otherwise")
    prefixes = {server.name for server in servers}
    taken = {one.name: f"the tool of {one.domain}" for one in own}
    taken |= {name: "a domain" for name in domains} | {name: f"the server {name}" for name in prefixes}
    for server in servers:
        for name in names_without_prefix(server):
            other = taken.get(name)
            if other is None and name.partition(SEPARATOR)[0] in prefixes:
                other = f"the tools of the server {name.partition(SEPARATOR)[0]}"
            if _RESERVED.fullmatch(name):
                other = "a tool of MaaS"
            if other is not None:
                raise bad_setting(
                    f"server {server.name!r} without prefix: {name!r} is also the name of {other}; rename it in `names`"
                )
            taken[name] = f"a tool of the server {server.name}"
