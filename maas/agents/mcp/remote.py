"""Tools of a server as ours: what a stranger says of them is cut to what a model may read and a provider takes."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Awaitable, Callable, Iterable, Mapping
from hashlib import sha256
from typing import Any

import structlog

from maas.agents.mcp.servers import Server
from maas.agents.policy import Effect
from maas.agents.results import size, to_json
from maas.agents.schemas import plain, wrong
from maas.agents.tools import SECONDS, SEPARATOR, Context, Tool
from shared.log import conceal
from shared.text import clean, shorten

MOST_TOOLS = 200
SCHEMA_BYTES = 16_000
_NAME_CHARS = 64
_MARK_CHARS = 8
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
_PROPERTY = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_UNSEEN = ("Cf", "Cn", "Co", "Cs")
log = structlog.get_logger()

Call = Callable[[str, Mapping[str, Any]], Awaitable[Any]]


def remote_tools(server: Server, told: Iterable[Mapping[str, Any]], call: Call) -> tuple[Tool, ...]:
    """The tools of a list as the protocol has it, without those that cannot be shown to a model; the log names them."""
    tools: dict[str, Tool] = {}
    for one in told:
        try:
            if len(tools) == MOST_TOOLS:
                raise wrong(f"more than {MOST_TOOLS} tools")
            made = _tool(server, one, call)
        except Exception as error:  # it comes from a stranger, so anything may be wrong with it
            name = shorten(str(one.get("name")), _NAME_CHARS)
            log.warning("mcp_tool_left_out", server=server.name, tool=name, cause=shorten(str(error), 300))
        else:
            tools.setdefault(made.name, made)
    return tuple(tools.values())


def fit_name(server: str, name: str) -> str:
    """`server__tool` as every provider takes it; what had to be changed ends with a mark of its own."""
    whole = f"{server}{SEPARATOR}{name}"
    fitted = _NOT_IN_NAMES.sub("_", whole)
    if fitted == whole and len(whole) <= _NAME_CHARS:
        return whole
    return f"{fitted[: _NAME_CHARS - _MARK_CHARS - 1]}_{sha256(name.encode()).hexdigest()[:_MARK_CHARS]}"


def effect_of(server: Server, name: str, hints: Mapping[str, Any]) -> Effect:
    """As configured; else what a trusted server says; else dangerous."""
    if name in server.effects:
        return server.effects[name]
    if server.trusted and hints.get("readOnlyHint") is True:
        return "read"
    if server.trusted and hints.get("destructiveHint") is False:
        return "write"
    return "dangerous"


def _tool(server: Server, told: Mapping[str, Any], call: Call) -> Tool:
    name = str(told["name"])
    hints = told.get("annotations") or {}
    effect = effect_of(server, name, hints)
    about = str(told.get("description") or told.get("title") or hints.get("title") or "").strip()

    async def handle(arguments: Mapping[str, Any], _: Context) -> Any:
        return await call(name, arguments)

    return Tool(
        fit_name(server.name, server.names.get(name, name)),
        server.name,
        _readable(about, 1000) or _readable(name, 100),
        effect,
        handle,
        arguments=None,
        parameters=_schema(told["inputSchema"]),
        timeout=server.timeout or SECONDS[effect],
        is_idempotent=server.trusted and hints.get("idempotentHint") is True,
        reason=f"Calls {_readable(name, 100)} of the server {server.name}",
        via="mcp",
    )


def _schema(told: Mapping[str, Any]) -> dict[str, Any]:
    schema = plain(to_json({"schema": told})["schema"])
    if size(schema) > SCHEMA_BYTES:
        raise wrong(f"its schema is longer than {SCHEMA_BYTES} bytes")
    polished: dict[str, Any] = _polished(schema)
    return polished


def _polished(node: Any) -> Any:
    """The same schema with readable descriptions. Raises MaasError('wrong_tool') for names that providers refuse."""
    if isinstance(node, list):
        return [_polished(one) for one in node]
    if not isinstance(node, dict):
        return node
    found = {key: _polished(one) for key, one in node.items() if key not in ("description", "properties")}
    if "properties" in node:
        if unfit := [name for name in node["properties"] if not _PROPERTY.fullmatch(name)]:
            raise wrong(f"{unfit[0]!r}: a provider refuses such names")
        found["properties"] = {name: _polished(one) for name, one in node["properties"].items()}
    if about := _readable(str(node.get("description", "")), 500):
        found["description"] = about
    return found


def _readable(text: str, chars: int) -> str:
    """Without what no person sees and only a model reads, and without our secrets."""
    seen = "".join(char for char in text[: 20 * chars] if unicodedata.category(char) not in _UNSEEN)
    return shorten(conceal(clean(seen)).strip(), chars)
