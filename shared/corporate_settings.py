"""Settings of the corporate assistant; their variables have names without our prefix, as those of vendors do."""

from __future__ import annotations

from typing import Literal

from pydantic import AliasChoices, Field, SecretStr
from pydantic_settings import BaseSettings


class CorporateSettings(BaseSettings):
    """A part of `Settings`."""

    corporate_model: str | None = Field(
        None,
        validation_alias=AliasChoices("CORPORATE_MODEL"),
        description="model of the assistant corporate; unset: openai:gpt-5.2 with a key, else the Responder's",
    )
    corporate_planner_model: str | None = Field(
        None,
        validation_alias=AliasChoices("CORPORATE_PLANNER_MODEL"),
        description="model of the planner and of complex tasks; unset: openai:gpt-4.1 with a key of openai, else the "
        "Responder's",
    )
    corporate_mcp_url: str | None = Field(
        None,
        pattern=r"^https?://[^\s/]",
        validation_alias=AliasChoices("CORPORATE_MCP_URL"),
        description="URL of the MCP server for mail and calendar; each user has a secret calendar_token for it",
    )
    corporate_mcp_token: SecretStr | None = Field(
        None,
        validation_alias=AliasChoices("CORPORATE_MCP_TOKEN"),
        description="token to list the tools of that server, if it shows them to nobody without one",
    )
    corporate_variant: Literal["agents", "legacy"] = Field(
        "agents",
        validation_alias=AliasChoices("MAAS_CORPORATE_VARIANT"),
        description="form of the assistant corporate: agents that hand over, or legacy, one voice for everybody",
    )
    corporate_legacy_share: int = Field(
        0,
        ge=0,
        le=100,
        validation_alias=AliasChoices("MAAS_CORPORATE_LEGACY_SHARE"),
        description="percent of the users whom corporate answers in its form legacy; always the same users",
    )
