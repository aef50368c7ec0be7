"""Sending what was recorded for webhooks, by a background task of the orchestrators.

The database says what is sent when, and to whom; this claims it, sends it and reports what came of it.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal

import httpx2
import structlog

from maas import queries
from maas.conversations.agent_tasks import find_task
from maas.webhooks.signatures import sign
from shared.bounded_http import is_unconnected, open_bounded
from shared.db import Database
from shared.models.retry import retry_after
from shared.pinned_requests import AddressRefused, PinnedRequests, Refusal
from shared.public_addresses import Network
from shared.waiting import cancel_all

PLACES = 64
SLOW_PLACES = 32  # of these, for endpoints that take long: they delay no other
TIMEOUT_S = 20.0
LEASE = timedelta(seconds=40)
SLOW_S = 3.0
MAX_WAIT_S = 86_400.0  # that an endpoint may ask for
POLL_INTERVAL_S = 1.0
PURGE_INTERVAL_S = 600.0
EXIT_TIMEOUT_S = 2.0
MAX_REPLY_BYTES = 65_536  # of its headers; the body is not read
USER_AGENT = "MaaS-Webhooks/1"
A2A_JSON = "application/a2a+json"
HOST = socket.gethostname()
DeliveryError = Refusal | Literal["timeout", "unreachable", "no_answer"]
log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Delivery:
    """An event that is to be sent to an endpoint now."""

    id: str
    attempt: int
    is_slow: bool
    url: str
    secrets: Sequence[str]
    headers: Mapping[str, str]
    body: dict[str, Any]


class Sender:
    """Sends deliveries until cancelled; `networks` may be reached although they are not public."""

    def __init__(
        self, db: Database, networks: Sequence[Network], days: int, clock: Callable[[], float] = time.time
    ) -> None:
        self._db = db
        self._networks = networks
        self._days = days
        self._clock = clock

    async def run(self) -> None:
        """Send what is due; what a cancelled task was sending is sent again when its claim ends."""
        requests, sending = PinnedRequests(self._networks), dict[asyncio.Task[dict[str, Any]], Delivery]()
        # A connection belongs to one host, whatever others have its address: none is kept.
        limits = httpx2.Limits(max_keepalive_connections=0)
        http = open_bounded(MAX_REPLY_BYTES, timeout=TIMEOUT_S, limits=limits, trust_env=False, follow_redirects=False)
        purged_at = 0.0
        try:
            while True:
                if self._clock() - purged_at > PURGE_INTERVAL_S:
                    while await self._db.value(queries.purge_deliveries, self._days):
                        pass
                    purged_at = self._clock()
                found = await self._claim(sending)
                for delivery in found:
                    sending[asyncio.create_task(self._send(http, requests, delivery))] = delivery
                await self._report(sending, POLL_INTERVAL_S)
        finally:
            await cancel_all(sending, EXIT_TIMEOUT_S)
            requests.close()
            await http.aclose()

    async def _claim(self, sending: dict[asyncio.Task[dict[str, Any]], Delivery]) -> list[Delivery]:
        slow = sum(one.is_slow for one in sending.values())
        places = PLACES - len(sending)
        if not places:
            return []
        rows = await self._db.rows(
            queries.claim_deliveries, HOST, os.getpid(), places, max(SLOW_PLACES - slow, 0), LEASE
        )
        return [delivery for row in rows if (delivery := await self._prepare(row)) is not None]

    async def _prepare(self, row: queries.ClaimDeliveriesRow) -> Delivery | None:
        """Return what is sent for a claim; None if the task that it is about was deleted meanwhile."""
        headers, body = {"content-type": "application/json"}, row["body"]
        if row["task_id"] is not None and row["user_id"] is not None:
            task = await find_task(self._db, row["user_id"], None, row["task_id"])
            if task is None:
                return None
            headers, body = row["headers"] | {"content-type": A2A_JSON}, {"task": task.to_json(history_length=0)}
        delivery_id, secrets = str(row["id"]), row["secrets"]
        return Delivery(delivery_id, row["attempt"], row["is_slow"], row["url"], secrets, headers, body)

    async def _report(self, sending: dict[asyncio.Task[dict[str, Any]], Delivery], within: float) -> None:
        """Wait for the end of some deliveries, at most so many seconds, and store what came of them."""
        if not sending:
            await asyncio.sleep(within)
            return
        ended, _ = await asyncio.wait(sending, timeout=within, return_when=asyncio.FIRST_COMPLETED)
        for task in ended:
            del sending[task]
        if ended:
            await self._db.value(queries.finish_deliveries, [task.result() for task in ended])

    async def _send(self, http: httpx2.AsyncClient, requests: PinnedRequests, delivery: Delivery) -> dict[str, Any]:
        """Send a delivery once; return what came of it, as maas_finish_deliveries takes it."""
        status: int | None = None
        error: DeliveryError | None = None
        wait: float | None = None
        began = time.monotonic()
        body = json.dumps(delivery.body, ensure_ascii=False, separators=(",", ":")).encode()
        headers = sign(delivery.secrets, delivery.id, int(self._clock()), body)
        headers |= {**delivery.headers, "user-agent": USER_AGENT}
        try:
            async with asyncio.timeout(TIMEOUT_S):
                request = await requests.build(http, delivery.url, body, headers)
                response = await http.send(request, stream=True)
                status, wait = response.status_code, retry_after(response.headers)
                with suppress(httpx2.HTTPError):
                    await response.aclose()
        except AddressRefused as refusal:
            error = refusal.code
        except TimeoutError:
            error = "timeout"
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as failure:
            error = "unreachable" if is_unconnected(failure) else "no_answer"
        seconds = time.monotonic() - began
        if error is not None:
            log.info("webhook_not_delivered", delivery=delivery.id, attempt=delivery.attempt, cause=error)
        return {
            "id": delivery.id,
            "attempt": delivery.attempt,
            "status": status,
            "error": error,
            "is_slow": status is None or seconds > SLOW_S,
            "wait": min(wait, MAX_WAIT_S) if wait is not None else None,
        }
