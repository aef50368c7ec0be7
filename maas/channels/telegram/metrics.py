"""What /metrics says of the bots."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from maas.channels.telegram import queries
from shared.db import Database


async def read_metrics(db: Database) -> list[Collector]:
    """The gauges of the bots as they are now."""
    return [TelegramGauges(await db.rows(queries.telegram_bots))]


class TelegramGauges(Collector):
    """What waits at each bot of Telegram, and what was lost; nothing without a bot."""

    def __init__(self, bots: Sequence[Mapping[str, Any]]) -> None:
        self._bots = bots

    def collect(self) -> Iterator[Metric]:
        for name, column, text in (
            ("updates_waiting", "waiting", "Updates that are not handled"),
            ("replies_open", "open", "Replies that are not fully shown"),
            ("replies_dropped", "dropped", "Replies of the last 30 days that a chat did not accept"),
            ("messages_orphaned", "orphaned", "Empty messages of the last 30 days that may still be in a chat"),
            ("messages_in_doubt", "in_doubt", "Images of the last 30 days that may not have arrived"),
            ("silent_seconds", "silent_s", "Seconds since Telegram last answered"),
        ):
            gauge = GaugeMetricFamily(f"maas_telegram_{name}", text, labels=("bot",))
            for bot in self._bots:
                if bot[column] is not None:
                    gauge.add_metric((bot["username"],), float(bot[column]))
            if gauge.samples:
                yield gauge
