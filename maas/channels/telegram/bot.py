"""A bot of Telegram, as the parts of its process share it."""

from __future__ import annotations

from dataclasses import dataclass

from maas.channels.telegram.client import TelegramClient
from maas.channels.telegram.settings import TelegramSettings
from maas.engine.limits import Limits
from maas.settings import Settings
from shared.db import Database

SOURCE = "telegram"  # of its runs and conversations, and the provider of the names of its users
KINDS = ("message", "callback_query")  # of updates that are taken in


@dataclass(frozen=True, slots=True)
class Bot:
    """A bot with its assistant: `id` and `username` are those of Telegram, `options` its own settings."""

    id: int
    username: str
    assistant: str
    client: TelegramClient
    db: Database
    settings: Settings
    options: TelegramSettings
    limits: Limits
