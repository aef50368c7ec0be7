"""MCP servers whose tools assistants may call, and their tools as our own.

MAAS_MCP_SERVERS names the servers: a JSON file, or the JSON itself. Descriptions and results of a server are untrusted,
so they are cut and masked.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Awaitable, Callable, Iterable, Mapping
from json import JSONDecodeError
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from uuid import UUID

import structlog
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from maas.tools.calls import ToolFailure, size, to_json
from maas.tools.mcp_client.naming import MAX_TOOL_NAME_CHARS, bad_setting, tool_name
from maas.tools.schema import plain_schema, wrong_tool
from maas.tools.tool import (
    DEFAULT_TIMEOUT_S,
    MAX_TIMEOUT_S,
    Effect,
    Tool,
    ToolContext,
)
from maas.tools.wording import Wording
from shared.errors import problems_of
from shared.json import map_texts, parse_json
from shared.log import conceal, hide
from shared.text import clean, shorten

_SERVER_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*([_-][A-Za-z0-9]+)*")
_MAX_SERVER_NAME_CHARS = 32
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_USER_VARIABLE = re.compile(r"\$\{user\.([A-Za-z_][A-Za-z0-9_]{0,49})\}")
_SECRET = re.compile(r"(?i)auth|cookie|credential|key|passw|secret|token")
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


class McpServer(BaseModel):
    """One server: a program to start, or a URL. Its annotations of its own tools count only if it is `trusted`.

    `user` is the user that the program runs as if root starts it. The keys of `effects`, `names` and `wordings` are the
    server's names of its tools; `wordings` is how their calls are described to people; `timeout` is that of a call in
    seconds. Without `prefix`, tools have no `server__` before their names, and only those that `effects` or `names`
    name are offered.

    A header may hold `${user.NAME}`, a secret of the user of each call. Then every user has a connection of their own,
    at most `max_connections` in all, which ends after `idle_seconds` without a call. Tools are listed by one more
    connection that sends the other headers and `list_headers`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    type: Literal["stdio", "http", "streamable-http"] | None = None
    command: str | None = None
    args: tuple[str, ...] = Field(default=(), repr=False)
    env: dict[str, str] = Field(default={}, repr=False)
    cwd: str | None = None
    user: str | None = None
    url: Annotated[str, Field(pattern=r"^https?://[^\s/]")] | None = Field(default=None, repr=False)
    headers: dict[str, str] = Field(default={}, repr=False)
    list_headers: dict[str, str] = Field(default={}, repr=False)
    max_connections: int = Field(default=200, ge=1, le=10_000)
    idle_seconds: float = Field(default=300.0, gt=0, le=86_400)
    prefix: bool = True
    trusted: bool = False
    effects: dict[str, Effect] = {}
    names: dict[str, str] = {}
    wordings: dict[str, Wording] = {}
    timeout: float | None = Field(default=None, gt=0, le=MAX_TIMEOUT_S)

    @model_validator(mode="after")
    def _check_transport(self) -> Self:
        if (self.command is None) == (self.url is None):
            raise ValueError("name a command or a url, one of both")
        if self.type is not None and (self.type == "stdio") != (self.url is None):
            raise ValueError("type stdio has a command, type http a url")
        if self.user is not None and self.command is None:
            raise ValueError("user is for a command")
        if self.user_variables and self.url is None:
            raise ValueError("headers with ${user.NAME} are for a url")
        if self.list_headers and not self.user_variables:
            raise ValueError("list_headers is for a server whose headers hold ${user.NAME}")
        return self

    @property
    def user_variables(self) -> frozenset[str]:
        """The names of the secrets that a call needs of its user."""
        return frozenset(name for value in self.headers.values() for name in _USER_VARIABLE.findall(value))

    @property
    def shared_headers(self) -> dict[str, str]:
        """The headers of connections that belong to no user."""
        static = {name: value for name, value in self.headers.items() if not _USER_VARIABLE.search(value)}
        return static | self.list_headers

    def headers_of(self, secrets: Mapping[str, str]) -> dict[str, str]:
        """The headers of the connection of a user who has these secrets; all of `user_variables` must be there."""
        return {
            name: _USER_VARIABLE.sub(lambda match: secrets[match[1]], value) for name, value in self.headers.items()
        }


