"""Telegram: a bot is an assistant in a messenger.

Updates are stored before they are confirmed to Telegram, and each is handled in the transaction of what it causes
(`update_handler`). A reply shows the answer of a run while it is written (`delivery`): its messages are sent empty,
once, and filled by edits, which may be repeated. So no request is lost or made twice, and no text is sent twice.
"""

from __future__ import annotations

from maas.plugins import Command, Plugin

PLUGIN = Plugin(
    name="telegram",
    package=__name__,
    settings="settings:TelegramSettings",
    commands=(
        Command(
            "telegram",
            "command:telegram",
            "Serve the bots of TELEGRAM_BOT_TOKEN until Ctrl-C; `maas up` starts this, too.",
            service="settings:is_configured",
        ),
    ),
    checks="checks:CHECKS",
    metrics="metrics:read_metrics",
    overview="overview:read_overview",
)
