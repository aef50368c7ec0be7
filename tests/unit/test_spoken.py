"""What is sent of an answer that cannot be taken back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from maas.http.openai_stream import Spoken


def told(pieces: list[tuple[str, str]], answer: str) -> tuple[str, bool]:
    spoken = Spoken()
    sent = "".join(spoken.hear(attempt, delta) for attempt, delta in pieces) + spoken.end(answer)
    return sent, spoken.is_whole


def test_words_go_out_as_they_come() -> None:
    spoken = Spoken()
    assert [spoken.hear("1.1", word) for word in ("\nThe ", "cat", " \n", "sleeps. ")] == [
        "The",
        " cat",
        "",
        " \nsleeps.",
    ]
    assert (spoken.end("The cat \nsleeps."), spoken.is_whole) == ("", True)


def test_an_answer_that_was_not_said_goes_out_whole() -> None:
    assert told([], "All of it.") == ("All of it.", True)


def test_who_begins_anew_and_says_the_same_goes_on() -> None:
    assert told([("1.1", "The cat"), ("2.1", "The "), ("2.1", "cat sleeps.")], "The cat sleeps.") == (
        "The cat sleeps.",
        True,
    )


def test_who_begins_anew_otherwise_begins_a_paragraph() -> None:
    pieces = [("1.1", "Let me look."), ("1.2", "Let "), ("1.2", "it snow.")]
    assert told(pieces, "Let it snow.") == ("Let me look.\n\nLet it snow.", False)
    assert told([("1.1", "The cat sleeps."), ("2.1", "The cat")], "The cat") == ("The cat sleeps.\n\nThe cat", False)


@given(st.lists(st.lists(st.text(alphabet="ab \n", max_size=4), max_size=5), max_size=3), st.text(alphabet="ab \n"))
def test_the_answer_is_at_the_end_and_nothing_before_it_unless_said_so(attempts: list[list[str]], answer: str) -> None:
    answer = answer.strip()
    pieces = [(str(number), delta) for number, deltas in enumerate(attempts) for delta in deltas]
    sent, is_whole = told(pieces, answer)
    assert sent.endswith(answer)
    assert is_whole == (sent == answer)
