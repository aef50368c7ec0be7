"""All settings of ours, read from the environment and `.env`."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from dotenv import dotenv_values
from pydantic import (
    AliasChoices,
    Field,
    PrivateAttr,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from pydantic_settings import BaseSettings, NoDecode

from shared.access_settings import AccessSettings
from shared.assistant_settings import AssistantSettings
from shared.errors import MaasError, problems_of
from shared.local_settings import LocalSettings
from shared.log import hide
from shared.model_settings import ROLE_PREFIX, ModelSettings
from shared.model_settings import ROLES as ROLES
from shared.model_settings import attempt_setting as attempt_setting
from shared.page_settings import PageSettings
from shared.plugin_settings import PREFIX, SOURCES, PluginSettings
from shared.plugins import chosen, load_parts
from shared.quota_settings import QuotaSettings

DEFAULT_ATTACHMENT_BYTES = 10 * 1024 * 1024
DEFAULT_EMBEDDING_MODEL = "local:e5-small"
NO_EMBEDDING_MODEL = "none"
AnySettings = TypeVar("AnySettings", bound=BaseSettings)
OfPlugin = TypeVar("OfPlugin", bound=PluginSettings)


def _alias(name: str, *others: str) -> AliasChoices:
    """Return the alias of a setting whose variable has a well-known name without our prefix; `others` work, too."""
    return AliasChoices(name, *others)


def _default_embedding_model() -> str:
    """Return the default of `embedding_model`: `none` if the variable is set to an empty text."""
    name, path = f"{PREFIX}EMBEDDING_MODEL", Settings.model_config.get("env_file")
    source = os.environ if name in os.environ else dotenv_values(str(path)) if path else {}
    return NO_EMBEDDING_MODEL if source.get(name) == "" else DEFAULT_EMBEDDING_MODEL


class Settings(
    ModelSettings, AssistantSettings, AccessSettings, PageSettings,
    QuotaSettings, LocalSettings,
):  # fmt: skip
    """All settings; times are in seconds unless the name says otherwise."""

    model_config = SOURCES
    _of_plugins: dict[type[PluginSettings], PluginSettings] = PrivateAttr(default_factory=dict)

    database_url: SecretStr | None = Field(
        None, validation_alias=_alias("DATABASE_URL"), description="Postgres 15 or later; unset: the embedded one"
    )
    listen_database_url: SecretStr | None = Field(
        None,
        validation_alias=_alias("LISTEN_DATABASE_URL"),
        description="direct connection for LISTEN, if DATABASE_URL is a pooler; unset: DATABASE_URL",
    )
    openai_api_key: SecretStr | None = Field(
        None, validation_alias=_alias("OPENAI_API_KEY"), description="key of the provider openai"
    )
    openai_base_url: str | None = Field(
        None, validation_alias=_alias("OPENAI_BASE_URL"), description="URL of an OpenAI-compatible server"
    )
    gemini_api_key: SecretStr | None = Field(
        None, validation_alias=_alias("GEMINI_API_KEY"), description="key of the provider gemini"
    )
    gemini_base_url: str | None = Field(
        None, validation_alias=_alias("GEMINI_BASE_URL"), description="URL of a Gemini-compatible server"
    )
    anthropic_api_key: SecretStr | None = Field(
        None, validation_alias=_alias("ANTHROPIC_API_KEY"), description="key of the provider anthropic"
    )
    anthropic_base_url: str | None = Field(
        None, validation_alias=_alias("ANTHROPIC_BASE_URL"), description="URL of an Anthropic-compatible server"
    )

    host: str = Field("127.0.0.1", description="address on which the HTTP server listens")
    port: int = Field(8000, ge=1, le=65535, description="port on which the HTTP server listens")
    share_port: bool = Field(
        False, description="on: several server processes listen on one port (SO_REUSEPORT); Linux balances connections"
    )
    user_rate: int = Field(
        600, ge=0, description="rate limit: requests per user and minute, in each server process; 0: none"
    )
    cors_origins: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="origins that browsers may call from, such as https://app.example, separated by commas"
    )
    head_timeout: float = Field(10.0, gt=0, description="timeout of the headers of a request")
    body_timeout: float = Field(300.0, gt=0, description="timeout of a whole request body; then 408")
    body_pause: float = Field(30.0, gt=0, description="idle timeout within a request body; then 408")
    write_timeout: float = Field(
        30.0, gt=0, description="write timeout: a client that does not read its response is disconnected"
    )
    connections: int = Field(4000, ge=1, le=100_000, description="connection limit of one HTTP process; above it 503")
    followers: int = Field(
        2000, ge=1, le=100_000, description="limit of event streams (SSE) in one HTTP process; above it 503"
    )
    data_dir: Path | None = Field(None, description="folder of the embedded Postgres; unset: .maas")
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="lowest level that is logged")
    log_format: Literal["auto", "console", "json"] = Field(
        "auto", description="log format; auto: console on a terminal, else json"
    )

    environment: Literal["development", "production"] = Field(
        "development", description="production: debug information of runs only for callers who may see it"
    )
    layer_logging: bool = Field(
        True,
        validation_alias=_alias("MAAS_LAYER_LOGGING", "ENABLE_LAYER_LOGGING"),
        description="off: no debug information of runs is stored or returned; ENABLE_LAYER_LOGGING is the same",
    )

    model: str = Field("extractive:builtin", description="default model, as provider:model")
    analyzer_model: str | None = Field(None, description="model of the Analyzer; unset: MAAS_MODEL")
    assembler_model: str | None = Field(None, description="model of the Assembler; unset: MAAS_MODEL")
    responder_model: str | None = Field(None, description="model of the Final Responder; unset: MAAS_MODEL")
    archivist_model: str | None = Field(None, description="model of Archivist and Compactor; unset: MAAS_MODEL")
    fallback_model: str | None = Field(
        None, description="model, as provider:model, that is called if a role's own one fails; unset: none"
    )
    analyzer_fallback: str | None = Field(None, description="fallback of the Analyzer; unset: MAAS_FALLBACK_MODEL")
    assembler_fallback: str | None = Field(None, description="fallback of the Assembler; unset: MAAS_FALLBACK_MODEL")
    responder_fallback: str | None = Field(
        None, description="fallback of the Final Responder; unset: MAAS_FALLBACK_MODEL"
    )
    archivist_fallback: str | None = Field(
        None, description="fallback of Archivist and Compactor; unset: MAAS_FALLBACK_MODEL"
    )
    prompt_language: Literal["ru", "en"] = Field(
        "ru", description="language of the built-in prompts, unless an assistant's definition names one; ru or en"
    )
    stream: bool = Field(True, description="on: event streams carry the text of an answer while the model writes it")
    marks: bool = Field(False, description="on: answers cite memory by [numbers], unless a request says marks: false")
    fast_path: bool = Field(False, description="on: skip model calls that cannot change the result")
    user_daily_tokens: int | None = Field(
        None, ge=1, description="token budget of one user and day; once it is spent, rules answer; unset: none"
    )
    user_daily_dollars: float | None = Field(
        None, gt=0, description="budget of one user and day in dollars, by model_prices; then as above; unset: none"
    )
    run_max_tokens: int | None = Field(
        None, ge=1, description="token budget of one run; above it the run is FAILED; unset: none"
    )

    embedding_model: str = Field(
        default_factory=_default_embedding_model,
        description="embedding model, as provider:model or provider:model@dimensions; none: lexical search only",
    )
    embedding_timeout: float = Field(1.0, gt=0, description="timeout of the embedding of a search query")

    image_model: str | None = Field(None, description="image model, as provider:model; unset: no images are generated")
    image_fallback: str | None = Field(
        None, description="image model, as provider:model, that is called if that fails; unset: none"
    )
    image_timeout: float = Field(120.0, gt=0, description="time budget of one generated image, all attempts together")
    attachment_bytes: int = Field(
        DEFAULT_ATTACHMENT_BYTES, ge=1024, le=20 * 1024 * 1024, description="size limit of an uploaded image, in bytes"
    )

    knowledge_bytes: int = Field(
        50 * 1024 * 1024, ge=1024, le=200 * 1024 * 1024, description="size limit of a document of knowledge, in bytes"
    )

    otlp_endpoint: str | None = Field(
        None,
        validation_alias=_alias("OTEL_EXPORTER_OTLP_ENDPOINT"),
        description="OTLP/HTTP endpoint to which spans are exported; unset: no tracing",
    )

    timezone: str = Field(
        "UTC", description="IANA time zone in which days begin and dates are read; the same for all processes"
    )
    blocking_scope: Literal["user", "global"] = Field(
        "user", description="whose next run waits until an answer is archived: that user's, or everybody's"
    )
    retention_days: int | None = Field(
        None,
        ge=1,
        le=36_500,
        description="data retention: days after which messages and finished runs are deleted; unset: never",
    )
    openai_wait: float = Field(
        300.0, gt=0, le=3600, description="timeout of routes that wait for an answer without streaming; then 504"
    )
    concurrency: int = Field(96, ge=1, le=10_000, description="limit of runs in flight in one orchestrator")
    assistant_concurrency: int | None = Field(
        None, ge=1, description="limit of runs of one assistant among those; unset: two thirds of them"
    )
    user_concurrency: int = Field(8, ge=1, description="limit of runs of one user among those")
    max_in_flight: int | None = Field(
        None, ge=1, description="limit of runs in flight in all orchestrators together; unset: none"
    )
    statement_timeout: float = Field(
        30.0, ge=0.1, le=55, description="timeout of one SQL statement of a server or an orchestrator; then 503"
    )
    pool_size: int = Field(8, ge=2, le=200, description="database connections of one process")
    stages: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="stages that this orchestrator runs, separated by commas; empty: all"
    )
    plugins: Annotated[tuple[str, ...] | None, NoDecode] = Field(
        default_factory=chosen,
        description="plugins that are on, separated by commas; empty: none; unset: all that are installed",
    )
    tools: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="toolsets of your own, as module:attribute, separated by commas"
    )
    mcp_servers: str | None = Field(None, description="MCP servers whose tools are used: a JSON file, or JSON text")

    history_rows: int = Field(10, ge=0, le=100, description="recent messages in a draft")
    payload_tokens: int = Field(8000, ge=500, le=8000, description="token limit of final_context_payload")
    temperature: float = Field(0.7, ge=0, le=2, description="sampling temperature of the Final Responder")
    max_tokens: int = Field(2000, ge=1, description="token limit of an answer")

    analyzer_timeout: float = Field(3.0, gt=0, description="time budget of the Analyzer's model, all attempts together")
    assembler_timeout: float = Field(
        3.0, gt=0, description="time budget of the Assembler's model, all attempts together"
    )
    archivist_timeout: float = Field(
        20.0, gt=0, description="time budget of the Archivist's model, all attempts together"
    )
    responder_timeout: float = Field(
        150.0, gt=0, description="time budget of the Final Responder's model, all attempts together"
    )
    attempt_timeout: float = Field(
        30.0, gt=0, description="timeout of one attempt of a model, even if it is still streaming"
    )
    analyzer_attempt_timeout: float | None = Field(
        None, gt=0, description="attempt timeout of the Analyzer; unset: MAAS_ATTEMPT_TIMEOUT"
    )
    assembler_attempt_timeout: float | None = Field(
        None, gt=0, description="attempt timeout of the Assembler; unset: MAAS_ATTEMPT_TIMEOUT"
    )
    responder_attempt_timeout: float | None = Field(
        None, gt=0, description="attempt timeout of the Final Responder; unset: MAAS_ATTEMPT_TIMEOUT"
    )
    archivist_attempt_timeout: float | None = Field(
        None, gt=0, description="attempt timeout of Archivist and Compactor; unset: MAAS_ATTEMPT_TIMEOUT"
    )
    retry_delay: float = Field(
        1.0, ge=0, description="backoff before the first retry of a model call; doubles with each further one"
    )

    lease: float = Field(
        60.0, gt=0, description="lease of an orchestrator: without a heartbeat for so long it loses its runs"
    )
    heartbeat: float = Field(15.0, gt=0, description="interval at which an orchestrator renews its lease")
    poll_interval: float = Field(
        1.0, gt=0, description="interval at which an orchestrator polls for runs, besides notifications"
    )
    compact_every: float = Field(
        60.0, ge=0, description="interval at which old summaries are looked for and merged; 0: never"
    )
    max_deaths: int = Field(
        3, ge=1, description="crash limit of a run: in flight in so many crashed processes, it is FAILED"
    )

    @field_validator("stages", "plugins", "tools", "cors_origins", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value

    @field_validator("embedding_model")
    @classmethod
    def _named(cls, value: str) -> str:
        return value.strip() or NO_EMBEDDING_MODEL

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

    @property
    def zone(self) -> ZoneInfo:
        """`timezone` as a ZoneInfo."""
        return ZoneInfo(self.timezone)

    @property
    def engine_settings(self) -> dict[str, str]:
        """What functions in the database read, as orchestrators write it there."""
        most = "" if self.max_in_flight is None else str(self.max_in_flight)
        own = {"blocking_scope": self.blocking_scope, "timezone": self.timezone, "max_in_flight": most}
        return own | {name: str(getattr(self, name)) for name in QuotaSettings.model_fields}

    @property
    def assistant_share(self) -> int:
        """The most runs of one assistant in flight in one orchestrator."""
        return self.assistant_concurrency or math.ceil(self.concurrency * 2 / 3)

    @property
    def tools_via(self) -> Literal["mcp", "legacy"]:
        """The label `_meta.via` of tool results."""
        return "mcp" if self.use_mcp_runtime else "legacy"

    @property
    def has_default_embedding_model(self) -> bool:
        """Whether nobody chose the embedding model; search is by words where that cannot be used."""
        return "embedding_model" not in self.model_fields_set and self.embedding_model == DEFAULT_EMBEDDING_MODEL

    def of(self, kind: type[OfPlugin]) -> OfPlugin:
        """Return the settings of a plugin. Raises MaasError('bad_setting')."""
        if kind not in self._of_plugins:
            self._of_plugins[kind] = _read(kind, {})
        found = self._of_plugins[kind]
        assert isinstance(found, kind)
        return found

    def without(self, names: Collection[str]) -> Settings:
        """Return settings in which those of these names, of plugins too, are None."""
        copied = self.model_copy(update={name: None for name in names if name in Settings.model_fields})
        copied._of_plugins = {
            kind: one.model_copy(update={name: None for name in names if name in kind.model_fields})
            for kind, one in self._of_plugins.items()
        }
        return copied

    def named(self, name: str) -> Any:
        """Return the value of a setting, ours or of a plugin that is on."""
        kinds = (kind for kind in load_parts("settings") if name in kind.model_fields)
        return getattr(self, name) if name in Settings.model_fields else getattr(self.of(next(kinds)), name)

    def role_model(self, role: str) -> str:
        """Return the `provider:model` of one of ROLES."""
        return getattr(self, f"{ROLE_PREFIX[role]}_model") or self.model

    def role_fallback(self, role: str) -> str | None:
        """Return the `provider:model` that is called if a role's own one fails; None without."""
        return getattr(self, f"{ROLE_PREFIX[role]}_fallback") or self.fallback_model

    def role_attempt_timeout(self, role: str) -> float:
        """Return the timeout of one attempt of a role's model, in seconds."""
        own: float | None = getattr(self, f"{ROLE_PREFIX[role]}_attempt_timeout")
        return own or self.attempt_timeout


def load_settings(**overrides: object) -> Settings:
    """Read the settings, and register their secrets to be masked in logs. Raises MaasError: bad_setting, bad_plugin."""
    settings = _read(Settings, overrides)
    settings._of_plugins = {kind: _read(kind, overrides) for kind in load_parts("settings")}
    for part in (settings, *settings._of_plugins.values()):
        for value in dict(part).values():
            if isinstance(value, SecretStr):
                hide(value.get_secret_value())
            elif isinstance(value, str) and "://" in value:
                hide(value)
    return settings


def _read(kind: type[AnySettings], overrides: Mapping[str, object]) -> AnySettings:
    try:
        return kind(**overrides)  # type: ignore[arg-type]
    except ValidationError as error:
        first = problems_of(error)[0]
        if not first.path:  # settings that contradict each other; the message names them
            raise MaasError("bad_setting", first.message) from error
        field = str(first.path[0])
        name = field if field.isupper() else f"MAAS_{field.upper()}"
        raise MaasError("bad_setting", f"{name}: {first.message}") from error
