"""The process: each bot has one poller at a time, held by a lock in the database; others stand by."""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from functools import partial

import asyncpg
import httpx2
import structlog

from maas import queries as core
from maas.channels.telegram import queries
from maas.channels.telegram.bot import KINDS, Bot
from maas.channels.telegram.client import TelegramClient
from maas.channels.telegram.delivery import Delivery
from maas.channels.telegram.phrases import COMMANDS
from maas.channels.telegram.settings import TelegramSettings
from maas.channels.telegram.update_handler import UpdateHandler
from maas.channels.telegram.webhook import Webhooks
from maas.engine.limits import Limits
from maas.runs.event_stream import EventStream
from maas.runs.run_watcher import RunWatcher
from maas.settings import Settings
from shared.bounded_http import MAX_VENDOR_REPLY_BYTES, open_bounded
from shared.db import CONNECTION_LOST, Database, connect, open_database, wait_for_postgres
from shared.errors import Backoff, MaasError
from shared.postgres import PostgresUrls
from shared.vendors import VendorError

POLL_S = 25
MIN_POLL_S = 0.2
STANDBY_S = 2.0
PING_INTERVAL_S, PING_TIMEOUT_S = 1.0, 3.0
DECISION_INTERVAL_S = 5.0
LOAD_INTERVAL_S = 30.0
CLEAN_INTERVAL_S = 3600.0
FIRST_PAUSE_S, MAX_PAUSE_S = 0.5, 30.0
MAX_CONNECTIONS = 100  # to Telegram
log = structlog.get_logger()


async def serve(settings: Settings, postgres: PostgresUrls, stop: asyncio.Event) -> None:
    """Serve all configured bots until `stop`. Raises MaasError for a wrong setting or token."""
    options = settings.of(TelegramSettings)
    bots = options.telegram_bots
    if not bots:
        raise MaasError("bad_setting", "TELEGRAM_BOT_TOKEN is not set; @BotFather of Telegram gives one")
    async with AsyncExitStack() as stack:
        pool = httpx2.Limits(max_connections=MAX_CONNECTIONS, keepalive_expiry=20.0)
        http = await stack.enter_async_context(open_bounded(MAX_VENDOR_REPLY_BYTES, limits=pool, timeout=None))
        db = await wait_for_postgres(partial(_open_database, settings, postgres, stack))
        watcher = RunWatcher(db, postgres.listen, "maas telegram listener")
        await stack.enter_async_context(watcher.listening())
        limits = Limits(settings)
        await stack.enter_async_context(limits.reading(db))
        webhooks = Webhooks(options)
        await stack.enter_async_context(webhooks.serving())
        services = [
            _Service(
                await _introduce(
                    TelegramClient(http, options.telegram_base_url, token), assistant, db, settings, limits
                ),
                EventStream(db),
                watcher,
                postgres,
                webhooks,
                token,
            )
            for token, assistant in bots
        ]
        tasks = [asyncio.create_task(service.run()) for service in services]
        tasks.append(asyncio.create_task(_until(stop)))
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        watcher.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for task in done:
            task.result()


async def _open_database(settings: Settings, postgres: PostgresUrls, stack: AsyncExitStack) -> Database:
    db = await stack.enter_async_context(
        open_database(
            postgres.query,
            settings.database.pool_size,
            "maas telegram",
            statement_timeout=settings.database.statement_timeout,
        )
    )
    if not await db.value(core.schema_is_there):
        raise MaasError("no_schema", "the database holds no MaaS schema; run `maas migrate`")
    return db


async def _introduce(client: TelegramClient, assistant: str, db: Database, settings: Settings, limits: Limits) -> Bot:
    """Ask Telegram who the bot is, however long it is away. Raises VendorError for a wrong token."""
    backoff = Backoff(FIRST_PAUSE_S, MAX_PAUSE_S)
    while True:
        try:
            me = await client.get_me()
            options = settings.of(TelegramSettings)
            return Bot(me.id, me.username or str(me.id), assistant, client, db, settings, options, limits)
        except VendorError as error:
            if error.code == "unauthorized":
                raise
            log.warning("telegram_unreachable", cause=error.message)
        await asyncio.sleep(backoff.next_s())


async def _until(stop: asyncio.Event) -> None:
    await stop.wait()


