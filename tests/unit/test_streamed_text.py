"""The text that is streamed of an answer when attempts repeat or contradict each other."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from maas.http.openai.completions import StreamedText


def stream(pieces: list[tuple[str, str]], answer: str) -> tuple[str, bool]:
    text = StreamedText()
    sent = "".join(text.add(attempt, delta) for attempt, delta in pieces) + text.finish(answer)
    return sent, text.is_exact


def test_text_is_sent_as_it_arrives() -> None:
    text = StreamedText()
    assert [text.add("1.1", word) for word in ("\nThe ", "cat", " \n", "sleeps. ")] == [
        "The",
        " cat",
        "",
        " \nsleeps.",
    ]
    assert (text.finish("The cat \nsleeps."), text.is_exact) == ("", True)


def test_an_answer_without_deltas_is_sent_as_a_whole() -> None:
    assert stream([], "All of it.") == ("All of it.", True)


def test_an_attempt_that_repeats_the_text_continues_it() -> None:
    assert stream([("1.1", "The cat"), ("2.1", "The "), ("2.1", "cat sleeps.")], "The cat sleeps.") == (
        "The cat sleeps.",
        True,
    )


def test_an_attempt_that_differs_begins_a_paragraph() -> None:
    pieces = [("1.1", "Let me look."), ("1.2", "Let "), ("1.2", "it snow.")]
    assert stream(pieces, "Let it snow.") == ("Let me look.\n\nLet it snow.", False)
    assert stream([("1.1", "The cat sleeps."), ("2.1", "The cat")], "The cat") == ("The cat sleeps.\n\nThe cat", False)


@given(st.lists(st.lists(st.text(alphabet="ab \n", max_size=4), max_size=5), max_size=3), st.text(alphabet="ab \n"))
def test_the_answer_is_at_the_end_and_nothing_before_it_unless_said_so(attempts: list[list[str]], answer: str) -> None:
    answer = answer.strip()
    pieces = [(str(number), delta) for number, deltas in enumerate(attempts) for delta in deltas]
    sent, is_exact = stream(pieces, answer)
    assert sent.endswith(answer)
    assert is_exact == (sent == answer)
