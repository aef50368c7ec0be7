"""A bot in Telegram: what people write is answered once, in order, in messages that are sent once and edited."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stack import Stack
from tests.telegram import NAME, TOKEN, Messenger, messenger


@pytest.fixture
def chats(database: str, tmp_path: Path) -> Iterator[Messenger]:
    """The bot of the built-in model, served."""
    with Stack(database, tmp_path) as stack, messenger(stack) as one:
        stack.start_orchestrator()
        one.serve()
        yield one


def test_a_message_is_answered_in_one_message(chats: Messenger) -> None:
    chats.write("My cat is called Bruno.")
    chats.wait_done()
    (message,) = chats.messages()
    (run,) = chats.stack.rows("select id, source, final_answer, metadata, conversation_id from pipeline_runs")
    assert run["source"] == "telegram" and message["text"] == run["final_answer"].strip()
    assert run["metadata"] == {"first_name": "Аня", "language_code": "ru"} and run["conversation_id"] is not None
    chats.write("What is my cat called?")
    assert "Bruno" in chats.wait("Bruno", seconds=20)["text"]
    (sent,) = chats.stack.rows("select count(*) as n from telegram_messages where state = 'sent' and shown is not null")
    assert sent["n"] == 2 and TOKEN not in chats.stack.log()
