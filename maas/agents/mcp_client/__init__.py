"""MCP servers whose tools assistants may call, as MAAS_MCP_SERVERS names them: a JSON file, or the JSON itself."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from maas.agents.policy import Effect
from maas.agents.tools import MAX_TIMEOUT_S
from shared.errors import MaasError, problems_of
from shared.log import hide

SETTING = "MAAS_MCP_SERVERS"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*([_-][A-Za-z0-9]+)*")
_MAX_NAME_CHARS = 32
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_SECRET = re.compile(r"(?i)auth|cookie|credential|key|passw|secret|token")


class McpServer(BaseModel):
    """One server: a program to start, or a URL. Its annotations of its own tools count only if it is `trusted`.

    `user` is the user that the program runs as if root starts it. The keys of `effects` and `names` are the server's
    names of its tools; `timeout` is that of a call in seconds.
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
    trusted: bool = False
    effects: dict[str, Effect] = {}
    names: dict[str, str] = {}
    timeout: float | None = Field(default=None, gt=0, le=MAX_TIMEOUT_S)

    @model_validator(mode="after")
    def _check_transport(self) -> Self:
        if (self.command is None) == (self.url is None):
            raise ValueError("name a command or a url, one of both")
        if self.type is not None and (self.type == "stdio") != (self.url is None):
            raise ValueError("type stdio has a command, type http a url")
        if self.user is not None and self.command is None:
            raise ValueError("user is for a command")
        return self


def read_servers(setting: str | None, environment: Mapping[str, str]) -> tuple[McpServer, ...]:
    """The enabled servers of the setting. `${NAME}` is replaced from the environment; secrets are masked in logs.

    Raises MaasError('bad_setting') that names the server and the field or variable.
    """
    if setting is None:
        return ()
    servers = _parse(setting).get("mcpServers")
    if not isinstance(servers, dict) or not all(isinstance(one, dict) for one in servers.values()):
        raise _bad_setting('must be {"mcpServers": {"NAME": {"command": ...}}}')
    return tuple(_server(name, fields, environment) for name, fields in servers.items() if not fields.get("disabled"))


def _parse(setting: str) -> dict[str, Any]:
    text = setting
    if not setting.lstrip().startswith("{"):
        try:
            text = Path(setting).expanduser().read_text()
        except (OSError, ValueError) as error:
            cause = getattr(error, "strerror", None) or "it is no text"
            raise _bad_setting(f"cannot read {setting}: {cause}") from error
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        place = f"line {error.lineno}, column {error.colno}" if isinstance(error, json.JSONDecodeError) else "its depth"
        raise _bad_setting(f"is not JSON: see {place}") from error
    return value if isinstance(value, dict) else {}


def _server(name: str, fields: Mapping[str, Any], environment: Mapping[str, str]) -> McpServer:
    if len(name) > _MAX_NAME_CHARS or not _NAME.fullmatch(name):
        raise _bad_setting(
            f"server {name!r}: a name is 1 to {_MAX_NAME_CHARS} Latin letters, digits, single _ and -, letter first"
        )
    filled = {key: _filled(value, key, name, environment) for key, value in fields.items() if key != "disabled"}
    try:
        return McpServer.model_validate({**filled, "name": name})
    except ValidationError as error:
        first = problems_of(error)[0]
        path = "".join(f"{part}: " for part in first.path)
        raise _bad_setting(f"server {name!r}: {path}{first.message}") from error


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
        raise _bad_setting(f"server {server!r}: {key} needs {missing[0]}, which is not in the environment")
    text = _VARIABLE.sub(lambda match: environment[match[1]], value)
    hide(*(environment[name] for name in names if _SECRET.search(name) or "://" in environment[name]))
    if _SECRET.search(key) or "://" in text:
        hide(text)
    return text


def _bad_setting(message: str) -> MaasError:
    return MaasError("bad_setting", f"{SETTING}: {message}")
