"""People who write to a bot in Telegram, which a stand-in plays, and the process that serves it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.rows import dict_row

from tests.polling import poll
from tests.programs import MAAS, Process
from tests.stack import Stack
from tests.standins.running import Running, standin

BOT = 4242
TOKEN = f"{BOT}:AAHsecret-token_0123456789"
NAME = "maas_bot"
FIXTURE: dict[str, Any] = {"bots": {TOKEN: {"id": BOT, "username": NAME}}}


class Messenger:
    """The stand-in, seen by the people who use it."""

    def __init__(self, stack: Stack, telegram: Running) -> None:
        self.stack = stack
        self.telegram = telegram
        self._numbers = itertools.count(1)

    def settings(self, **more: str) -> dict[str, str]:
        """Environment of the process."""
        return {"TELEGRAM_BOT_TOKEN": TOKEN, "TELEGRAM_BASE_URL": self.telegram.url} | more

    def serve(self, **more: str) -> Process:
        """Start the process that serves the bot."""
        return self.stack.launch(str(MAAS), "telegram", **self.settings(**more))

    def push(self, *updates: dict[str, Any]) -> None:
        """Have updates come, in this order."""
        self.telegram.merge({"push": {TOKEN: {str(next(self._numbers)): list(updates)}}})

    def write(self, text: str, chat: int = 7, **more: Any) -> None:
        """A message of a person in a private chat."""
        self.push(self.message(text, chat, **more))

    def message(self, text: str | None, chat: int = 7, sender: int | None = None, **more: Any) -> dict[str, Any]:
        kind = "private" if chat > 0 else "supergroup"
        person = {"id": sender or abs(chat), "is_bot": False, "first_name": "Аня", "language_code": "ru"}
        message = {"message_id": next(self._numbers), "chat": {"id": chat, "type": kind}, "from": person, "date": 1}
        return {"message": message | ({} if text is None else {"text": text}) | more}

    def press(self, message: dict[str, Any], row: int = 0, column: int = 0, sender: int = 7) -> str:
        """A press of a button of a message; the id of the query."""
        query = f"q{next(self._numbers)}"
        person = {"id": sender, "is_bot": False, "first_name": "Аня", "language_code": "ru"}
        place = {"message_id": message["id"], "chat": {"id": message["chat"], "type": "private"}}
        data = message["keyboard"][row][column]["callback_data"]
        self.push({"callback_query": {"id": query, "from": person, "message": place, "data": data}})
        return query

    def messages(self, chat: int = 7) -> list[dict[str, Any]]:
        """What stands in a chat, in order."""
        found = self.telegram.state().get("chats", {}).get(str(chat), {}).get("messages", {})
        return [one | {"id": int(number), "chat": chat} for number, one in found.items() if not one.get("is_deleted")]

    def texts(self, chat: int = 7) -> list[str]:
        return [one["text"] for one in self.messages(chat) if "text" in one]

    def wait(self, text: str, chat: int = 7, seconds: float = 60) -> dict[str, Any]:
        """The message of a chat that holds this text, once it is there."""

        def find() -> list[dict[str, Any]]:
            return [one for one in self.messages(chat) if text in one.get("text", "")]

        return poll(find, seconds, f"{text!r} is shown")[0]

    def wait_done(self, seconds: float = 60) -> None:
        """Return when every update is handled and every reply has ended."""
        poll(lambda: self._open() == 0, seconds, "everything is shown")

    def _open(self) -> int:
        state = self.telegram.state()
        waiting = len(state.get("push") or {})
        waiting += sum(len(one.get("updates", [])) for one in state["bots"].values())
        with psycopg.connect(self.stack.dsn, autocommit=True, row_factory=dict_row) as connection:
            row = connection.execute(
                "select (select count(*) from telegram_updates where handled_at is null)"
                " + (select count(*) from telegram_replies where state = 'open') as open"
            ).fetchone()
        assert row is not None
        return int(row["open"]) + waiting


@contextmanager
def messenger(stack: Stack, fixture: dict[str, Any] | None = None) -> Iterator[Messenger]:
    """The stand-in with a bot, until the end of the context."""
    with standin("telegram", FIXTURE | (fixture or {})) as telegram:
        yield Messenger(stack, telegram)
