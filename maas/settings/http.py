"""Settings of the HTTP server: its address and its limits."""

from __future__ import annotations

import re

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings

from maas.settings.sources import SOURCES, Names


class HttpSettings(BaseSettings):
    """The address of the HTTP server, and the limits of its requests."""

    model_config = SOURCES

    host: str = Field("127.0.0.1", description="address on which the HTTP server listens")
    port: int = Field(8000, ge=1, le=65535, description="port on which the HTTP server listens")
    share_port: bool = Field(
        False, description="on: several server processes listen on one port (SO_REUSEPORT); Linux balances connections"
    )
    user_rate: int = Field(
        600, ge=0, description="rate limit: requests per user and minute, in each server process; 0: none"
    )
    cors_origins: Names = Field(
        (), description="origins that browsers may call from, such as https://app.example, separated by commas"
    )
    head_timeout: float = Field(10.0, gt=0, description="timeout of the headers of a request")
    body_timeout: float = Field(300.0, gt=0, description="timeout of a whole request body; then 408")
    body_pause: float = Field(30.0, gt=0, description="idle timeout within a request body; then 408")
    write_timeout: float = Field(
        30.0, gt=0, description="write timeout: a client that does not read its response is disconnected"
    )
    openai_wait: float = Field(
        300.0, gt=0, le=3600, description="timeout of routes that wait for an answer without streaming; then 504"
    )
    connections: int = Field(4000, ge=1, le=100_000, description="connection limit of one HTTP process; above it 503")
    followers: int = Field(
        2000, ge=1, le=100_000, description="limit of event streams (SSE) in one HTTP process; above it 503"
    )

    @field_validator("cors_origins")
    @classmethod
    def _check_origins(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if wrong := [one for one in value if one != "*" and not re.fullmatch(r"[a-z][a-z0-9+.-]*://[^/\s*]+", one)]:
            raise ValueError(f"{wrong[0]!r} is not an origin; it looks like https://app.example, without a path")
        return value
