"""`maas telegram`: the process that brings assistants to Telegram."""

from __future__ import annotations

import asyncio
import signal

import structlog
import uvloop

from maas.channels.telegram.service import bot_names, serve
from maas.cli.output import note
from shared import log
from shared.bounded_http import MAX_VENDOR_REPLY_BYTES, open_bounded
from shared.db import Database
from shared.errors import MaasError
from shared.postgres import PostgresUrls, find_postgres
from shared.process import close_to_others, end_with_parent
from shared.settings import Settings, load_settings
from shared.vendors.telegram import TelegramClient

MAX_SILENCE_S = 120.0  # a poll takes 25 s


def telegram() -> None:
    """Serve until SIGTERM or Ctrl-C. Raises MaasError for a missing or wrong token."""
    settings = load_settings()
    log.configure(settings.log_level, settings.log_format)
    end_with_parent()
    close_to_others()
    if not settings.telegram_bots:
        raise MaasError("bad_setting", "TELEGRAM_BOT_TOKEN is not set; @BotFather of Telegram gives one")
    structlog.get_logger().info("telegram_starts", bots=bot_names(settings.telegram_bots))
    with find_postgres(settings, note) as postgres:
        uvloop.run(_serve(settings, postgres))


async def check_bots(settings: Settings, db: Database) -> tuple[str, str | None]:
    """Ask Telegram who each bot is; names and assistants, and what could be improved. Raises MaasError."""
    if not settings.telegram_bots:
        return "not configured (set TELEGRAM_BOT_TOKEN)", None
    names = []
    async with open_bounded(MAX_VENDOR_REPLY_BYTES) as http:
        for token, assistant in settings.telegram_bots:
            me = await TelegramClient(http, settings.telegram_base_url, token).get_me()
            names.append(f"{me.username} ({assistant})")
    rows = await db.rows("telegram_bots") if await db.value("schema_is_there") else []
    if errors := [f"{row['username']}: {row['error']}" for row in rows if row["error"]]:
        raise MaasError("telegram_silent", "; ".join(errors))
    silent = [row["silent_s"] for row in rows if row["silent_s"] is not None]
    is_served = bool(silent) and min(silent) < MAX_SILENCE_S
    return ", ".join(names), None if is_served else "no process serves them: start one with `maas telegram`"


async def _serve(settings: Settings, postgres: PostgresUrls) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await serve(settings, postgres, stop)