class _Service:
    """One bot: polls while it holds the lock, and stands by otherwise."""

    def __init__(
        self, bot: Bot, events: EventStream, watcher: RunWatcher, postgres: PostgresUrls, webhooks: Webhooks, token: str
    ) -> None:
        self._bot = bot
        self._events = events
        self._watcher = watcher
        self._postgres = postgres
        self._webhooks = webhooks
        self._token = token
        self._is_announced = False

    async def run(self) -> None:
        """Serve until it is cancelled."""
        while True:
            try:
                await self._serve_with_lock()
            except (MaasError, *CONNECTION_LOST) as error:
                log.warning("telegram_lock_lost", bot=self._bot.username, cause=repr(error))
            except Exception:
                log.exception("telegram_failed", bot=self._bot.username)
            await asyncio.sleep(STANDBY_S * (0.5 + random.random()))

    async def _serve_with_lock(self) -> None:
        connection = await connect(self._postgres.listen, server_settings={"application_name": "maas telegram lock"})
        try:
            if not await connection.fetchval(queries.telegram_lock.text, self._bot.id):
                if not self._is_announced:
                    log.info("telegram_standby", bot=self._bot.username, why="another process serves this bot")
                self._is_announced = True
                return
            self._is_announced = False
            await self._serve(connection)
        finally:
            connection.terminate()

    async def _serve(self, lock: asyncpg.Connection) -> None:
        """Serve until the lock is lost: then nothing more is sent."""
        bot = self._bot
        next_id = await bot.db.value(queries.telegram_open, bot.id, bot.username, bot.assistant)
        delivery = Delivery(bot, self._events, self._watcher)
        handler = UpdateHandler(bot, delivery)
        log.info("telegram_bot_started", bot=bot.username, assistant=bot.assistant, pid=os.getpid())
        tasks = [
            asyncio.create_task(work)
            for work in (
                self._hold(lock),
                self._take_in(handler, delivery, next_id),
                self._keep_deciding(delivery),
                self._keep_loading(delivery),
                self._keep_clean(),
                self._set_commands(),
            )
        ]
        try:
            await asyncio.wait([*tasks[:2]], return_when=asyncio.FIRST_COMPLETED)
            for task in tasks[:2]:
                if task.done():
                    task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await handler.close()
            await delivery.close()

    async def _hold(self, lock: asyncpg.Connection) -> None:
        """Return or raise when the lock is lost."""
        while not lock.is_closed():
            await asyncio.sleep(PING_INTERVAL_S)
            await lock.fetchval(core.ping.text, timeout=PING_TIMEOUT_S)

    async def _take_in(self, handler: UpdateHandler, delivery: Delivery, next_id: int | None) -> None:
        await wait_for_postgres(delivery.load)  # what an earlier process has begun goes out first
        await wait_for_postgres(handler.load)
        if self._bot.options.telegram_webhook is not None:
            await self._receive(handler)
        else:
            await self._poll(handler, next_id)

    async def _poll(self, handler: UpdateHandler, next_id: int | None) -> None:
        """Fetch updates, store them, and confirm them by asking for the next ones."""
        bot, backoff = self._bot, Backoff(FIRST_PAUSE_S, MAX_PAUSE_S)
        with suppress(VendorError):
            await bot.client.delete_webhook()
        while True:
            began = time.monotonic()
            try:
                updates = await bot.client.get_updates(next_id, POLL_S, KINDS)
            except VendorError as error:
                log.warning("telegram_request_failed", bot=bot.username, cause=error.message)
                with suppress(MaasError, *CONNECTION_LOST):
                    await bot.db.value(queries.telegram_report, bot.id, error.message)
                await asyncio.sleep(max(backoff.next_s(), min(error.retry_after or 0.0, MAX_PAUSE_S)))
                continue
            backoff = Backoff(FIRST_PAUSE_S, MAX_PAUSE_S)
            next_id = await handler.take(updates)
            if not updates:  # a server that does not wait is not asked without end
                await asyncio.sleep(max(0.0, MIN_POLL_S - (time.monotonic() - began)))

    async def _receive(self, handler: UpdateHandler) -> None:
        """Have updates sent to the webhook; each is confirmed when it is stored."""
        bot, backoff = self._bot, Backoff(FIRST_PAUSE_S, MAX_PAUSE_S)
        url, secret = self._webhooks.open(self._token, handler)
        while True:
            try:
                await bot.client.set_webhook(url, secret, KINDS)
                break
            except VendorError as error:
                log.warning("telegram_request_failed", bot=bot.username, cause=error.message)
            await asyncio.sleep(backoff.next_s())
        try:
            await asyncio.Event().wait()
        finally:
            self._webhooks.close(self._token)

    async def _keep_deciding(self, delivery: Delivery) -> None:
        """Show decisions soon after they are made, wherever that was, expiries, and tasks that have begun."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(DECISION_INTERVAL_S):
                    await delivery.decisions.wait()
            delivery.decisions.clear()
            try:
                await delivery.show_decisions()
                await delivery.follow_tasks()
            except (MaasError, *CONNECTION_LOST) as error:
                log.warning("telegram_decisions_delayed", cause=repr(error))

    async def _keep_loading(self, delivery: Delivery) -> None:
        """Take in open replies that an error left behind."""
        while True:
            await asyncio.sleep(LOAD_INTERVAL_S)
            with suppress(MaasError, *CONNECTION_LOST):
                await delivery.load()

    async def _keep_clean(self) -> None:
        while True:
            with suppress(MaasError, *CONNECTION_LOST):
                await self._bot.db.value(queries.telegram_clean)
            await asyncio.sleep(CLEAN_INTERVAL_S)

    async def _set_commands(self) -> None:
        """Have clients offer the commands, in English and in Russian."""
        with suppress(VendorError):
            await self._bot.client.set_my_commands(COMMANDS["en"])
            await self._bot.client.set_my_commands(COMMANDS["ru"], "ru")


def bot_names(bots: Sequence[tuple[str, str]]) -> str:
    """Assistants with the numbers of their bots, without the secrets of the tokens."""
    return ", ".join(f"{assistant} (bot {token.partition(':')[0]})" for token, assistant in bots)
