"""`maas telegram`: the process that brings assistants to Telegram."""

from __future__ import annotations

import asyncio
import signal

import structlog
import uvloop

from maas.channels.telegram.service import bot_names, serve
from maas.channels.telegram.settings import TelegramSettings
from maas.settings import Settings, load_settings
from maas.terminal.output import note
from shared import log
from shared.errors import MaasError
from shared.postgres import PostgresUrls, find_postgres
from shared.process import close_to_others, end_with_parent


def telegram() -> None:
    """Serve until SIGTERM or Ctrl-C. Raises MaasError for a missing or wrong token."""
    settings = load_settings()
    log.configure(settings.diagnostics.log_level, settings.diagnostics.log_format)
    end_with_parent()
    close_to_others()
    bots = settings.of(TelegramSettings).telegram_bots
    if not bots:
        raise MaasError("bad_setting", "TELEGRAM_BOT_TOKEN is not set; @BotFather of Telegram gives one")
    structlog.get_logger().info("telegram_starting", bots=bot_names(bots))
    with find_postgres(settings.database, note) as postgres:
        uvloop.run(_serve(settings, postgres))


async def _serve(settings: Settings, postgres: PostgresUrls) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await serve(settings, postgres, stop)
