"""Settings of Postgres: where it is, and how it is used."""

from __future__ import annotations

from pathlib import Path

from pydantic import AliasChoices, Field, SecretStr
from pydantic_settings import BaseSettings

from maas.settings.sources import SOURCES


class DatabaseSettings(BaseSettings):
    """The database, embedded or not, and a process's connections to it."""

    model_config = SOURCES

    database_url: SecretStr | None = Field(
        None, validation_alias=AliasChoices("DATABASE_URL"), description="Postgres 15 or later; unset: the embedded one"
    )
    listen_database_url: SecretStr | None = Field(
        None,
        validation_alias=AliasChoices("LISTEN_DATABASE_URL"),
        description="direct connection for LISTEN, if DATABASE_URL is a pooler; unset: DATABASE_URL",
    )
    read_database_url: SecretStr | None = Field(
        None,
        description="a hot standby of DATABASE_URL, which answers a server's reads when it is up to date; "
        "unset: DATABASE_URL answers them",
    )
    data_dir: Path | None = Field(None, description="folder of the embedded Postgres; unset: .maas")
    statement_timeout: float = Field(
        30.0, ge=0.1, le=55, description="timeout of one SQL statement of a server or an orchestrator; then 503"
    )
    pool_size: int = Field(8, ge=2, le=200, description="database connections of one process")
