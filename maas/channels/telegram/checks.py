"""What `maas doctor` says of the bots."""

from __future__ import annotations

from maas import queries as core
from maas.channels.telegram import queries
from maas.channels.telegram.client import TelegramClient
from maas.channels.telegram.settings import TelegramSettings
from maas.settings import Settings
from shared.bounded_http import MAX_VENDOR_REPLY_BYTES, open_bounded
from shared.db import Database
from shared.errors import Advice, MaasError

MAX_SILENCE_S = 120.0  # a poll takes 25 s


async def check_bots(settings: Settings, db: Database) -> str:
    """Ask Telegram who each bot is; names and assistants. Raises MaasError, and Advice if no process serves them."""
    own = settings.of(TelegramSettings)
    if not own.telegram_bots:
        return "not configured (set TELEGRAM_BOT_TOKEN)"
    names = []
    async with open_bounded(MAX_VENDOR_REPLY_BYTES) as http:
        for token, assistant in own.telegram_bots:
            me = await TelegramClient(http, own.telegram_base_url, token).get_me()
            names.append(f"{me.username} ({assistant})")
    rows = await db.rows(queries.telegram_bots) if await db.value(core.schema_is_there) else []
    if errors := [f"{row['username']}: {row['error']}" for row in rows if row["error"]]:
        raise MaasError("telegram_silent", "; ".join(errors))
    silent = [row["silent_s"] for row in rows if row["silent_s"] is not None]
    if not silent or min(silent) >= MAX_SILENCE_S:
        message = f"{', '.join(names)}; no process serves them: start one with `maas telegram`"
        raise Advice("not_served", message)
    return ", ".join(names)


CHECKS = {"telegram": check_bots}
