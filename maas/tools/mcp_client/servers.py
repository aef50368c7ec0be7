"""MCP servers whose tools assistants may call.

MAAS_MCP_SERVERS names them: a JSON file, or the JSON itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from json import JSONDecodeError
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from maas.tools.tool import MAX_TIMEOUT_S, Effect
from maas.tools.wording import Wording
from shared.errors import MaasError, problems_of
from shared.json import parse_json
from shared.log import hide

SETTING = "MAAS_MCP_SERVERS"
_SERVER_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*([_-][A-Za-z0-9]+)*")
_MAX_SERVER_NAME_CHARS = 32
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_USER_VARIABLE = re.compile(r"\$\{user\.([A-Za-z_][A-Za-z0-9_]{0,49})\}")
_SECRET = re.compile(r"(?i)auth|cookie|credential|key|passw|secret|token")


class OAuth(BaseModel):
    """How to sign in at a server: as a program with credentials of its own, or for the person who has agreed to it.

    `issuer` is the authorization server: credentials go to no other, and it may have an internal address.
    `private_key` is a PEM that signs assertions by `algorithm`. A person's client without `client_id` registers itself,
    or is `client_metadata_url` where the authorization server reads such documents. `list_user` is the user whose
    access lists the tools.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    grant: Literal["client_credentials", "authorization_code"] = "client_credentials"
    issuer: Annotated[str, Field(pattern=r"^https?://[^\s/]")] | None = Field(default=None, repr=False)
    client_id: str | None = None
    client_secret: str | None = Field(default=None, repr=False)
    private_key: str | None = Field(default=None, repr=False)
    algorithm: Literal["RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA"] = "RS256"
    client_auth: Literal["basic", "post"] = "basic"
    scope: str | None = None
    client_metadata_url: Annotated[str, Field(pattern=r"^https://[^\s/]+/\S+")] | None = None
    list_user: UUID | None = None

    @model_validator(mode="after")
    def _check_grant(self) -> Self:
        if self.grant == "client_credentials":
            if self.client_id is None or self.issuer is None:
                raise ValueError("client_credentials need client_id and issuer")
            if (self.client_secret is None) == (self.private_key is None):
                raise ValueError("client_credentials need a client_secret or a private_key, one of both")
            if self.list_user is not None:
                raise ValueError("list_user is for authorization_code")
        elif self.private_key is not None:
            raise ValueError("private_key is for client_credentials")
        if self.client_secret is not None and (self.client_id is None or self.issuer is None):
            raise ValueError("a client_secret needs client_id and issuer")
        return self

    @property
    def auth_method(self) -> Literal["client_secret_basic", "client_secret_post"]:
        """How the client sends its secret."""
        return "client_secret_basic" if self.client_auth == "basic" else "client_secret_post"


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
    oauth: OAuth | None = None
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
        if self.oauth is not None and self.url is None:
            raise ValueError("oauth is for a url")
        if self.oauth is not None and any(name.lower() == "authorization" for name in self.headers):
            raise ValueError("oauth sends the header Authorization: leave it out of headers")
        if self.list_headers and not self.user_variables:
            raise ValueError("list_headers is for a server whose headers hold ${user.NAME}, or at which users sign in")
        return self

    @property
    def user_variables(self) -> frozenset[str]:
        """The names of the secrets that a call needs of its user."""
        names = frozenset(name for value in self.headers.values() for name in _USER_VARIABLE.findall(value))
        return names if self.grant_secret is None else names | {self.grant_secret}

    @property
    def grant_secret(self) -> str | None:
        """The name of the secret that holds what a user has agreed to; None if users do not sign in."""
        if self.oauth is None or self.oauth.grant != "authorization_code":
            return None
        return f"mcp_{self.name.replace('-', '_')}"

    @property
    def shared_headers(self) -> dict[str, str]:
        """The headers of connections that belong to no user."""
        static = {name: value for name, value in self.headers.items() if not _USER_VARIABLE.search(value)}
        return static | self.list_headers

    @property
    def trusted_urls(self) -> tuple[str, ...]:
        """The addresses that an operator has named: their hosts may be internal."""
        issuer = None if self.oauth is None else self.oauth.issuer
        return tuple(filter(None, (self.url, issuer)))

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


def bad_setting(message: str) -> MaasError:
    return MaasError("bad_setting", f"{SETTING}: {message}")
