"""Settings of the services that tools use; their variables have well-known names without our prefix."""

from __future__ import annotations

import re
from typing import Annotated
from uuid import UUID

from pydantic import AliasChoices, Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, NoDecode

_ADDRESS = re.compile(r"https?://[^/\s?#]+(?:/[^\s?#]*)?")
EVERYBODY = "*"


class VendorSettings(BaseSettings):
    """A part of `Settings`. Tokens of ad accounts and CRMs are no settings: they are secrets of users."""

    fb_base_url: str = Field(
        "https://graph.facebook.com",
        validation_alias=AliasChoices("FB_BASE_URL"),
        description="URL of Facebook's Graph API",
    )
    fb_api_version: str = Field(
        "v24.0",
        validation_alias=AliasChoices("FB_API_VERSION"),
        pattern=r"^v[0-9]{1,3}\.[0-9]{1,2}$",
        description="version of Facebook's Marketing API, such as v24.0",
    )
    amocrm_base_url: str | None = Field(
        None,
        validation_alias=AliasChoices("AMOCRM_BASE_URL"),
        description="URL of amoCRM, such as https://NAME.amocrm.ru, for accounts that are added without one",
    )
    evolution_base_url: str | None = Field(
        None,
        validation_alias=AliasChoices("EVOLUTION_BASE_URL"),
        description="URL of an Evolution API server (WhatsApp)",
    )
    evolution_api_key: SecretStr | None = Field(
        None, validation_alias=AliasChoices("EVOLUTION_API_KEY"), description="key of the Evolution API server"
    )
    evolution_instance: str | None = Field(
        None,
        validation_alias=AliasChoices("EVOLUTION_INSTANCE"),
        pattern=r"^[A-Za-z0-9_-]{1,100}$",
        description="instance of the Evolution API server, for accounts that are added without one",
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

    @field_validator("fb_base_url", "amocrm_base_url", "evolution_base_url", "lightrag_base_url")
    @classmethod
    def _address(cls, value: str | None) -> str | None:
        if value is not None and not _ADDRESS.fullmatch(value):
            raise ValueError("this is no address; one looks like https://api.example, without a query")
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
