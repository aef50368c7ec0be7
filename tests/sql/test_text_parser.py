"""No message holds up Postgres' text search parser, and what it is read for is found as before."""

from __future__ import annotations

from uuid import uuid4

import psycopg
import pytest
from psycopg.rows import DictRow

Connection = psycopg.Connection[DictRow]
MOST_BYTES = 65_536
PLAIN = "select strip(to_tsvector('russian', translate(%s, 'ёЁ’', 'еЕ'''))) as lexemes"
HARD = [
    "a_",
    "1.2.3e4-",
    "a-1.",
    "a_1.",
    "a-1-",
    "x-",
    "<!-- ",
    "<a ",
    "<a a='",
    "a@",
    "a/",
    "http://a.b/",
    "é_",
    "-",
    ". ",
    " ",
    "\n/",
]


def lexemes(connection: Connection, text: str) -> str:
    found = connection.execute("select maas_lexemes(%s)::text as lexemes", (text,)).fetchone()
    assert found is not None
    return str(found["lexemes"])


@pytest.mark.parametrize("piece", HARD)
def test_longest_message_is_read_in_time(connection: Connection, piece: str) -> None:
    connection.execute("set statement_timeout = '3s'")
    text = piece * (MOST_BYTES // len(piece.encode()))
    lexemes(connection, text)
    connection.execute("insert into pipeline_runs (user_id, user_query) values (%s, %s)", (uuid4(), "?" + text[:-1]))


@pytest.mark.parametrize(
    "text",
    [
        "Что я говорил про ёлку? I’ve told you about it, twice.",
        "See https://example.com/a/long/path?with=query&more=of-it, mail someone.else@example.co.uk on v1.2.3e4-5.",
        "state-of-the-art, well-known, /usr/local/lib/python3.11, -12.5e-3, 2025-11-20, AT&amp;T <b>bold</b>",
        "中国人民银行，今天下雨。" * 20,
        "w" * 100,
    ],
)
def test_ordinary_text_is_read_as_it_was(connection: Connection, text: str) -> None:
    plain = connection.execute(PLAIN, (text,)).fetchone()
    assert plain is not None
    assert lexemes(connection, text) == str(plain["lexemes"])


def test_words_at_both_ends_of_a_long_run_are_found(connection: Connection) -> None:
    found = lexemes(connection, f"walrus {'a_' * 300} zeppelin <!-- aquarium {'<!-- ' * 50}")
    for word in ("walrus", "zeppelin", "aquarium"):
        assert f"'{word}" in found
