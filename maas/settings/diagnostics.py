"""Settings of logs, traces, and the debug information of runs."""

from __future__ import annotations

from typing import Literal

from pydantic import AliasChoices, Field
from pydantic_settings import BaseSettings

from maas.settings.sources import SOURCES


class DiagnosticsSettings(BaseSettings):
    """What is logged and traced, and what is stored of a run for whoever debugs it."""

    model_config = SOURCES

    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="lowest level that is logged")
    log_format: Literal["auto", "console", "json"] = Field(
        "auto", description="log format; auto: console on a terminal, else json"
    )
    otlp_endpoint: str | None = Field(
        None,
        validation_alias=AliasChoices("OTEL_EXPORTER_OTLP_ENDPOINT"),
        description="OTLP/HTTP endpoint to which spans are exported; unset: no tracing",
    )
    environment: Literal["development", "production"] = Field(
        "development", description="production: debug information of runs only for callers who may see it"
    )
    layer_logging: bool = Field(
        True,
        validation_alias=AliasChoices("MAAS_LAYER_LOGGING", "ENABLE_LAYER_LOGGING"),
        description="off: no debug information of runs is stored or returned; ENABLE_LAYER_LOGGING is the same",
    )
