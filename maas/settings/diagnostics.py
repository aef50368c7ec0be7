"""Settings of logs, traces, and the debug information of runs."""

from __future__ import annotations

from typing import Literal

from pydantic import AliasChoices, Field, field_validator
from pydantic_settings import BaseSettings

from maas.settings.sources import SOURCES
from shared.tracing import Conventions, Export


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
        description="OTLP/HTTP endpoint to which spans and metrics are exported; unset: none are",
    )
    genai_conventions: Conventions = Field(
        "0.1.0",
        description="version of the OpenTelemetry GenAI conventions that name spans and metrics; 1.41.0: the names of "
        "semantic-conventions before they moved",
    )
    trace_texts: bool = Field(
        False,
        description="on: spans hold prompts, answers, queries, and the arguments and results of tools, too",
    )
    trace_url: str | None = Field(
        None,
        max_length=1000,
        pattern=r"^https?://[!-~]+$",
        description="address of the page of a trace in the collector's own interface, with {trace_id} in it; the trace "
        "of a run leads there",
    )
    environment: Literal["development", "production"] = Field(
        "development", description="production: debug information of runs only for callers who may see it"
    )
    layer_logging: bool = Field(
        True,
        validation_alias=AliasChoices("MAAS_LAYER_LOGGING", "ENABLE_LAYER_LOGGING"),
        description="off: no debug information of runs is stored or returned; ENABLE_LAYER_LOGGING is the same",
    )

    @field_validator("trace_url")
    @classmethod
    def _check_trace_url(cls, value: str | None) -> str | None:
        if value is not None and "{trace_id}" not in value:
            raise ValueError("there is no {trace_id} in it")
        return value

    def export(self, service: str) -> Export | None:
        """What a process of this name exports to OpenTelemetry; None without an endpoint."""
        if self.otlp_endpoint is None:
            return None
        return Export(self.otlp_endpoint, service, self.genai_conventions, self.trace_texts)
