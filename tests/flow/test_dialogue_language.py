"""The language of a dialogue: what an emoji, a command or a name does not change."""

from __future__ import annotations

import json
from collections.abc import Sequence
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.rows import DictRow

from maas.conversations.language import Language, dialogue_language
from shared.db import open_database

Connection = psycopg.Connection[DictRow]
RUSSIAN, ENGLISH = "Хочу стикер с котом", "I want a sticker of a cat"


def have(connection: Connection, said: Sequence[str], metadata: object = None) -> UUID:
    """A run in a conversation in which the user has said this, oldest first."""
    user, conversation = uuid4(), uuid4()
    run = uuid4()
    connection.execute(
        "insert into pipeline_runs (id, user_id, user_query, conversation_id, metadata) values (%s, %s, 'now', %s, %s)",
        (run, user, conversation, json.dumps(metadata or {})),
    )
    connection.execute("delete from chat_messages")
    for number, text in enumerate(said):
        connection.execute(
            """insert into chat_messages (conversation_id, user_id, role, content, created_at)
               values (%s, %s, 'user', %s, now() + %s * interval '1 s')""",
            (conversation, user, text, number),
        )
    return run


@pytest.mark.parametrize(
    ("text", "said", "expected"),
    [
        (RUSSIAN, [ENGLISH], "ru"),
        (ENGLISH, [RUSSIAN], "en"),
        ("Ё", [], "ru"),
        ("Hello", [], "en"),
        *((text, [RUSSIAN], "ru") for text in ("3D", "👍", "/start", "Pixar", "ok", "4x4", "https://a.example/x")),
        *((text, [ENGLISH], "en") for text in ("3D", "👍", "/start", "...")),
        ("👍", [RUSSIAN, "3D", "😀"], "ru"),
        ("👍", [RUSSIAN, ENGLISH], "en"),
        ("👍", ["ok"], "en"),
        ("", [], "en"),
    ],
)
async def test_the_language(
    database: str, connection: Connection, text: str, said: Sequence[str], expected: str
) -> None:
    run = have(connection, said)
    async with open_database(database, 1, "test") as db:
        assert await dialogue_language(db, run, "auto", text) == expected


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [({"language_code": "ru-RU"}, "ru"), ({"language_code": "de"}, "en"), ({"language_code": [1]}, "en"), ([], "en")],
)
async def test_a_client_states_it(database: str, connection: Connection, metadata: object, expected: str) -> None:
    run = have(connection, [], metadata)
    async with open_database(database, 1, "test") as db:
        assert await dialogue_language(db, run, "auto", "/start") == expected
        assert await dialogue_language(db, run, "auto", RUSSIAN) == "ru"


@pytest.mark.parametrize("language", ["ru", "en"])
async def test_a_definition_states_it(database: str, connection: Connection, language: Language) -> None:
    run = have(connection, [RUSSIAN, ENGLISH])
    async with open_database(database, 1, "test") as db:
        assert await dialogue_language(db, run, language, RUSSIAN + ENGLISH) == language


async def test_another_dialogue_does_not_matter(database: str, connection: Connection) -> None:
    have(connection, [RUSSIAN])
    async with open_database(database, 1, "test") as db:
        assert await dialogue_language(db, have(connection, []), "auto", "👍") == "en"
        assert await dialogue_language(db, uuid4(), "auto", "👍") == "en"
