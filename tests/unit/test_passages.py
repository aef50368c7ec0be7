"""Passages of a long text: nothing is lost, and they end where something ends."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from maas.memory.passages import MAX_CHARS, MIN_CHARS, split_passages

SENTENCE = "The tall ships left the old harbour at dawn. "
TEXTS = st.text(alphabet=st.sampled_from("аБz .!?…:#-\"'\n\t。1🏻\u0301\u200d"), max_size=400)


def parts(text: str, min_chars: int = MIN_CHARS, max_chars: int = MAX_CHARS) -> list[str]:
    return [text[start:end] for start, end in split_passages(text, min_chars, max_chars)]


@given(TEXTS, st.integers(1, 40), st.integers(0, 60))
@example("1 。", 1, 0)
def test_nothing_is_lost_and_no_passage_is_too_long(text: str, min_chars: int, more: int) -> None:
    passages = parts(text, min_chars, min_chars + more)
    assert "".join(passages) == text
    assert all(passages)
    assert all(len(passage.strip()) <= min_chars + more for passage in passages)


def test_a_short_text_is_one_passage() -> None:
    assert parts("") == []
    assert parts("Alma lives in Lisbon.\n\nSince May.") == ["Alma lives in Lisbon.\n\nSince May."]


def test_passages_end_at_paragraphs_then_lines_then_sentences_then_words() -> None:
    paragraph = SENTENCE * 5
    assert parts(f"{paragraph}\n\n{paragraph}\n\n{paragraph}") == [f"{paragraph}\n\n", f"{paragraph}\n\n", paragraph]
    items = [f"- item {number}: {'word ' * 20}\n" for number in range(12)]
    assert all(part.startswith("- item") and part.endswith("\n") for part in parts("".join(items)))
    assert all(part.startswith("The tall") for part in parts(SENTENCE * 40))
    assert all(part.startswith("word") and part.endswith("word ") for part in parts("word " * 400))
    assert [len(part) for part in parts("x" * 1000)] == [400, 400, 200]


def test_a_heading_stays_with_what_it_announces() -> None:
    ships = "- a ship\n" * 60
    text = f"{SENTENCE * 4}\n\n### The harbour\n\n{SENTENCE * 6}\n\nThese ships came back:\n\n{ships}"
    assert "".join(parts(text)) == text
    assert not any(part.strip().endswith(("### The harbour", "came back:")) for part in parts(text))


def test_a_character_is_not_cut_from_what_is_joined_to_it() -> None:
    family = "👩\u200d👩\u200d👧"
    assert all(not part.startswith("\u200d") and not part.endswith("\u200d") for part in parts(family * 200))


@pytest.mark.parametrize(
    "text",
    [
        "x" * 1_000_000,
        "\n" * 100_000,
        " " * 1_000_000,
        "a. " * 300_000,
        "a " * 500_000,
        "# a\n" * 200_000,
        "." * 1_000_000,
        'a."\n' * 100_000,
        "ё\u0301" * 300_000,
    ],
    ids=lambda text: repr(text[:4]),
)
def test_hostile_texts_take_linear_time(text: str) -> None:
    begin = time.process_time()
    assert "".join(parts(text)) == text
    assert time.process_time() - begin < 3
