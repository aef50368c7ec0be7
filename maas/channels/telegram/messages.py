"""The messages of one reply: each is sent empty, once, and filled by edits of its known id."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Literal
from uuid import UUID

import structlog

from maas.channels.telegram import queries
from maas.channels.telegram.bot import Bot
from maas.channels.telegram.client import Keyboard, RichText, TelegramClient
from maas.channels.telegram.phrases import Language
from maas.channels.telegram.rate_limits import RateLimits
from maas.channels.telegram.rendering import PLACEHOLDER, hash_of, plain
from shared.db import wait_for_postgres
from shared.vendors import VendorError

Kind = Literal["text", "action", "image"]
FIRST_IMAGE = 1000  # the number of the first part that is no text
log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Reply:
    """What goes out to a chat: the answer of a run, or a notice."""

    id: int
    chat_id: int
    user_id: UUID
    run_id: UUID | None
    notice: str | None
    reply_to: int | None
    language: Language
    wait_s: float = 0.0
    is_task: bool = False

    @property
    def queue_key(self) -> tuple[object, ...]:
        """Answers for one user in one chat wait for each other; a notice waits for none of them, nobody for a task."""
        return self.chat_id, self.user_id, self.run_id is None, self.run_id if self.is_task else None


class Gone(Exception):
    """The reply was erased, has ended, or another process sends it."""


@dataclass(slots=True)
class Part:
    """A message that stands in the chat, or is about to."""

    id: int
    message_id: int | None = None
    shown: str | None = None
    is_stored: bool = False


class Messages:
    """The messages of a reply by their parts. All methods raise Gone and VendorError."""

    def __init__(self, bot: Bot, limits: RateLimits, reply: Reply) -> None:
        self.reply = reply
        self._client = bot.client
        self._db = bot.db
        self._limits = limits
        self._parts: dict[int, Part] = {}

    async def load(self) -> None:
        """Read which messages stand in the chat."""
        rows = await self._db.rows(queries.telegram_messages, self.reply.id)
        self._parts = {row["part"]: Part(row["id"], row["message_id"], row["shown"]) for row in rows}

    async def show(self, contents: Sequence[tuple[RichText, Keyboard]], first: int = 0, is_final: bool = True) -> None:
        """Have the messages of a text show exactly this. `is_final`: nothing will be changed in them."""
        for number, (content, keyboard) in enumerate(contents, first):
            wanted = hash_of(content, keyboard)
            while (part := await self.sent_part(number)).shown != wanted:
                assert part.message_id is not None
                try:
                    await self.edit(part.message_id, content, keyboard)
                except VendorError as error:
                    if error.code != "not_found" or "to edit" not in error.message:
                        raise
                    await self.drop(number)  # somebody has deleted it: it is shown in a new message
                    continue
                part.shown = wanted
            if is_final and not part.is_stored:
                part.is_stored = await self._set(part, "sent", shown=wanted)
        end = first + len(contents)
        for number in [one for one in self._parts if end <= one < FIRST_IMAGE and first == 0]:
            if (message_id := self._parts[number].message_id) is not None:
                with suppress(VendorError):
                    delete = partial(self._client.delete_message, self.reply.chat_id, message_id)
                    await self._limits.call(self.reply.chat_id, delete)
            await self.drop(number)

    async def show_once(self, number: int, action: UUID, content: RichText, keyboard: Keyboard) -> bool:
        """Show the question for an action; False if it stands there already."""
        part = await self.sent_part(number, "action", action)
        if part.shown == (wanted := hash_of(content, keyboard)):
            return False
        assert part.message_id is not None
        await self.edit(part.message_id, content, keyboard)
        part.shown = wanted
        return await self._set(part, "sent", shown=wanted)

    async def sent_part(
        self, number: int, kind: Literal["text", "action"] = "text", action: UUID | None = None
    ) -> Part:
        """The message of this part; an empty one is sent if there is none."""
        if not await self.place(number, kind, action):
            raise Gone
        part = self._parts[number]
        if part.message_id is None:
            send = partial(self._client.send_message, self.reply.chat_id, PLACEHOLDER, (), self.reply.reply_to)
            await self.send_once(number, send)
        return part

    async def place(self, number: int, kind: Kind, action: UUID | None = None) -> bool:
        """Announce a message before it is sent; False if it may have been sent before, or not by this process."""
        if number not in self._parts:
            row_id = await self._db.value(queries.telegram_place, self.reply.id, number, kind, action)
            if row_id is None:
                return False
            self._parts[number] = Part(row_id)
        return True

    def is_sent(self, number: int) -> bool:
        """Whether the message of this part stands in the chat."""
        part = self._parts.get(number)
        return part is not None and part.message_id is not None

    async def send_once(self, number: int, send: Callable[[], Awaitable[int]], lost: str = "orphaned") -> None:
        """Send the message of a part that was placed; without an answer its state is `lost`."""
        part = self._parts[number]
        try:
            message_id = await self._limits.send(self.reply.chat_id, send)
        except VendorError as error:
            if error.is_outcome_unknown:
                await self.drop(number, lost)
            raise
        part.message_id = message_id
        if not await self._set(part, "sent", message_id):
            raise Gone  # the user was erased meanwhile

    async def drop(self, number: int, state: str = "deleted") -> None:
        """Forget the message of a part; the part may be sent again."""
        await self._set(self._parts.pop(number), state)

    async def edit(self, message_id: int, content: RichText, keyboard: Keyboard) -> None:
        """Edit a message of the chat, see `edit_message`."""
        await edit_message(self._client, self._limits, self.reply.chat_id, message_id, content, keyboard)

    async def _set(self, part: Part, state: str, message_id: int | None = None, shown: str | None = None) -> bool:
        """Store what became of a message, however long the database is away; False if it was erased."""
        return bool(
            await wait_for_postgres(
                lambda: self._db.value(queries.telegram_set_message, part.id, state, message_id, shown)
            )
        )


async def edit_message(
    client: TelegramClient, limits: RateLimits, chat_id: int, message_id: int, content: RichText, keyboard: Keyboard
) -> None:
    """Edit a message; without its entities if Telegram does not accept them. Raises VendorError."""
    edit = partial(client.edit_message_text, chat_id, message_id)
    try:
        await limits.call(chat_id, partial(edit, content, keyboard))
    except VendorError as error:
        if error.code != "invalid" or not content.entities:
            raise
        log.warning("telegram_entities_rejected", cause=error.message)
        await limits.call(chat_id, partial(edit, plain(content.text), keyboard))
