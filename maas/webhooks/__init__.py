"""Webhooks: events are sent to other programs, by the rules of Standard Webhooks 1.1."""

from __future__ import annotations

import asyncio

from maas import queries
from maas.settings.webhooks import WebhookSettings
from shared.db import Database

POLL_INTERVAL_S = 1.0


async def keep_sending(db: Database, settings: WebhookSettings) -> None:
    """Send until cancelled; what sends is not loaded before somebody wants it."""
    while not await db.value(queries.has_webhooks):
        await asyncio.sleep(POLL_INTERVAL_S)
    from maas.webhooks.delivery import Sender

    await Sender(db, settings.networks, settings.webhook_days).run()
