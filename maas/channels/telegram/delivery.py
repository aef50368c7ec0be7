"""Replies go out: each message is sent empty, once, and filled by edits of its known id.

A send that Telegram did not confirm may have left an empty message, which is counted; its text goes into another one.
What Telegram refuses for a time is sent after that time, for the whole chat.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any, cast
from uuid import UUID

import structlog

from maas.channels.telegram import queries
from maas.channels.telegram.bot import Bot
from maas.channels.telegram.client import MAX_STICKER_BYTES, STICKER_SIDE, Keyboard, RichText
from maas.channels.telegram.keyed_queue import KeyedQueue
from maas.channels.telegram.messages import FIRST_IMAGE, Gone, Messages, Reply, edit_message
from maas.channels.telegram.phrases import Language, say
from maas.channels.telegram.progress import Progress
from maas.channels.telegram.rate_limits import RateLimits
from maas.channels.telegram.rendering import describe_action, render, render_rich
from maas.conversations.attachments import read_content
from maas.runs.event_stream import Cursor, EventStream
from maas.runs.run_watcher import RunWatcher, watch
from shared.db import CONNECTION_LOST, wait_for_postgres
from shared.errors import Backoff, MaasError
from shared.images import fit_webp_async
from shared.vendors import VendorError

IMAGE_NOTICE, FIRST_ACTION = 1999, 2000  # numbers of parts
FINGERPRINT_CHARS = 20  # of an action, in the data of a button, which has 64 bytes
FIRST_WAIT_S, TYPING_INTERVAL_S = 0.3, 5.0
GROUP_DEBOUNCE_S = 3.0  # Telegram accepts 20 messages a minute in a group
MAX_DEBOUNCE_S = 5.0
FIRST_PAUSE_S, MAX_PAUSE_S = 0.5, 60.0
KEEP_ALIVE_S = 15.0
_PERMANENT = ("forbidden", "not_found", "invalid", "bad_reply")
log = structlog.get_logger()


class Delivery:
    """Shows the replies of one bot."""

    def __init__(self, bot: Bot, events: EventStream, watcher: RunWatcher) -> None:
        self._bot = bot
        self._db = bot.db
        self._client = bot.client
        self._events = events
        self._watcher = watcher
        self._limits = RateLimits(bot)
        self._known: set[int] = set()
        self._queue: KeyedQueue[Reply] = KeyedQueue(self._deliver)
        self._edits: KeyedQueue[Callable[[], Awaitable[None]]] = KeyedQueue(lambda edit: edit())
        self._deciding: set[int] = set()  # messages whose outcome is about to be shown
        self.decisions = asyncio.Event()  # set when an action was decided

    async def load(self) -> None:
        """Take in all replies that are open, such as those of an earlier process."""
        after = 0
        while rows := await self._db.rows(queries.telegram_open_replies, self._bot.id, after):
            for row in rows:
                self.put(
                    Reply(
                        row["id"],
                        row["chat_id"],
                        row["user_id"],
                        row["run_id"],
                        row["notice"],
                        row["reply_to"],
                        cast(Language, row["language"]),
                        row["wait_s"],
                        row["is_task"],
                    )
                )
            after = rows[-1]["id"]

    def put(self, reply: Reply) -> None:
        """Show a reply after those before it."""
        if reply.id not in self._known:
            self._known.add(reply.id)
            self._queue.put(reply.queue_key, reply)

    async def close(self) -> None:
        await self._queue.close()
        await self._edits.close()

    async def follow(
        self, chat_id: int, user_id: UUID, run_id: UUID, language: Language, reply_to: int | None, is_task: bool = False
    ) -> None:
        """Show a run that no message asked for: of an action, a button or a task. Once, however often called."""
        reply_id = await self._db.value(
            queries.telegram_follow, self._bot.id, chat_id, user_id, run_id, language, reply_to
        )
        if reply_id is not None:
            self.put(Reply(reply_id, chat_id, user_id, run_id, None, reply_to, language, is_task=is_task))

    def remove_keyboard(self, chat_id: int, message_id: int) -> None:
        """Take the buttons from a message, soon; an error is logged only."""
        self._edits.put(chat_id, partial(self._remove_keyboard, chat_id, message_id))

    async def follow_tasks(self) -> None:
        """Show the tasks that answers of this bot have begun."""
        for row in await self._db.rows(queries.telegram_tasks, self._bot.id):
            language = cast(Language, row["language"])
            await self.follow(row["chat_id"], row["user_id"], row["run_id"], language, row["reply_to"], True)

    async def show_decisions(self) -> None:
        """Say under each message with buttons what became of its action, and show the run of an approved one."""
        for row in await self._db.rows(queries.telegram_decided, self._bot.id):
            if row["action_run_id"] is not None:
                language = cast(Language, row["language"])
                await self.follow(row["chat_id"], row["user_id"], row["action_run_id"], language, row["reply_to"])
            if row["id"] not in self._deciding:
                self._deciding.add(row["id"])
                self._edits.put(row["chat_id"], partial(self._show_decision, row))

    async def _show_decision(self, row: queries.TelegramDecidedRow) -> None:
        language, chat_id, message_id = cast(Language, row["language"]), row["chat_id"], row["message_id"]
        assert message_id is not None  # of other actions the query has no row
        name = {"failed": "failed_action", "executing": "approved"}.get(row["status"], row["status"])
        content = describe_action(language, row, say(language, name))
        try:
            await edit_message(self._client, self._limits, chat_id, message_id, content, ())
        except VendorError as error:
            if error.code not in _PERMANENT:
                log.warning("telegram_outcome_delayed", cause=error.message)
                return
        finally:
            self._deciding.discard(row["id"])
        await wait_for_postgres(lambda: self._db.value(queries.telegram_set_message, row["id"], "closed", None, None))

    async def _remove_keyboard(self, chat_id: int, message_id: int) -> None:
        edit = partial(self._client.edit_message_reply_markup, chat_id, message_id)
        try:
            await self._limits.call(chat_id, edit)
        except VendorError as error:
            log.warning("telegram_keyboard_not_removed", cause=error.message)

    async def _deliver(self, reply: Reply) -> None:
        """Show one reply to its end; what fails for a time is tried again."""
        backoff = Backoff(FIRST_PAUSE_S, MAX_PAUSE_S)
        if reply.wait_s:
            self._limits.wait(reply.chat_id, reply.wait_s)
        while True:
            try:
                await self._show_reply(reply)
                break
            except Gone:
                break
            except VendorError as error:
                if error.code in _PERMANENT and not error.is_outcome_unknown:
                    log.warning("telegram_reply_dropped", run_id=str(reply.run_id), cause=error.message)
                    await self._end(reply, "dropped", error.message)
                    break
                cause = error.message
            except (MaasError, *CONNECTION_LOST) as error:
                cause = repr(error)
            except Exception as error:
                log.exception("telegram_reply_failed", run_id=str(reply.run_id))
                await self._end(reply, "dropped", repr(error)[:300])
                break
            pause_s = backoff.next_s()
            log.warning("telegram_reply_delayed", run_id=str(reply.run_id), cause=cause, again_in=round(pause_s, 1))
            await asyncio.sleep(pause_s)
        self._known.discard(reply.id)

    async def _show_reply(self, reply: Reply) -> None:
        messages = Messages(self._bot, self._limits, reply)
        await messages.load()
        if reply.run_id is None:
            await messages.show([(RichText(reply.notice or "…"), ())])
        else:
            await self._show_run(messages, reply.run_id)
        await self._end(reply, "shown")

    async def _show_run(self, messages: Messages, run_id: UUID) -> None:
        """Show an answer while it is written, then all that belongs to it."""
        reply = messages.reply
        progress = Progress(run_id, reply.language)
        reading = asyncio.create_task(self._read(run_id, progress))
        try:
            await self._stream(messages, progress, reading)
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
        contents = render(progress.markdown)
        keyboard = progress.keyboard
        if not contents and keyboard:
            contents = [RichText("…")]
        if not await self._is_shown_rich(messages, progress.markdown, keyboard):
            await messages.show([(one, keyboard if one is contents[-1] else ()) for one in contents])
        for number, attachment in enumerate(progress.images):
            await self._show_image(messages, FIRST_IMAGE + number, UUID(attachment))
        for number, action in enumerate(progress.actions):
            await self._show_action(messages, FIRST_ACTION + number, action)

    async def _is_shown_rich(self, messages: Messages, markdown: str, keyboard: Keyboard) -> bool:
        """Show an answer as one rich message if that is wanted; False if Telegram does not accept it."""
        rich = render_rich(markdown) if self._bot.options.telegram_rich else None
        if rich is None:
            return False
        try:
            await messages.show([(rich, keyboard)])
        except VendorError as error:
            if error.code != "invalid":
                raise
            log.warning("telegram_rich_message_rejected", cause=error.message)
            return False
        return True

    async def _read(self, run_id: UUID, progress: Progress) -> None:
        """Feed the events of a run into `progress` until the run ends."""
        try:
            first = await self._events.read(run_id, Cursor())
            if first is None:
                raise Gone
            async for events in watch(self._events, self._watcher, run_id, first, KEEP_ALIVE_S):
                for event in events:
                    progress.take(event)
        finally:
            progress.changed.set()

    async def _stream(self, messages: Messages, progress: Progress, reading: asyncio.Task[None]) -> None:
        """Show what there is, at most once in the debounce, until the run has ended."""
        chat_id, debounce = messages.reply.chat_id, self._debounce(messages.reply.chat_id)
        next_edit: float | None = None
        draft_id, wait_s = messages.reply.id % (2**31 - 2) + 1, FIRST_WAIT_S
        while not progress.is_over:
            with suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await progress.changed.wait()
            wait_s = TYPING_INTERVAL_S
            if reading.done():
                reading.result()
            if not progress.changed.is_set() or not progress.markdown:
                progress.changed.clear()
                await self._try(chat_id, lambda: self._client.send_chat_action(chat_id, "typing"))
                continue
            next_edit = _now() + debounce if next_edit is None else next_edit
            await asyncio.sleep(max(0.0, next_edit - _now()))
            progress.changed.clear()
            contents = render(progress.markdown)
            if progress.is_over or not contents:
                continue
            if self._bot.options.telegram_drafts and chat_id > 0:
                draft = partial(self._client.send_message_draft, chat_id, draft_id, contents[-1])
                await self._try(chat_id, draft)
            else:
                await messages.show([(one, ()) for one in contents], is_final=False)
            next_edit = _now() + min(debounce * (1 + self._limits.refusals(chat_id)), MAX_DEBOUNCE_S)
        await reading
        if next_edit is not None:
            await asyncio.sleep(max(0.0, next_edit - _now()))

    def _debounce(self, chat_id: int) -> float:
        debounce = self._bot.options.telegram_debounce
        return debounce if chat_id > 0 else max(debounce, GROUP_DEBOUNCE_S)

    async def _show_image(self, messages: Messages, number: int, attachment: UUID) -> None:
        """Send an image, once: as a sticker if it is small enough, as a photo otherwise."""
        reply = messages.reply
        if messages.is_sent(number):
            return
        if not await messages.place(number, "image"):  # an earlier attempt may have arrived
            await messages.show([(RichText(say(reply.language, "doubtful_image")), ())], IMAGE_NOTICE)
            return
        try:
            image = await read_content(self._db, attachment, reply.user_id)
        except MaasError as error:
            if error.code != "not_found":
                raise
            await messages.drop(number)
            return
        sticker = await fit_webp_async(image["content"], STICKER_SIDE, MAX_STICKER_BYTES)
        send = partial(self._client.send_photo, reply.chat_id, image["content"], image["media_type"])
        if sticker is not None:
            send = partial(self._client.send_sticker, reply.chat_id, sticker)
        await messages.send_once(number, send, "in_doubt")

    async def _show_action(self, messages: Messages, number: int, action: dict[str, Any]) -> None:
        """Ask for an approval with two buttons."""
        language, action_id = messages.reply.language, UUID(action["action_id"])
        row = await self._db.row(queries.telegram_action, action_id, messages.reply.user_id)
        if row is None:  # erased meanwhile
            return
        content = describe_action(language, row)
        choices, shown = (("approve", "y"), ("reject", "n")), action["fingerprint"][:FINGERPRINT_CHARS]
        keyboard = [[(say(language, name), f"a:{sign}:{action_id}:{shown}") for name, sign in choices]]
        if await messages.show_once(number, action_id, content, keyboard):
            self.decisions.set()  # it may have been decided meanwhile

    async def _try(self, chat_id: int, send: Callable[[], Awaitable[object]]) -> None:
        """Make a request whose failure changes nothing."""
        with suppress(VendorError):
            await self._limits.call(chat_id, send)

    async def _end(self, reply: Reply, state: str, error: str | None = None) -> None:
        await wait_for_postgres(lambda: self._db.value(queries.telegram_end, reply.id, state, error))


def _now() -> float:
    return asyncio.get_running_loop().time()
