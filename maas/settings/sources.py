"""Where settings come from: variables of the environment with our prefix, and `.env`."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import BeforeValidator
from pydantic_settings import NoDecode, SettingsConfigDict

PREFIX = "MAAS_"
SOURCES = SettingsConfigDict(
    env_prefix=PREFIX, env_file=".env", extra="ignore", populate_by_name=True, env_ignore_empty=True
)


def _split(value: object) -> object:
    return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value


SPLIT = BeforeValidator(_split)
Names: TypeAlias = Annotated[tuple[str, ...], NoDecode, SPLIT]  # separated by commas
