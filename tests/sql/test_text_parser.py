"""No message holds up Postgres' text search parser, and what it is read for is found as before."""

from __future__ import annotations

from uuid import uuid4

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
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


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        ("I play the cello.", 4),
        ("It's my cello? Mine.", 5),
        ("Вчера я купила виолончель, и моей сестре её не видно", 4),
        ("А МОЙ где?", 2),  # shouted
        ("Мое где?", 6),
        ("Is Mimi a cellist?", 2),
        ("Время яблок: моемся, имя, моя-то", 4),
        ("Myth, meat, мойка, нея", 0),
        ("a " * 600 + "I", 0),
    ],
)
def test_what_says_i_is_marked(connection: Connection, text: str, flags: int) -> None:
    found = connection.execute("select maas_text_flags(%s) as flags", (text,)).fetchone()
    assert found is not None
    assert found["flags"] == flags


def test_words_at_both_ends_of_a_long_run_are_found(connection: Connection) -> None:
    found = lexemes(connection, f"walrus {'a_' * 300} zeppelin <!-- aquarium {'<!-- ' * 50}")
    for word in ("walrus", "zeppelin", "aquarium"):
        assert f"'{word}" in found


@pytest.mark.parametrize("space", [" ", "\n"])
def test_every_word_of_a_long_text_is_found_and_none_is_cut(connection: Connection, space: str) -> None:
    words = [f"w{number}q" for number in range(40_000)]
    text = space.join(words)
    assert len(text) > 200_000
    query = "select tsvector_to_array(maas_lexemes(%s)) as lexemes"
    found = connection.execute(query, (text,)).fetchone()
    assert found is not None
    assert set(found["lexemes"]) == set(words)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    words=st.lists(st.sampled_from(["ёлка", "walrus", "😀", "e\u0301t\u0301", "москва"]), min_size=1),
    gap=st.integers(0, 3000),
)
def test_pieces_hold_the_lexemes_of_their_parts(connection: Connection, words: list[str], gap: int) -> None:
    """What surrounds the cut is found, wherever the cut falls."""
    piece = " ".join(words)
    start = "a " * ((100_000 - gap) // 2)
    found = lexemes(connection, start + piece + " b" * 60_000)
    assert found == lexemes(connection, f"a {piece} b")


def test_a_text_of_a_million_different_words_is_stored(connection: Connection) -> None:
    text = "".join(f"{number:x}-" for number in range(150_000))
    assert len(text.encode()) > 800_000
    assert len(lexemes(connection, text)) > 100_000
