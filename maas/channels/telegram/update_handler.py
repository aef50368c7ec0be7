"""Updates come in: each is handled once, in the order of its chat, in the transaction of what it causes."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import structlog

from maas import queries as core
from maas.channels.telegram import queries
from maas.channels.telegram.bot import SOURCE, Bot
from maas.channels.telegram.client import MAX_TEXT_UNITS
from maas.channels.telegram.delivery import FINGERPRINT_CHARS, Delivery
from maas.channels.telegram.incoming import Incoming, Press, chat_of, read_update
from maas.channels.telegram.keyed_queue import KeyedQueue
from maas.channels.telegram.messages import Reply
from maas.channels.telegram.phrases import COMMANDS, say
from maas.conversations import Mode, change_conversation, clear_conversation
from maas.conversations.actions import Decision, decide_action, press_button, read_action
from maas.conversations.attachments import store_upload
from maas.users import TELEGRAM, find_user, get_or_create_user
from shared.db import CONNECTION_LOST, wait_for_postgres
from shared.errors import MaasError
from shared.group_commit import BAD_DATA
from shared.json import map_texts
from shared.quotas import QuotaExceeded
from shared.text import clean
from shared.vendors import VendorError

MAX_FAILURES = 3  # of one update; then it is given up
RETRY_PAUSE_S = 1.0
PHOTO_WAIT_S = 30.0  # for which what was written before a photo waits until it is stored
BYTES_PER_MEGABYTE = 1024 * 1024
PHOTO_ALONE = "/photo"  # the request of a photo without words; like a command it gives a conversation no title
_DECIDE = re.compile(rf"a:([yn]):([0-9a-f-]{{36}}):([0-9a-f]{{{FINGERPRINT_CHARS}}})", re.ASCII)
_PRESS = re.compile(r"p:([0-9a-f-]{36}):(.{1,64})", re.DOTALL)
_MODES: Mapping[str, Mode] = {"auto": "auto", "plan": "plan", "ask": "ask"}
_TEMPORARY = ("unreachable", "timeout", "unavailable", "rate_limited")
log = structlog.get_logger()


class UpdateHandler:
    """Handles the updates of one bot."""

    def __init__(self, bot: Bot, delivery: Delivery) -> None:
        self._bot = bot
        self._db = bot.db
        self._delivery = delivery
        self._queue: KeyedQueue[Mapping[str, Any]] = KeyedQueue(self._handle)

    def put(self, payload: Mapping[str, Any]) -> None:
        """Handle a stored update after those of its chat that came before."""
        self._queue.put(chat_of(payload), payload)

    async def take(self, updates: Sequence[Mapping[str, Any]]) -> int | None:
        """Store updates, however long the database is away; the first one that is not stored."""
        return await wait_for_postgres(lambda: self.store(updates))

    async def store(self, updates: Sequence[Mapping[str, Any]]) -> int | None:
        """Store updates and handle them; one that no database can hold counts as an empty one. Returns as `take`."""
        storable = [map_texts(update, clean) for update in updates]
        try:
            next_id: int | None = await self._db.value(queries.telegram_take, self._bot.id, storable)
        except BAD_DATA as error:
            if len(updates) == 1:
                log.warning("telegram_update_invalid", update_id=updates[0]["update_id"], cause=repr(error))
                return await self.store([{"update_id": updates[0]["update_id"]}])
            for update in updates:
                next_id = await self.store([update])
            return next_id
        for update in storable:
            self.put(update)
        return next_id

    async def load(self) -> None:
        """Take in all updates that are stored and not handled."""
        after = -1
        while rows := await self._db.rows(queries.telegram_unhandled, self._bot.id, after):
            for row in rows:
                self.put(row["payload"])
            after = rows[-1]["update_id"]

    async def close(self) -> None:
        await self._queue.close()

    async def _handle(self, payload: Mapping[str, Any]) -> None:
        """Handle one update, however long the database is away; what keeps failing is given up and said."""
        update_id = payload["update_id"]
        incoming = None
        while True:
            try:
                incoming = self._read(payload)
                if incoming is None:
                    await self._db.value(queries.telegram_handled, self._bot.id, update_id, None)
                else:
                    await self._act(incoming)
                return
            except CONNECTION_LOST as error:
                log.warning("telegram_update_delayed", update_id=update_id, cause=repr(error))
            except MaasError as error:
                log.warning("telegram_update_delayed", update_id=update_id, cause=error.message)
                if error.code != "database_unreachable" and await self._give_up(incoming, update_id, error.message):
                    return
            except Exception as error:
                log.exception("telegram_update_failed", update_id=update_id)
                if await self._give_up(incoming, update_id, repr(error)[:300]):
                    return
            await asyncio.sleep(RETRY_PAUSE_S)

    async def _give_up(self, incoming: Incoming | None, update_id: int, cause: str) -> bool:
        """Count a failure; after MAX_FAILURES tell the user and return True."""
        try:
            failures = await self._db.value(queries.telegram_fail, self._bot.id, update_id, cause)
            if failures is not None and failures < MAX_FAILURES:
                return False
            if incoming is not None and failures is not None:
                await self._notify(incoming, say(incoming.language, "internal"))
            await self._db.value(queries.telegram_handled, self._bot.id, update_id, cause)
        except CONNECTION_LOST:
            return False
        return True

    async def _act(self, incoming: Incoming) -> None:
        allowed = self._bot.options.telegram_users
        if allowed and incoming.name not in allowed:
            await self._notify(incoming, say(incoming.language, "private"))
        elif incoming.press is not None:
            await self._hold(incoming, 0)
            await self._press(incoming, incoming.press)
        elif incoming.command is not None:
            await self._hold(incoming, 0)
            await self._command(incoming, incoming.command)
        elif incoming.is_said:
            await self._ask(incoming)
        else:
            await self._notify(incoming, say(incoming.language, "unsupported"))

    async def _ask(self, incoming: Incoming) -> None:
        """Insert a request, with its photos stored before. Raises MaasError while Telegram does not give one."""
        attachments: list[UUID] = []
        if incoming.photo is not None:
            await self._hold(incoming, PHOTO_WAIT_S)
            if (attachment := await self._store_photo(incoming, incoming.photo)) is None:
                return
            attachments.append(attachment)
        try:
            row = await self._db.row(
                queries.telegram_ask,
                self._bot.id,
                incoming.update_id,
                incoming.chat_id,
                incoming.answered_message,
                incoming.dialogue,
                incoming.name,
                self._bot.assistant,
                incoming.text or PHOTO_ALONE,
                incoming.language,
                incoming.metadata,
                attachments,
                self._bot.limits["user_queue_limit"],
                self._bot.options.telegram_burst or None,
            )
        except QuotaExceeded as error:
            await self._notify(incoming, say(incoming.language, "quota_exceeded", cause=error.message))
            return
        assert row is not None
        await self._show(incoming, row)

    async def _hold(self, incoming: Incoming, seconds: float) -> None:
        """Have the request that waits for more of this chat begin in so many seconds; 0: it takes in no more."""
        if self._bot.options.telegram_burst:
            await self._db.value(queries.telegram_hold, incoming.dialogue, incoming.name, self._bot.assistant, seconds)

    def _read(self, payload: Mapping[str, Any]) -> Incoming | None:
        return read_update(payload, self._bot.id, self._bot.username)

    async def _store_photo(self, incoming: Incoming, photo: str) -> UUID | None:
        """Store a photo; None where it cannot be, and the user gets a notice. Raises MaasError as `_ask`."""
        try:
            content = await self._bot.client.get_file(photo)
            if len(content) > self._bot.settings.uploads.attachment_bytes:
                raise MaasError("bad_image", f"> {self._bot.settings.uploads.attachment_bytes} bytes")
            user_id = await get_or_create_user(self._db, incoming.name, TELEGRAM)
            return UUID(str((await store_upload(self._db, user_id, content))["id"]))
        except MaasError as error:
            is_temporary = isinstance(error, VendorError) and error.code in _TEMPORARY
            if is_temporary or not (isinstance(error, VendorError) or error.code in ("bad_image", "quota_exceeded")):
                raise
            name = "quota_exceeded" if error.code == "quota_exceeded" else "bad_photo"
            megabytes = self._bot.settings.uploads.attachment_bytes // BYTES_PER_MEGABYTE
            await self._notify(incoming, say(incoming.language, name, cause=error.message, megabytes=megabytes))
            return None

    async def _show(self, incoming: Incoming, row: queries.TelegramAskRow | queries.TelegramStartRow) -> None:
        """Show the answer of the run in this row, or say why there is none."""
        match row["verdict"]:
            case "asked":
                reply = Reply(
                    row["reply_id"],
                    incoming.chat_id,
                    row["user_id"],
                    row["run_id"],
                    None,
                    incoming.answered_message,
                    incoming.language,
                )
                self._delivery.put(reply)
            case "joined":
                pass  # the reply of the request that it is a part of shows the answer
            case "silent":
                await self._notify(incoming, say(incoming.language, "hello"))
            case "handled":  # a statement whose outcome was lost, or an update that came twice
                await self._delivery.load()
            case verdict:
                await self._notify(incoming, say(incoming.language, verdict))

    async def _notify(self, incoming: Incoming, text: str) -> None:
        """Have a text shown, which handles the update."""
        row = await self._db.row(
            queries.telegram_notice,
            self._bot.id,
            incoming.update_id,
            incoming.chat_id,
            incoming.answered_message,
            incoming.name,
            incoming.language,
            text[: MAX_TEXT_UNITS // 2],
        )
        if row is None:
            await self._delivery.load()
            return
        reply = Reply(
            row["reply_id"],
            incoming.chat_id,
            row["user_id"],
            None,
            text[: MAX_TEXT_UNITS // 2],
            incoming.answered_message,
            incoming.language,
        )
        self._delivery.put(reply)

    async def _command(self, incoming: Incoming, command: str) -> None:
        """Execute a command; none of them calls a model by itself."""
        match command:
            case "start":
                row = await self._db.row(
                    queries.telegram_start,
                    self._bot.id,
                    incoming.update_id,
                    incoming.chat_id,
                    incoming.dialogue,
                    incoming.name,
                    self._bot.assistant,
                    incoming.language,
                    incoming.metadata,
                )
                assert row is not None
                await self._show(incoming, row)
            case "help":
                listed = "\n".join(f"/{name}: {text}" for name, text in COMMANDS[incoming.language].items())
                await self._notify(incoming, say(incoming.language, "help", commands=listed))
            case "clear" | "mode" | "status":
                await self._notify(incoming, await self._steer(incoming, command))
            case _:
                await self._notify(incoming, say(incoming.language, "unknown_command"))

    async def _steer(self, incoming: Incoming, command: str) -> str:
        """Execute a command on the conversation of the chat; what to say."""
        language = incoming.language
        user_id = await find_user(self._db, incoming.name, TELEGRAM)
        row = await self._db.row(core.chat_status, incoming.dialogue, user_id, self._bot.assistant) if user_id else None
        if row is None:
            return say(language, "nothing")
        if command == "clear":
            return say(language, "cleared", count=await clear_conversation(self._db, row["id"]))
        if command == "mode":
            if (mode := _MODES.get(incoming.text.lower())) is None:
                return say(language, "modes", mode=row["mode"])
            await change_conversation(self._db, row["id"], mode)
            return say(language, "mode", mode=mode)
        return say(
            language,
            "status",
            assistant=self._bot.assistant,
            mode=row["mode"],
            count=row["message_count"],
            processing=say(language, "yes" if row["is_processing"] else "no"),
            agent=row["last_agent"] or say(language, "none"),
        )

    async def _press(self, incoming: Incoming, press: Press) -> None:
        """Decide an action or press a button of a run, if it is the presser's own; say what came of it."""
        user_id = await find_user(self._db, incoming.name, TELEGRAM)
        decision, button = _DECIDE.fullmatch(press.data), _PRESS.fullmatch(press.data)
        try:
            if user_id is None or not (decision or button):
                raise MaasError("not_found", press.data[:64])
            if decision:
                wanted: Decision = "approve" if decision[1] == "y" else "reject"
                verdict = await self._decide(UUID(decision[2]), user_id, wanted, decision[3])
            else:
                assert button is not None
                run_id = await press_button(
                    self._db, UUID(button[1]), user_id, button[2], self._bot.limits["user_queue_limit"]
                )
                await self._delivery.follow(incoming.chat_id, user_id, run_id, incoming.language, None)
                verdict = "accepted"
        except ValueError:
            verdict = "not_yours"
        except MaasError as error:
            names = {"not_found": "not_yours", "not_offered": "not_offered", "expired": "expired"}
            names |= {"already_decided": "already_decided", "queue_full": "queue_full", "changed": "changed"}
            if (name := names.get(error.code)) is None:
                raise
            verdict = name
        await self._db.value(queries.telegram_handled, self._bot.id, incoming.update_id, None)
        self._delivery.decisions.set()
        try:
            await self._bot.client.answer_callback_query(press.query_id, say(incoming.language, verdict))
        except VendorError as error:  # too late, or answered before
            log.info("telegram_button_not_answered", cause=error.message)
        if verdict in ("accepted", "not_offered") and button:
            self._delivery.remove_keyboard(incoming.chat_id, press.message_id)

    async def _decide(self, action_id: UUID, user_id: UUID, decision: Decision, shown: str) -> str:
        """`shown`: the beginning of the fingerprint of the action that the buttons stand under."""
        fingerprint: str = (await read_action(self._db, action_id, user_id))["fingerprint"]
        fingerprint = fingerprint if fingerprint.startswith(shown) else shown
        limit = self._bot.limits["user_queue_limit"]
        await decide_action(self._db, action_id, user_id, decision, SOURCE, limit, fingerprint)
        return "approved" if decision == "approve" else "rejected"
