"""The Final Responder by rules: quoted, never invented."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maas.builtin_model.language import PHRASES, is_builtin_answer
from maas.builtin_model.responder import respond
from shared.text import escape

RU, EN = PHRASES["ru"], PHRASES["en"]
MEMORY = [
    "Recent messages:",
    "- [2024-01-05 09:00] user: Как зовут мою собаку?",
    f"- [2024-01-05 09:01] assistant: {RU.opening} {RU.results_heading} — вы: «Мою собаку зовут Рекс»",
    "Remembered:",
    "Period: 2023-Week-19",
    "Summary: Caroline moved from Sweden and works as a counsellor.",
    "- [2024-01-02 10:00] user: Мою собаку зовут Рекс, ей три года.",
    "- [2024-01-02 10:01] assistant: Рекс — отличное имя для собаки!",
    "- [2023-05-08 13:56] Caroline: I moved from Sweden four years ago &amp; I love it &lt;3",
    "- [2023-05-08 13:57] Melanie: What did you like in Sweden?",
    "- [2024-01-03 12:00] user: I bought a red bicycle in Berlin for 300 euros.",
]


def ask(query: str, memory: list[str] | None = None) -> list[str]:
    return respond({"user_query": query, "memory": MEMORY if memory is None else memory}).split("\n")


@pytest.mark.parametrize(
    ("query", "quoted"),
    [
        ("Как зовут мою собаку?", "— вы, 2024-01-02 10:00: «Мою собаку зовут Рекс, ей три года.»"),
        ("Сколько лет собаке?", "— вы, 2024-01-02 10:00: «Мою собаку зовут Рекс, ей три года.»"),
        (
            "When did Caroline move from Sweden?",
            "— Caroline, 2023-05-08 13:56: «I moved from Sweden four years ago & I love it <3»",
        ),
        (
            "What colour is the bicycle that I buy?",
            "— you, 2024-01-03 12:00: «I bought a red bicycle in Berlin for 300 euros.»",
        ),
        ("Who is a counsellor?", "— 2023-Week-19: «Caroline moved from Sweden and works as a counsellor.»"),
    ],
)
def test_the_line_that_answers_is_quoted_first(query: str, quoted: str) -> None:
    voice = RU if query[0] in "КС" else EN
    lines = ask(query)
    assert lines[:3] == [voice.opening, voice.results_heading, quoted]
    assert len(lines) <= 5


def test_what_was_said_to_a_question_is_about_what_was_asked() -> None:
    dialogue = [
        "- [2024-03-02 09:12] Ann: I finally adopted the retired greyhound. Her name is Comet and she is four.",
        "- [2024-03-02 09:13] Ben: Wonderful! Does she get along with your cat?",
        "- [2024-03-02 09:15] Ann: So far yes, Miso just ignores her and sleeps on the piano.",
        "- [2024-03-05 10:00] Ann: The tram was late again.",
    ]
    answer = "— Ann, 2024-03-02 09:15: «So far yes, Miso just ignores her and sleeps on the piano.»"
    assert ask("What is my cat called?", dialogue) == [EN.opening, EN.results_heading, answer]
    assert ask("What is my cat called?", [line.replace("09:15", "19:15") for line in dialogue])[1] == EN.no_result
    assert ask("What is my cat called?", [line.replace("Ben", "Ann") for line in dialogue])[1] == EN.no_result


@pytest.mark.parametrize("query", ["Столица Франции?", "What is the capital of France?", "Кто изобрёл радио?"])
def test_nothing_fits(query: str) -> None:
    voice = EN if query.isascii() else RU
    assert ask(query) == [voice.opening, voice.no_result, voice.advice]


def test_no_memory() -> None:
    assert ask("Как зовут мою собаку?", []) == [RU.opening, RU.no_result, RU.advice]
    assert ask("Как зовут мою собаку?", [""]) == [RU.opening, RU.no_result, RU.advice]


def test_the_question_itself_is_no_evidence() -> None:
    lines = ["- [2024-01-05 09:00] user: Как зовут мою собаку?", "- [2024-01-04 09:00] user: как зовут собаку"]
    assert ask("Как зовут мою собаку?", lines[:1]) == [RU.opening, RU.no_result, RU.advice]
    assert ask("Как зовут собаку?", lines[1:]) == [RU.opening, RU.no_result, RU.advice]
    assert "Как зовут" not in "".join(ask("Как зовут мою собаку?"))


@pytest.mark.parametrize("closing", [RU.quoted, RU.unanswered])
def test_the_record_of_an_earlier_question_is_no_evidence(closing: str) -> None:
    memory = ["Period: 2024-Week-01", f"Summary: Пользователь: Как зовут мою собаку? {closing}"]
    assert ask("Как зовут мою собаку?", memory) == [RU.opening, RU.no_result, RU.advice]


@pytest.mark.parametrize(
    ("asked", "query"),
    [
        ("Where does my sister Alma live?", "Does Alma live in Lisbon or in Porto?"),
        ("So, do you know where Alma lives?! :)", "Where does Alma live?"),
        ("where does alma live", "In which town does Alma live?"),
        ("Remind me where Alma lives", "Where does Alma live?"),
        ("Alma — где она живёт?", "В каком городе живёт Алма?"),
        ("где живёт алма", "В каком городе живёт Алма?"),
        ("Hi! Where does Alma live? And why there?", "Why does Alma live there?"),
    ],
)
@pytest.mark.parametrize("heading", ["Recent messages:", "Remembered:"])
@pytest.mark.parametrize("who", ["user", "Ann", "assistant"])
def test_an_earlier_question_is_no_evidence(asked: str, query: str, heading: str, who: str) -> None:
    """Whoever asked it, in whatever words, wherever it stands in memory: it states nothing."""
    voice = EN if query.isascii() else RU
    answer = ask(query, [heading, f"- [2024-01-05 09:00] {who}: {escape(asked)}"])
    assert answer == [voice.opening, voice.no_result, voice.advice]


@pytest.mark.parametrize(
    ("said", "query", "quoted"),
    [
        (
            "Where is my bicycle? I left the bicycle at the station.",
            "Where is the bicycle?",
            "I left the bicycle at the station.",
        ),
        ("Мой велосипед на вокзале. А где твой?", "Где велосипед?", "Мой велосипед на вокзале."),
        ("What I like is tea with milk", "What tea do I like?", "What I like is tea with milk"),
        (
            "Когда я жил в Казани, у меня была собака",
            "Где у меня была собака?",
            "Когда я жил в Казани, у меня была собака",
        ),
        ("How the bicycle got here is a mystery.", "How is the bicycle?", "How the bicycle got here is a mystery."),
        ("Что-то болит спина", "Почему болит спина?", "Что-то болит спина"),
    ],
)
def test_what_is_stated_beside_a_question_is_quoted(said: str, query: str, quoted: str) -> None:
    (quote,) = [line for line in ask(query, [f"- [2024-01-05 09:00] user: {said}"]) if line.startswith("—")]
    assert quote.endswith(f"2024-01-05 09:00: «{quoted}»")


def test_a_record_is_quoted_for_the_answer_in_it() -> None:
    memory = ["Period: 2024-Week-01", "Summary: User: Where does my sister Alma live? Assistant: She moved to Lisbon."]
    assert ask("Where does Alma live?", memory)[2:] == ["— 2024-Week-01: «Assistant: She moved to Lisbon.»"]


def test_own_answers_are_no_evidence() -> None:
    own = f"- [2024-01-05 09:01] assistant: {EN.opening} {EN.results_heading} — you: «I have a parrot»"
    assert ask("Which parrot do I have?", [own]) == [EN.opening, EN.no_result, EN.advice]


def test_what_the_user_said_comes_before_what_was_answered() -> None:
    quotes = [line for line in ask("Какое имя у собаки Рекс?") if line.startswith("—")]
    assert quotes[0].startswith("— вы")


def test_a_query_that_only_refers_back_gets_the_newest_lines() -> None:
    quotes = [line for line in ask("О чём мы говорили вчера?") if line.startswith("—")]
    assert [quote.split(": ")[0] for quote in quotes] == [
        "— вы, 2024-01-03 12:00",
        "— ассистент, 2024-01-02 10:01",
        "— вы, 2024-01-02 10:00",
    ]


def test_of_two_facts_in_conflict_the_newer_one_is_quoted_first() -> None:
    answer = [
        "- [2024-05-01 10:00] user: My sister Alma lives in Lisbon.",
        "- [2025-02-03 10:00] user: My sister Alma lives in Porto.",
    ]
    for memory in (answer, answer[::-1]):
        assert ask("Where does my sister Alma live?", ["Recent messages:", *memory])[2:] == [
            "— you, 2025-02-03 10:00: «My sister Alma lives in Porto.»",
            "— you, 2024-05-01 10:00: «My sister Alma lives in Lisbon.»",
        ]


@pytest.mark.parametrize(
    "query", ["привет", "Спасибо большое!", "ок", "hi", "Thanks, bye!", "Good morning", "👍", "😀😀", "..."]
)
def test_small_talk_gets_a_polite_line(query: str) -> None:
    (line,) = ask(query)
    assert line in (RU.greeting, EN.greeting)


def test_a_statement_is_noted() -> None:
    assert ask("Мой кот любит рыбу.", []) == [RU.opening, RU.noted]
    assert ask("I adopted a cat.", []) == [EN.opening, EN.noted]


def test_every_answer_is_known_as_own() -> None:
    for query in ("Как зовут мою собаку?", "привет", "Столица Франции?", "I adopted a cat.", "Who moved from Sweden?"):
        assert is_builtin_answer("\n".join(ask(query)))


def test_long_lines_are_cut() -> None:
    (quote,) = [line for line in ask("Где Рекс?", ["- [2024-01-02] user: Рекс " + "тут " * 2000]) if line[0] == "—"]
    assert len(quote) < 450
    assert quote.endswith("…»")


@given(st.text(), st.lists(st.text().map(escape), max_size=6))
def test_anything_is_answered_and_the_same_way_twice(query: str, memory: list[str]) -> None:
    first = ask(query, memory)
    assert first == ask(query, memory)
    assert any(first)
