"""Settings of webhooks."""

from __future__ import annotations

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings

from maas.settings.sources import SOURCES, Names
from shared.public_addresses import Network, to_networks


class WebhookSettings(BaseSettings):
    """Where webhooks may go, and how long their deliveries are kept."""

    model_config = SOURCES

    webhook_networks: Names = Field(
        (),
        description="networks that webhooks may reach beside public addresses, such as 10.0.0.0/8, separated by commas",
    )
    webhook_days: int = Field(7, ge=4, le=365, description="days after the last attempt for which deliveries are kept")

    @field_validator("webhook_networks")
    @classmethod
    def _check_networks(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        to_networks(value)
        return value

    @property
    def networks(self) -> tuple[Network, ...]:
        """`webhook_networks` as networks."""
        return to_networks(self.webhook_networks)
