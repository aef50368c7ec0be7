"""Excerpts of long texts: the beginning, and what fits the question."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from maas.memory.excerpts import excerpt, question_stems

QUESTION = question_stems("What does the walrus eat?")
NOISE = [f"Line number {number} tells nothing of interest to anybody." for number in range(60)]


def test_a_short_text_is_whole_and_one_line() -> None:
    assert excerpt(" Basil\n\teats  herring. ", QUESTION, 40) == "Basil eats herring."
    assert excerpt("", QUESTION, 40) == excerpt(" \n ", QUESTION, 40) == ""


def test_the_beginning_and_the_passage_that_fits_are_shown() -> None:
    text = " ".join([*NOISE[:40], "My walrus Basil eats herring twice a day.", *NOISE[40:]])
    short = excerpt(text, QUESTION, 400)
    assert short.startswith("Line number 0 tells") and short.endswith(" …")
    assert "My walrus Basil eats herring twice a day." in short
    assert " … " in short and len(short) <= 400


def test_rare_words_of_the_question_count_most() -> None:
    """A word that the whole text is about does not say which of its passages answers."""
    text = " ".join([f"The walrus, number {n}, has a walrus for a friend." for n in range(30)] + ["One eats squid."])
    assert excerpt(text, QUESTION, 400).endswith("One eats squid.")


def test_passages_keep_their_order_and_those_side_by_side_have_no_gap() -> None:
    text = " ".join([*NOISE[:20], "The walrus sleeps.", *NOISE[20:40], "It eats squid.", *NOISE[40:]])
    short = excerpt(text, QUESTION, 700)
    assert 0 < short.index("walrus sleeps") < short.index("eats squid")
    assert "… …" not in short
    near = excerpt("The walrus is here. " * 3 + "The walrus eats squid. " * 60, QUESTION, 700)
    assert " … " not in near and near.endswith(" …")


def test_without_a_match_or_room_the_beginning_is_shown() -> None:
    text = " ".join(NOISE)
    for question, chars in ((question_stems("xylophone"), 500), (frozenset[str](), 500), (QUESTION, 150)):
        short = excerpt(text, question, chars)
        assert short.startswith(NOISE[0]) and short.endswith("…") and chars // 2 < len(short) <= chars


def test_stop_words_do_not_count_unless_there_is_nothing_else() -> None:
    assert question_stems("What does the walrus eat?") == {"walru", "eat"}
    assert question_stems("Что они сказали про моржа?") == {"сказа", "моржа"}
    assert question_stems("Where have you been?") == {"where", "have", "you", "been"}


def test_inflected_words_are_found() -> None:
    text = "Привет, это длинное письмо ни о чём. " * 20 + "Моржи любят селёдку. " + "И ещё немного слов. " * 40
    assert "Моржи любят селёдку." in excerpt(text, question_stems("Что любят моржихи?"), 400)


@given(
    st.text(alphabet=st.sampled_from("walrus eats squid .!?…:#-\n🏻\u0301\u200d&<"), max_size=900),
    st.integers(10, 500),
)
def test_an_excerpt_is_one_line_and_never_longer(text: str, chars: int) -> None:
    short = excerpt(text, QUESTION, chars)
    assert len(short) <= chars
    assert "\n" not in short


def test_only_the_first_part_of_a_huge_text_is_read() -> None:
    begin = time.process_time()
    short = excerpt("word " * 1_000_000 + "walrus", QUESTION, 500)
    assert short.endswith("…") and time.process_time() - begin < 1
    assert excerpt("x" + " " * 1_000_000 + "y", QUESTION, 500) == "x …"
