"""Settings of the corporate assistant; their variables have names without our prefix, as those of vendors do."""

from __future__ import annotations

import re
from typing import Annotated, Literal
from uuid import UUID

from pydantic import AliasChoices, Field, SecretStr, field_validator
from pydantic_settings import NoDecode

from maas.settings.plugins import PluginSettings

_ADDRESS = re.compile(r"https?://[^/\s?#]+(?:/[^\s?#]*)?")
EVERYBODY = "*"


class CorporateSettings(PluginSettings):
    """The models of the assistant, its mail and calendar, and a server of documents."""

    orchestrator_secrets = ("lightrag_api_key",)

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
        description="percent of the users that corporate answers in its form legacy; always the same users",
    )
    lightrag_base_url: str | None = Field(
        None,
        validation_alias=AliasChoices("LIGHTRAG_BASE_URL"),
        description="URL of a LightRAG server, such as http://localhost:9621; unset: our own knowledge is searched",
    )
    lightrag_api_key: SecretStr | None = Field(
        None, validation_alias=AliasChoices("LIGHTRAG_API_KEY"), description="key of the LightRAG server"
    )
    lightrag_users: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        validation_alias=AliasChoices("LIGHTRAG_USERS"),
        description="ids of the users who may read all that the LightRAG server holds, separated by commas, or *; "
        "empty: nobody",
    )

    @field_validator("lightrag_base_url")
    @classmethod
    def _address(cls, value: str | None) -> str | None:
        if value is not None and not _ADDRESS.fullmatch(value):
            raise ValueError("this is not an address; one looks like https://api.example, without a query")
        return value

    @field_validator("lightrag_users", mode="before")
    @classmethod
    def _split_lightrag_users(cls, value: object) -> object:
        return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value

    @field_validator("lightrag_users")
    @classmethod
    def _lightrag_users(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if value == (EVERYBODY,):
            return value
        try:
            return tuple(str(UUID(one)) for one in value)
        except ValueError as error:
            raise ValueError("these are ids of users, separated by commas, or * alone for everybody") from error
