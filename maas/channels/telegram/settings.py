"""Settings of the Telegram channel."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AliasChoices, Field, SecretStr, field_validator, model_validator
from pydantic_settings import NoDecode

from maas.settings import Settings
from maas.settings.plugins import PluginSettings
from shared.text import is_blank

_TOKEN = re.compile(r"[0-9]{1,20}:[A-Za-z0-9_-]{10,100}")


class TelegramSettings(PluginSettings):
    """How bots are served, and who may write to them."""

    service_secrets = ("telegram_bot_token",)

    telegram_bot_token: SecretStr | None = Field(
        None,
        validation_alias=AliasChoices("TELEGRAM_BOT_TOKEN"),
        description="token of a Telegram bot; several as ASSISTANT=TOKEN, separated by commas; unset: no bot",
    )
    telegram_base_url: str = Field(
        "https://api.telegram.org",
        validation_alias=AliasChoices("TELEGRAM_BASE_URL"),
        pattern=r"^https?://[^/\s?#]+(/[^\s?#]*)?$",
        description="URL of Telegram's Bot API",
    )
    telegram_assistant: str = Field("mentor", max_length=50, description="assistant of a bot whose token names none")
    telegram_users: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="numbers of the Telegram users that bots answer, separated by commas; empty: everybody"
    )
    telegram_debounce: float = Field(
        0.5, ge=0.1, le=10, description="shortest time between two edits of a message while an answer is written"
    )
    telegram_burst: float = Field(
        0,
        ge=0,
        le=10,
        description="seconds without a message after which those of a person are one request; 0: each is",
    )
    telegram_drafts: bool = Field(
        False, description="on: private chats show an answer that is being written as a draft instead of by edits"
    )
    telegram_rich: bool = Field(
        False, description="on: answers are rich messages with headings and tables, which older clients do not show"
    )
    telegram_webhook: str | None = Field(
        None,
        pattern=r"^https://[^/\s?#]+(/[^\s?#]*)?$",
        description="public URL to which Telegram sends updates; unset: they are polled",
    )
    telegram_host: str = Field("127.0.0.1", description="address on which the webhook listens")
    telegram_port: int = Field(8443, ge=1, le=65535, description="port on which the webhook listens")

    @field_validator("telegram_users", mode="before")
    @classmethod
    def _users(cls, value: object) -> object:
        users = tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value
        if isinstance(users, tuple) and (wrong := [one for one in users if not re.fullmatch(r"[0-9]{1,19}", one)]):
            raise ValueError(f"{wrong[0]!r} is not the number of a Telegram user; @userinfobot shows yours")
        return users

    @model_validator(mode="after")
    def _tokens(self) -> TelegramSettings:
        bots = self.telegram_bots
        if len({token.partition(":")[0] for token, _ in bots}) < len(bots):
            raise ValueError("TELEGRAM_BOT_TOKEN names a bot twice")
        if any(not _TOKEN.fullmatch(token) for token, _ in bots):
            raise ValueError("TELEGRAM_BOT_TOKEN: a token is a number, a colon and a secret, as @BotFather gives it")
        return self

    @property
    def telegram_bots(self) -> tuple[tuple[str, str], ...]:
        """The token and the assistant of each bot."""
        if self.telegram_bot_token is None:
            return ()
        bots = []
        for part in self.telegram_bot_token.get_secret_value().split(","):
            assistant, is_named, token = part.strip().rpartition("=")
            if not is_blank(part):
                bots.append((token.strip(), assistant.strip() if is_named else self.telegram_assistant))
        return tuple(bots)


def is_configured(settings: Settings) -> bool:
    """Whether there is a bot to serve."""
    return settings.of(TelegramSettings).telegram_bot_token is not None