def read_servers(setting: str | None, environment: Mapping[str, str]) -> tuple[McpServer, ...]:
    """The enabled servers of the setting. `${NAME}` is replaced from the environment; secrets are masked in logs.

    Raises MaasError('bad_setting') that names the server and the field or variable.
    """
    if setting is None:
        return ()
    servers = _parse(setting).get("mcpServers")
    if not isinstance(servers, dict) or not all(isinstance(one, dict) for one in servers.values()):
        raise bad_setting('must be {"mcpServers": {"NAME": {"command": ...}}}')
    return tuple(_server(name, fields, environment) for name, fields in servers.items() if not fields.get("disabled"))


def _parse(setting: str) -> dict[str, Any]:
    text = setting
    if not setting.lstrip().startswith("{"):
        try:
            text = Path(setting).expanduser().read_text()
        except (OSError, ValueError) as error:
            cause = getattr(error, "strerror", None) or "it is not a text file"
            raise bad_setting(f"cannot read {setting}: {cause}") from error
    try:
        value = parse_json(text)
    except JSONDecodeError as error:
        raise bad_setting(f"is not JSON: see line {error.lineno}, column {error.colno}") from error
    except ValueError as error:
        raise bad_setting(f"is not JSON: {error}") from error
    return value if isinstance(value, dict) else {}


def _server(name: str, fields: Mapping[str, Any], environment: Mapping[str, str]) -> McpServer:
    if len(name) > _MAX_SERVER_NAME_CHARS or not _SERVER_NAME.fullmatch(name):
        raise bad_setting(
            f"server {name!r}: a name is 1 to {_MAX_SERVER_NAME_CHARS} Latin letters, digits, single _ and -, "
            "letter first"
        )
    _check_user_variables(name, fields)
    filled = {key: _filled(value, key, name, environment) for key, value in fields.items() if key != "disabled"}
    try:
        return McpServer.model_validate({**filled, "name": name})
    except ValidationError as error:
        first = problems_of(error)[0]
        path = "".join(f"{part}: " for part in first.path)
        raise bad_setting(f"server {name!r}: {path}{first.message}") from error


def _check_user_variables(server: str, fields: Mapping[str, Any]) -> None:
    """Raises MaasError('bad_setting') for a `${user.…}` that is not the whole or a part of a header's value."""
    for key, value in fields.items():
        headers = value if key == "headers" and isinstance(value, dict) else {"": value}
        for header, text in headers.items():
            rest = _USER_VARIABLE.sub("", text) if key == "headers" and isinstance(text, str) else text
            if "${user." in f"{header}{rest}":
                raise bad_setting(
                    f"server {server!r}: {key}: ${{user.NAME}} is for the values of `headers`; NAME is 1 to 50 Latin "
                    "letters, digits and _"
                )


def _filled(value: Any, key: str, server: str, environment: Mapping[str, str]) -> Any:
    """The value with variables replaced. Values of keys that sound secret, and URLs, are masked in logs from now on."""
    if isinstance(value, dict):
        return {name: _filled(one, name, server, environment) for name, one in value.items()}
    if isinstance(value, list):
        return [_filled(one, key, server, environment) for one in value]
    if not isinstance(value, str):
        return value
    names = _VARIABLE.findall(value)
    if missing := [name for name in names if name not in environment]:
        raise bad_setting(f"server {server!r}: {key} needs {missing[0]}, which is not in the environment")
    text = _VARIABLE.sub(lambda match: environment[match[1]], value)
    hide(*(environment[name] for name in names if _SECRET.search(name) or "://" in environment[name]))
    if (_SECRET.search(key) and not _USER_VARIABLE.search(text)) or "://" in text:
        hide(text)
    return text


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
