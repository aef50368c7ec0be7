"""Settings of the advertising assistants; their variables have well-known names without our prefix."""

from __future__ import annotations

import re

from pydantic import AliasChoices, Field, SecretStr, field_validator

from maas.settings.plugins import PluginSettings

MAX_SYNC_INTERVAL_MIN = 10_080  # a week
_ADDRESS = re.compile(r"https?://[^/\s?#]+(?:/[^\s?#]*)?")


class AdsSettings(PluginSettings):
    """Models and services. Tokens of ad accounts and CRMs are no settings: they are secrets of users."""

    orchestrator_secrets = ("fb_app_secret",)

    meta_orchestrator_model: str | None = Field(
        None,
        validation_alias=AliasChoices("META_ORCHESTRATOR_MODEL"),
        description="model of the assistant ads; unset: openai:gpt-5.2 with a key of openai, else the Responder's",
    )
    domain_agent_model: str | None = Field(
        None,
        validation_alias=AliasChoices("DOMAIN_AGENT_MODEL"),
        description="model of the agents of ads and ads_v1; unset: as above with openai:gpt-4o-mini",
    )
    meta_max_iterations: int = Field(
        10,
        ge=1,
        le=50,
        validation_alias=AliasChoices("META_MAX_ITERATIONS"),
        description="rounds of model and tools of ads",
    )

    ads_sync_interval: int = Field(
        60,
        ge=0,
        le=MAX_SYNC_INTERVAL_MIN,
        description="minutes between two syncs of a connection, which orchestrators do by themselves; 0: never",
    )
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
    fb_app_id: str | None = Field(
        None,
        validation_alias=AliasChoices("FB_APP_ID"),
        pattern=r"^[0-9]{1,20}$",
        description="id of the app that tokens of Facebook are of; with FB_APP_SECRET, syncs renew those that end",
    )
    fb_app_secret: SecretStr | None = Field(
        None, validation_alias=AliasChoices("FB_APP_SECRET"), description="secret of that app"
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
        None,
        validation_alias=AliasChoices("EVOLUTION_API_KEY"),
        description="key of the Evolution API server; the HTTP process asks about an instance with it",
    )
    evolution_instance: str | None = Field(
        None,
        validation_alias=AliasChoices("EVOLUTION_INSTANCE"),
        pattern=r"^[A-Za-z0-9_-]{1,100}$",
        description="instance of the Evolution API server, for accounts that are added without one",
    )

    @field_validator("fb_base_url", "amocrm_base_url", "evolution_base_url")
    @classmethod
    def _address(cls, value: str | None) -> str | None:
        if value is not None and not _ADDRESS.fullmatch(value):
            raise ValueError("this is not an address; one looks like https://api.example, without a query")
        return value
