"""Settings of plugins: a class of each plugin, read from the environment and `.env` as ours are."""

from __future__ import annotations

from typing import ClassVar

from pydantic_settings import BaseSettings

from maas.settings.sources import SOURCES


class PluginSettings(BaseSettings):
    """Base of the settings of a plugin, which `Settings.of` returns; the names of its fields begin with the plugin's.

    `orchestrator_secrets` are the fields that only orchestrators need, `service_secrets` those that only the services
    of the plugin need: no other process of `maas up` gets them.
    """

    model_config = SOURCES

    orchestrator_secrets: ClassVar[tuple[str, ...]] = ()
    service_secrets: ClassVar[tuple[str, ...]] = ()
