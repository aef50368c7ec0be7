"""Every setting in one place, read from the environment and `.env`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import (
    AliasChoices,
    Field,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from shared.errors import MaasError, problems_of
from shared.log import hide

_PREFIX = {
    "Analyzer": "analyzer",
    "Assembler": "assembler",
    "FinalResponder": "responder",
    "Archivist": "archivist",
    "Compactor": "archivist",
}
ROLES = tuple(_PREFIX)
NOT_FOR_SERVER = ("openai_api_key", "gemini_api_key", "anthropic_api_key", "mcp_servers")
JWT_SECRET_BYTES = 32
ATTACHMENT_BYTES = 10 * 1024 * 1024


def _plain(name: str) -> AliasChoices:
    """A name known to everybody, without our prefix."""
    return AliasChoices(name)


class Settings(BaseSettings):
    """All settings. Times in seconds unless the name says otherwise."""

    model_config = SettingsConfigDict(
        env_prefix="MAAS_", env_file=".env", extra="ignore", populate_by_name=True, env_ignore_empty=True
    )

    database_url: SecretStr | None = Field(None, validation_alias=_plain("DATABASE_URL"), description="Postgres >= 15")
    listen_database_url: SecretStr | None = Field(
        None, validation_alias=_plain("LISTEN_DATABASE_URL"), description="direct connection for LISTEN"
    )
    openai_api_key: SecretStr | None = Field(None, validation_alias=_plain("OPENAI_API_KEY"))
    openai_base_url: str | None = Field(None, validation_alias=_plain("OPENAI_BASE_URL"))
    gemini_api_key: SecretStr | None = Field(None, validation_alias=_plain("GEMINI_API_KEY"))
    gemini_base_url: str | None = Field(None, validation_alias=_plain("GEMINI_BASE_URL"))
    anthropic_api_key: SecretStr | None = Field(None, validation_alias=_plain("ANTHROPIC_API_KEY"))
    anthropic_base_url: str | None = Field(None, validation_alias=_plain("ANTHROPIC_BASE_URL"))

    host: str = Field("127.0.0.1", description="address of the HTTP server")
    port: int = Field(8000, ge=1, le=65535, description="port of the HTTP server")
    share_port: bool = Field(
        False, description="on: several server processes listen on one port; Linux spreads clients"
    )
    auth: Literal["none", "keys", "jwt"] = Field(
        "none", description="who may call: everybody on this machine (`none`), keys of `maas keys`, tokens and keys"
    )
    jwt_secret: SecretStr | None = Field(None, description="secret of tokens that are signed by HS256")
    jwks_url: str | None = Field(None, description="address of the public keys of tokens that are signed otherwise")
    jwt_audience: str | None = Field(None, description="`aud` that a token must have; any if unset")
    jwt_issuer: str | None = Field(None, description="`iss` that a token must have; any if unset")
    jwt_leeway: float = Field(10.0, ge=0, le=300, description="how far clocks may differ")
    user_rate: int | None = Field(None, ge=1, description="requests of a user a minute, in each server process")
    cors_origins: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="web pages that may call from a browser: https://app.example, separated by commas; none without"
    )
    head_timeout: float = Field(10.0, gt=0, description="what the headers of a request may take")
    body_timeout: float = Field(300.0, gt=0, description="what a body may take in all; then 408")
    body_pause: float = Field(30.0, gt=0, description="silence within a body; then 408")
    write_timeout: float = Field(30.0, gt=0, description="a client that reads nothing of its reply loses it after this")
    connections: int = Field(4000, ge=1, le=100_000, description="of one HTTP process; past it 503")
    followers: int = Field(2000, ge=1, le=100_000, description="of runs (SSE) in one HTTP process; past it 503")
    data_dir: Path | None = Field(None, description="folder of the embedded Postgres; .maas when unset")
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["auto", "console", "json"] = Field("auto", description="auto: console on a terminal, else json")

    environment: Literal["development", "production"] = Field(
        "development", description="production: debug layers for technical admins only"
    )
    layer_logging: bool = Field(True, description="off: no debug layers at all")

    model: str = Field("extractive:builtin", description="provider:model of every role that names none")
    analyzer_model: str | None = None
    assembler_model: str | None = None
    responder_model: str | None = None
    archivist_model: str | None = None
    fallback_model: str | None = Field(
        None, description="provider:model that is asked when a role's own fails; none without"
    )
    analyzer_fallback: str | None = None
    assembler_fallback: str | None = None
    responder_fallback: str | None = None
    archivist_fallback: str | None = None
    stream: bool = Field(True, description="on: an answer is told to those who follow its run while it comes")
    fast_path: bool = Field(False, description="on: leave out a model call that can change nothing")
    user_daily_tokens: int | None = Field(
        None, ge=1, description="tokens of a user's runs in a day; past it they are FAILED"
    )
    run_max_tokens: int | None = Field(None, ge=1, description="tokens of one run; past it it is FAILED")

    embedding_model: str | None = Field(
        None, description="provider:model of vectors, or provider:model@dimensions; without it search is by words"
    )
    embedding_timeout: float = Field(1.0, gt=0, description="what vectors may add to the time of a search")

    image_model: str | None = Field(None, description="provider:model that draws; without it nothing is drawn")
    image_fallback: str | None = Field(None, description="provider:model that is asked to draw when that fails")
    image_timeout: float = Field(120.0, gt=0, description="one drawing, all attempts")
    attachment_bytes: int = Field(
        ATTACHMENT_BYTES, ge=1024, le=20 * 1024 * 1024, description="upper limit of an uploaded image"
    )

    otlp_endpoint: str | None = Field(
        None, validation_alias=_plain("OTEL_EXPORTER_OTLP_ENDPOINT"), description="who is told of spans; nobody without"
    )

    timezone: str = Field(
        "UTC",
        description="zone of days: in buckets, drafts, records and dates of questions; the same for all processes",
    )
    blocking_scope: Literal["user", "global"] = Field("user", description="whose next request waits for the archive")
    retention_days: int | None = Field(
        None, ge=1, le=36_500, description="words and finished runs are removed after so many days; kept without it"
    )
    user_queue_limit: int = Field(
        100, ge=1, le=100_000, description="unfinished requests of one user before HTTP answers 429"
    )
    openai_wait: float = Field(
        300.0, gt=0, le=3600, description="what an answer may take on /v1/chat/completions without a stream; then 504"
    )
    concurrency: int = Field(64, ge=1, le=10_000, description="runs in flight in one orchestrator")
    max_in_flight: int | None = Field(None, ge=1, description="runs in flight in all orchestrators together")
    statement_timeout: float = Field(
        30.0, ge=0.1, le=55, description="one statement of a server or an orchestrator in Postgres; then 503"
    )
    pool_size: int = Field(8, ge=2, le=200, description="database connections of one process")
    stages: Annotated[tuple[str, ...], NoDecode] = Field((), description="stages of this process; empty means all")
    tools: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="tools of your own: module:attribute of toolsets, separated by commas"
    )
    mcp_servers: str | None = Field(None, description="servers of tools (MCP): a JSON file, or the JSON itself")

    history_rows: int = Field(10, ge=0, le=100, description="recent log rows in a draft")
    payload_tokens: int = Field(8000, ge=500, le=8000, description="upper limit of final_context_payload")
    temperature: float = Field(0.7, ge=0, le=2)
    max_tokens: int = Field(2000, ge=1, description="upper limit of an answer, in tokens")

    analyzer_timeout: float = Field(3.0, gt=0, description="budget of the stage's model, all attempts")
    assembler_timeout: float = Field(3.0, gt=0, description="budget of the stage's model, all attempts")
    archivist_timeout: float = Field(20.0, gt=0, description="budget of the stage's model, all attempts")
    responder_timeout: float = Field(150.0, gt=0, description="budget of the stage's model, all attempts")
    attempt_timeout: float = Field(30.0, gt=0, description="one attempt of a model, however much of it has come")
    analyzer_attempt_timeout: float | None = Field(None, gt=0, description="the same for this role alone")
    assembler_attempt_timeout: float | None = Field(None, gt=0, description="the same for this role alone")
    responder_attempt_timeout: float | None = Field(None, gt=0, description="the same for this role alone")
    archivist_attempt_timeout: float | None = Field(None, gt=0, description="the same for this role alone")
    retry_delay: float = Field(1.0, ge=0, description="first pause before a repeated model call; doubles each time")

    lease: float = Field(60.0, gt=0, description="a silent orchestrator loses its runs after this")
    heartbeat: float = Field(15.0, gt=0)
    sweep: float = Field(1.0, gt=0, description="pause between looks at the table without a bell")
    compact_every: float = Field(60.0, ge=0, description="pause between looks for old records to merge; 0: never")
    max_deaths: int = Field(3, ge=1, description="a run that was in flight in so many dying processes is FAILED")

    @field_validator("stages", "tools", "cors_origins", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value

    @field_validator("cors_origins")
    @classmethod
    def _origins(cls, value: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        if "*" in value and info.data.get("auth") == "none":
            raise ValueError("with MAAS_AUTH=none every page in a browser here could read all memory; name the origins")
        if wrong := [one for one in value if one != "*" and not re.fullmatch(r"[a-z][a-z0-9+.-]*://[^/\s*]+", one)]:
            raise ValueError(f"{wrong[0]!r} is no origin; it looks like https://app.example, without a path")
        return value

    @field_validator("timezone")
    @classmethod
    def _zone(cls, value: str) -> str:
        try:
            ZoneInfo(value)
        except (ZoneInfoNotFoundError, ValueError) as error:
            raise ValueError(f"unknown time zone {value!r}; use a name like Europe/Moscow") from error
        return value

    @model_validator(mode="after")
    def _signers(self) -> Settings:
        if self.auth != "jwt":
            return self
        if (self.jwt_secret is None) == (self.jwks_url is None):
            raise ValueError("MAAS_AUTH=jwt needs MAAS_JWT_SECRET or MAAS_JWKS_URL, one of both")
        if self.jwt_secret is not None and len(self.jwt_secret.get_secret_value().encode()) < JWT_SECRET_BYTES:
            raise ValueError(f"MAAS_JWT_SECRET must have at least {JWT_SECRET_BYTES} bytes, as HS256 demands")
        if self.jwks_url is not None and not self.jwks_url.startswith(("https://", "http://")):
            raise ValueError("MAAS_JWKS_URL must begin with https:// or http://")
        return self

    @property
    def zone(self) -> ZoneInfo:
        """`timezone` as Python knows it."""
        return ZoneInfo(self.timezone)

    def role_model(self, role: str) -> str:
        """The `provider:model` that answers for one of ROLES."""
        return getattr(self, f"{_PREFIX[role]}_model") or self.model

    def role_fallback(self, role: str) -> str | None:
        """The `provider:model` that is asked when a role's own fails."""
        return getattr(self, f"{_PREFIX[role]}_fallback") or self.fallback_model

    def role_attempt_timeout(self, role: str) -> float:
        """The seconds that one attempt of a role's model may take."""
        own: float | None = getattr(self, f"{_PREFIX[role]}_attempt_timeout")
        return own or self.attempt_timeout


