"""Servers of the Model Context Protocol, as MAAS_MCP_SERVERS names them: a JSON file, or the JSON itself."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from maas.agents.policy import Effect
from maas.agents.tools import LONGEST
from shared.errors import MaasError, problems_of
from shared.log import hide

SETTING = "MAAS_MCP_SERVERS"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*([_-][A-Za-z0-9]+)*")
_NAME_CHARS = 32
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_SECRET = re.compile(r"(?i)auth|cookie|credential|key|passw|secret|token")


class Server(BaseModel):
    """One server: a program to start, or an address. Its own words about its tools count if it is `trusted`.

    `user` is whose rights the program has, if root starts it; `effects` and `names` go by what the server calls its
    tools; `timeout` of a call in seconds.
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
    timeout: float | None = Field(default=None, gt=0, le=LONGEST)

    @model_validator(mode="after")
    def _reachable_one_way(self) -> Self:
        if (self.command is None) == (self.url is None):
            raise ValueError("name a command or a url, one of both")
        if self.type is not None and (self.type == "stdio") != (self.url is None):
            raise ValueError("type stdio has a command, type http a url")
        if self.user is not None and self.command is None:
            raise ValueError("user is for a command")
        return self


def read_servers(setting: str | None, environment: Mapping[str, str]) -> tuple[Server, ...]:
    """The servers in use; `${NAME}` stands for a variable of the environment, and secrets are masked from now on.

    Raises MaasError('bad_setting'), naming server and field or variable.
    """
    if setting is None:
        return ()
    found = _parsed(setting).get("mcpServers")
    if not isinstance(found, dict) or not all(isinstance(one, dict) for one in found.values()):
        raise _wrong('must be {"mcpServers": {"NAME": {"command": ...}}}')
    return tuple(_server(name, fields, environment) for name, fields in found.items() if not fields.get("disabled"))


def _parsed(setting: str) -> dict[str, Any]:
    text = setting
    if not setting.lstrip().startswith("{"):
        try:
            text = Path(setting).expanduser().read_text()
        except (OSError, ValueError) as error:
            raise _wrong(f"cannot read {setting}: {getattr(error, 'strerror', None) or 'it is no text'}") from error
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        place = f"line {error.lineno}, column {error.colno}" if isinstance(error, json.JSONDecodeError) else "its depth"
        raise _wrong(f"is not JSON: see {place}") from error
    return value if isinstance(value, dict) else {}


def _server(name: str, fields: Mapping[str, Any], environment: Mapping[str, str]) -> Server:
    if len(name) > _NAME_CHARS or not _NAME.fullmatch(name):
        raise _wrong(
            f"server {name!r}: a name is 1 to {_NAME_CHARS} Latin letters, digits, single _ and -, letter first"
        )
    filled = {key: _filled(value, key, name, environment) for key, value in fields.items() if key != "disabled"}
    try:
        return Server.model_validate({**filled, "name": name})
    except ValidationError as error:
        first = problems_of(error)[0]
        place = "".join(f"{part}: " for part in first.path)
        raise _wrong(f"server {name!r}: {place}{first.words}") from error


def _filled(value: Any, key: str, server: str, environment: Mapping[str, str]) -> Any:
    """With variables put in; what is called a secret, and what is secret in addresses, is hidden."""
    if isinstance(value, dict):
        return {name: _filled(one, name, server, environment) for name, one in value.items()}
    if isinstance(value, list):
        return [_filled(one, key, server, environment) for one in value]
    if not isinstance(value, str):
        return value
    names = _VARIABLE.findall(value)
    if missing := [name for name in names if name not in environment]:
        raise _wrong(f"server {server!r}: {key} needs {missing[0]}, which is not in the environment")
    text = _VARIABLE.sub(lambda match: environment[match[1]], value)
    hide(*(environment[name] for name in names if _SECRET.search(name) or "://" in environment[name]))
    if _SECRET.search(key) or "://" in text:
        hide(text)
    return text


def _wrong(message: str) -> MaasError:
    return MaasError("bad_setting", f"{SETTING}: {message}")
