"""Settings of pass-through models: models of providers that clients call by name, with memory in between."""

from __future__ import annotations

import re

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings

from maas.settings.sources import SOURCES, Names
from shared.local_servers import SERVERS

PASSTHROUGH_PROVIDERS = ("openai", "anthropic", *SERVERS)  # those whose servers speak OpenAI's protocol, too
_ENTRY = re.compile(rf"(?:(?P<alias>[^=\s]+)=)?(?P<provider>{'|'.join(PASSTHROUGH_PROVIDERS)}):(?P<model>[^=\s]+)")


class PassthroughSettings(BaseSettings):
    """Which models clients may call, and how much memory each request is given."""

    model_config = SOURCES

    passthrough: Names = Field(
        ("*",),
        description="models that clients may call by name, such as openai:gpt-4o, openai:* or, under a name of your "
        "own, gpt-4o=openai:gpt-4o-2024-11-20; *=openai:* takes every name; *: all of the providers that are "
        "configured, each as provider:model; off: none",
    )
    memory_tokens: int = Field(
        2000, ge=0, le=32_000, description="token limit of the memory in a request to a pass-through model; 0: none"
    )

    @field_validator("passthrough")
    @classmethod
    def _check_entries(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if value == ("off",):
            return ()
        if wrong := [one for one in value if one != "*" and not _ENTRY.fullmatch(one)]:
            providers = ", ".join(PASSTHROUGH_PROVIDERS)
            raise ValueError(f"{wrong[0]!r} is not provider:model or name=provider:model; providers are {providers}")
        return value
