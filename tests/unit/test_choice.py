"""Which of several actions a typed message decides: all or some that it names plainly, else none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maas.tools.consent import Subject, subject_words
from maas.tools.consent.choice import Choice, read_choice

LETTERS = {place: Subject(*subject_words("send_email"), names=(name,)) for place, name in ((1, "Анна"), (2, "Иван"))}
THREE = LETTERS | {3: Subject(*subject_words("send_email"), names=("Пётр",))}
ALL = (1, 2, 3)


@pytest.mark.parametrize(
    "message",
    [
        "да, все", "Да, всё!", "все да", "отправляй все", "все отправляй", "да, все три", "да, все письма",
        "подтверждаю все", "yes, all", "Yes, all of them.", "send them all", "yes, all three", "approve all",
    ],
)  # fmt: skip
def test_all_of_them(message: str) -> None:
    assert read_choice(message, THREE) == Choice("approve", ALL)


@pytest.mark.parametrize("message", ["нет, все", "отмени все", "не отправляй все", "no, all of them", "reject all"])
def test_none_of_them(message: str) -> None:
    assert read_choice(message, THREE) == Choice("reject", ALL)


@pytest.mark.parametrize(
    ("message", "places"),
    [
        ("да, кроме второго", (1, 3)),
        ("Да, все, кроме второго и третьего", (1,)),
        ("да, все кроме 2", (1, 3)),
        ("да, за исключением последнего", (1, 2)),
        ("yes, all but the second", (1, 3)),
        ("yes, except for the 1st", (2, 3)),
        ("да, второе", (2,)),
        ("да, только первое и третье", (1, 3)),
        ("отправь второе", (2,)),
        ("yes, the first and the last one", (1, 3)),
    ],
)
def test_some_of_them(message: str, places: tuple[int, ...]) -> None:
    assert read_choice(message, THREE) == Choice("approve", places, is_of_all=False)


@pytest.mark.parametrize(
    "message",
    [
        # names none of several
        "да", "нет", "yes", "отправляй", "все", "второе", "all", "only the second one", "кроме второго",
        # may mean something else: that is all, all is well
        "ладно, всё", "хорошо, всё", "всё, давай", "ок, все", "всё, хватит", "да, всё верно", "всё хорошо", "all right",
        "all good", "да, 2", "да, во вторник",
        # a condition, a change, a question, a second wish, the verb of another tool
        "да, все, но завтра", "да, все?", "да, все, кроме Ивана и Олега", "удали все", "да, отправь первые два",
        "да, все, и ещё одно Олегу", "yes, all, but on Friday", "да, все, если успеешь", "yes to all this nonsense",
        # a number that is not in the list, or another number of them
        "да, четвёртое", "да, все два", "да, оба", "yes, both", "да, кроме пятого", "да, первое, второе и десятое",
        # a refusal of some is unclear, and so is a choice within a choice
        "нет, второе", "нет, кроме второго", "нет, только второе", "да, все, второе", "да, первое, кроме первого",
        "да, все, кроме первого, второго и третьего",
    ],
)  # fmt: skip
def test_what_is_not_plain(message: str) -> None:
    assert read_choice(message, THREE) is None


def test_two_and_one() -> None:
    assert read_choice("да, оба", LETTERS) == read_choice("yes, both", LETTERS) == Choice("approve", (1, 2))
    assert read_choice("да", {2: LETTERS[2]}) == Choice("approve", (2,))
    assert read_choice("да, отправляй Ивану", {2: LETTERS[2]}) == Choice("approve", (2,))


def test_each_that_is_meant_fits() -> None:
    """A verb is that of every action that it is said of."""
    mixed = {1: LETTERS[1], 2: Subject(*subject_words("delete_campaign"))}
    assert read_choice("да, все", mixed) == Choice("approve", (1, 2))
    assert read_choice("отправляй все", mixed) is None
    assert read_choice("отправь первое", mixed) == Choice("approve", (1,), is_of_all=False)
    assert read_choice("отправь второе", mixed) is None


@given(st.text(alphabet="да нетвсеоба,кромво123 yesalbut", max_size=60))
def test_a_choice_is_within_the_list(message: str) -> None:
    choice = read_choice(message, THREE)
    assert choice is None or (choice.places and set(choice.places) <= set(THREE))
