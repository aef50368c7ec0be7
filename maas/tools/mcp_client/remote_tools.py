"""Tools of MCP servers as our own. Descriptions and results of a server are untrusted: they are cut and masked."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any
from uuid import UUID

import structlog

from maas.tools.calls import ToolFailure, to_json
from maas.tools.mcp_client.naming import MAX_TOOL_NAME_CHARS, tool_name
from maas.tools.mcp_client.servers import McpServer
from maas.tools.rows import size
from maas.tools.schema import plain_schema, wrong_tool
from maas.tools.tool import DEFAULT_TIMEOUT_S, Effect, Tool, ToolContext
from maas.tools.wording import Wording
from shared.json import map_texts, parse_json
from shared.log import conceal
from shared.text import clean, shorten

MAX_TOOLS = 200
MAX_SCHEMA_BYTES = 16_000
MAX_REPLY_BYTES = 4 * 1024 * 1024  # of a reply, decompressed; of a line of a program; of an event of a stream
MAX_TEXT_CHARS = 200_000  # of one text in a result, before the result is cut to what a model may read
_MAX_TOOL_DESCRIPTION_CHARS, _MAX_FIELD_DESCRIPTION_CHARS = 1000, 500
_MAX_TITLE_CHARS = 100
_PROPERTY = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_INVISIBLE = ("Cf", "Cn", "Co", "Cs")
log = structlog.get_logger()

CallRemote = Callable[[UUID, str, Mapping[str, Any]], Awaitable[Any]]  # on behalf of a user


def convert_tools(server: McpServer, listed: Iterable[Mapping[str, Any]], call: CallRemote) -> tuple[Tool, ...]:
    """The tools of a `tools/list` result. Those that cannot be shown to a model are left out and named in the log."""
    tools: dict[str, Tool] = {}
    for one in listed:
        try:
            if len(tools) == MAX_TOOLS:
                raise wrong_tool(f"more than {MAX_TOOLS} tools")
            remote = _tool(server, one, call)
        except Exception as error:  # the server is untrusted, so anything may be wrong with it
            name = shorten(str(one.get("name")), MAX_TOOL_NAME_CHARS)
            log.warning("mcp_tool_skipped", server=server.name, tool=name, cause=shorten(str(error), 300))
        else:
            tools.setdefault(remote.name, remote)
    return tuple(tools.values())


def effect_of(server: McpServer, name: str, hints: Mapping[str, Any]) -> Effect:
    """The configured effect, else that of a trusted server's annotations, else dangerous."""
    if name in server.effects:
        return server.effects[name]
    if server.trusted and hints.get("readOnlyHint") is True:
        return "read"
    if server.trusted and hints.get("destructiveHint") is False:
        return "write"
    return "dangerous"


def _tool(server: McpServer, listed: Mapping[str, Any], call: CallRemote) -> Tool:
    name = str(listed["name"])
    hints = listed.get("annotations") or {}
    effect = effect_of(server, name, hints)
    if not server.prefix and name not in server.effects and name not in server.names:
        raise wrong_tool("without prefix, only tools that `effects` names are offered")
    about = str(listed.get("description") or listed.get("title") or hints.get("title") or "").strip()
    title = _readable(name, _MAX_TITLE_CHARS)
    wording = server.wordings.get(name, Wording())

    async def handle(arguments: Mapping[str, Any], context: ToolContext) -> Any:
        return await call(context.user_id, name, arguments)

    return Tool(
        tool_name(server, name),
        server.name,
        _readable(about, _MAX_TOOL_DESCRIPTION_CHARS) or title,
        effect,
        handle,
        arguments=None,
        parameters=_schema(listed["inputSchema"]),
        timeout=server.timeout or DEFAULT_TIMEOUT_S[effect],
        is_idempotent=server.trusted and hints.get("idempotentHint") is True,
        reason="" if wording.reason else f"Calls {title} of the server {server.name}",
        wording=wording,
    )


def _schema(listed: Mapping[str, Any]) -> dict[str, Any]:
    schema = plain_schema(to_json({"schema": listed})["schema"])
    if size(schema) > MAX_SCHEMA_BYTES:
        raise wrong_tool(f"its schema is longer than {MAX_SCHEMA_BYTES} bytes")
    readable: dict[str, Any] = _readable_schema(schema)
    return readable


def _readable_schema(node: Any) -> Any:
    """The schema with readable descriptions. Raises MaasError('wrong_tool') for names that providers refuse."""
    if isinstance(node, list):
        return [_readable_schema(one) for one in node]
    if not isinstance(node, dict):
        return node
    result = {key: _readable_schema(one) for key, one in node.items() if key not in ("description", "properties")}
    if "properties" in node:
        if refused := [name for name in node["properties"] if not _PROPERTY.fullmatch(name)]:
            raise wrong_tool(f"{refused[0]!r}: a provider refuses such names")
        result["properties"] = {name: _readable_schema(one) for name, one in node["properties"].items()}
    if about := _readable(str(node.get("description", "")), _MAX_FIELD_DESCRIPTION_CHARS):
        result["description"] = about
    return result


def _readable(text: str, max_chars: int) -> str:
    """The text without invisible characters, which only a model would read, and with secrets masked."""
    visible = "".join(char for char in text[: 20 * max_chars] if unicodedata.category(char) not in _INVISIBLE)
    return shorten(conceal(clean(visible)).strip(), max_chars)


def content_data(result: Mapping[str, Any]) -> Any:
    """The data of a `tools/call` result as plain JSON: structured content, texts, and a note for each picture or file.

    Raises ToolFailure for a result that reports an error.
    """
    blocks = result.get("content") or []
    if result.get("isError"):
        message = "\n".join(str(one["text"]) for one in blocks if one.get("type") == "text")
        raise ToolFailure(conceal(message.strip()[:MAX_TEXT_CHARS]) or "it failed and did not say why")
    structured = result.get("structuredContent")
    if structured is not None:  # the text blocks repeat it
        blocks = [one for one in blocks if one.get("type") != "text"]
    parts = [] if structured is None else [structured]
    parts += [_block(one) for one in blocks]
    return map_texts(parts[0] if len(parts) == 1 else parts or None, conceal)


def _block(block: Mapping[str, Any]) -> Any:
    kind = block.get("type")
    if kind == "text":
        return _text(str(block.get("text", "")))
    if kind in ("image", "audio"):
        return _note(str(kind), block.get("mimeType"), block.get("data"))
    if kind == "resource":
        resource = block.get("resource") or {}
        if "text" in resource:
            return {"uri": resource.get("uri"), "text": str(resource["text"])[:MAX_TEXT_CHARS]}
        return _note("file", resource.get("mimeType"), resource.get("blob")) | {"uri": resource.get("uri")}
    return {key: block[key] for key in ("type", "uri", "name", "title", "description", "mimeType") if key in block}


def _text(text: str) -> Any:
    """The value of a JSON text, so that a model does not read it escaped; any other text as it is."""
    if len(text) <= MAX_TEXT_CHARS and text.lstrip().startswith(("{", "[")):
        try:
            return parse_json(text)
        except ValueError:
            pass
    return text[:MAX_TEXT_CHARS]


def _note(kind: str, mime: object, data: object) -> dict[str, Any]:
    return {"type": kind, "mime_type": mime, "bytes": len(str(data or "")) * 3 // 4}