def attempt_setting(role: str) -> str:
    """The name of the setting that bounds one attempt of a role's model."""
    return f"MAAS_{_PREFIX[role].upper()}_ATTEMPT_TIMEOUT" if role in _PREFIX else "MAAS_ATTEMPT_TIMEOUT"


def variable_of(name: str) -> str:
    """The environment variable of a setting."""
    alias = Settings.model_fields[name].validation_alias
    return str(alias.choices[0]) if isinstance(alias, AliasChoices) else f"MAAS_{name.upper()}"


def unneeded_by_server(settings: Settings) -> tuple[str, ...]:
    """Names of secrets that the HTTP process has no use for; it needs the key of an embedding model at most."""
    provider = (settings.embedding_model or "").partition(":")[0].strip()
    return tuple(name for name in NOT_FOR_SERVER if name != f"{provider}_api_key")


def load_settings(**overrides: object) -> Settings:
    """Read the settings; what is secret in them is masked from now on. Raises MaasError('bad_setting')."""
    try:
        settings = Settings(**overrides)  # type: ignore[arg-type]
    except ValidationError as error:
        first = problems_of(error)[0]
        if not first.path:  # several settings do not fit each other, and the message names them
            raise MaasError("bad_setting", first.words) from error
        field = str(first.path[0])
        name = field if field.isupper() else f"MAAS_{field.upper()}"
        raise MaasError("bad_setting", f"{name}: {first.words}") from error
    for value in dict(settings).values():
        if isinstance(value, SecretStr):
            hide(value.get_secret_value())
        elif isinstance(value, str) and "://" in value:
            hide(value)
    return settings
