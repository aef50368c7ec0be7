"""Telegram: a bot is an assistant in a messenger.

Updates are stored before they are confirmed to Telegram, and each is handled in the transaction of what it causes
(`update_handler`). A reply shows the answer of a run while it is written (`delivery`): its messages are sent empty,
once, and filled by edits, which may be repeated. So no request is lost or made twice, and no text is sent twice.
"""

from __future__ import annotations

from dataclasses import dataclass

from shared.db import Database
from shared.settings import Settings
from shared.vendors.telegram import TelegramClient

SOURCE = "telegram"  # of its runs and conversations, and the provider of the names of its users
KINDS = ("message", "callback_query")  # of updates that are taken in


@dataclass(frozen=True, slots=True)
class Bot:
    """A bot with its assistant: `id` and `username` are those of Telegram."""

    id: int
    username: str
    assistant: str
    client: TelegramClient
    db: Database
    settings: Settings
