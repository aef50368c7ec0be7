"""Rules take what is said surely, and nothing else."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from maas.facts.rules import MAX_FACTS, MAX_TEXT_CHARS, find_facts

SAID = {
    "By the way, I live in Oslo now and my dog is called Rex.": [
        ("I live in Oslo now.", "user", "residence", "states"),
        ("My dog is called Rex.", "user", "dog:rex", "states"),
    ],
    "We've just moved to New York!": [("We've just moved to New York.", "user", "residence", "begins")],
    "I no longer live in Oslo.": [("I no longer live in Oslo.", "user", "residence", "ends")],
    "My sister Anna lives in Trondheim": [("My sister Anna lives in Trondheim.", "Anna", "residence", "states")],
    "My sister lives in Bergen": [("My sister lives in Bergen.", "sister", "residence", "states")],
    "Got the keys to our new place in Turin today.": [
        ("Got the keys to our new place in Turin today.", "user", "residence", "begins")
    ],
    "I rent a small flat in Porto, it is cheap": [("I rent a small flat in Porto.", "user", "residence", "states")],
    "I've signed the contract with Quarry Lane, and I start on Monday.": [
        ("I've signed the contract with Quarry Lane, and I start on Monday.", "user", "work", "begins")
    ],
    "I quit my job.": [("I quit my job.", "user", "work", "ends")],
    "I've joined Equinor": [("I've joined Equinor.", "user", "work", "begins")],
    "My boss is Karin": [("My boss is Karin.", "user", "boss", "states")],
    "I'm allergic to peanuts, and I don't eat meat.": [
        ("I'm allergic to peanuts.", "user", "allergy:peanut", "states"),
        ("I don't eat meat.", "user", "eats:meat", "states"),
    ],
    "I love jazz. I hate mushrooms": [
        ("I love jazz.", "user", "likes:jazz", "states"),
        ("I hate mushrooms.", "user", "likes:mushroom", "states"),
    ],
    "I don't like jazz any more": [("I don't like jazz any more.", "user", "likes:jazz", "ends")],
    "My favourite colour is green": [("My favourite colour is green.", "user", "favourite:colour", "states")],
    "remember: my birthday is on 3 May": [("My birthday is on 3 May.", "user", "birthday", "states")],
    "Кстати, я живу в Осло, и у меня есть собака Рекс.": [
        ("Я живу в Осло.", "user", "residence", "states"),
        ("У меня есть собака Рекс.", "user", "собак:рекс", "states"),
    ],
    "Мою сестру зовут Анна": [("Мою сестру зовут Анна.", "user", "сестр:анн", "states")],
    "Моя сестра Анна живёт в Твери": [("Моя сестра Анна живёт в Твери.", "Анна", "residence", "states")],
    "Я переехала в Берген": [("Я переехала в Берген.", "user", "residence", "begins")],
    "Получили ключи от новой квартиры в Туле.": [
        ("Получили ключи от новой квартиры в Туле.", "user", "residence", "begins")
    ],
    "Снимаю квартиру в Туле, дёшево": [("Снимаю квартиру в Туле.", "user", "residence", "states")],
    "Подписала договор в «Граните», выхожу в понедельник": [
        ("Подписала договор в «Граните», выхожу в понедельник.", "user", "work", "begins")
    ],
    "Роман переехал в Самару": [("Роман переехал в Самару.", "Роман", "residence", "begins")],
    "Теперь работаю в «Ромашке».": [("Теперь работаю в «Ромашке».", "user", "work", "states")],
    "Я больше не ем мясо": [("Я больше не ем мясо.", "user", "eats:мяс", "ends")],
    "У меня аллергия на орехи": [("У меня аллергия на орехи.", "user", "allergy:орех", "states")],
    "Моего начальника зовут Пётр": [("Моего начальника зовут Пётр.", "user", "начальник", "states")],
    "мне 34 года": [("Мне 34 года.", "user", "age", "states")],
}
NOT_SAID = [
    "I got the keys to my car in Oslo.",
    "Signed the contract with the plumber, he begins on Monday.",
    "I signed a contract with Acme.",
    "Подписал договор с Ростелекомом.",
    "Do I live in Oslo?",
    "If I lived in Paris I would be happy.",
    "I live in constant fear.",
    "He said I live in Oslo.",
    "He lives in Oslo.",
    "Everyone lives in Oslo.",
    '"I live in Oslo" is the title.',
    "Call me tomorrow.",
    "Call me Monday",
    "I moved to Tuesday",
    "I love it when you do that.",
    "I love the idea",
    "I love his work",
    "I like your answer",
    "My boss is tired",
    "My sister is German",
    "I want to live in Oslo.",
    "I used to work at Acme.",
    "I think I live in a dream.",
    "Maybe I work at Acme",
    "In my novel I live in Rome",
    "I don't live in Oslo anymore, said Tom.",
    "Если бы я жил в Москве",
    "Я люблю тебя",
    "Я люблю это",
    "Я работаю ночью",
    "Я переехал в понедельник",
    "Он живёт в Твери",
    "Где я живу?",
    "Хочу жить в Твери",
    "Анна сказала, я живу в Твери",
    "",
    " . ",
]


@pytest.mark.parametrize("text", list(SAID))
def test_what_is_said_surely(text: str) -> None:
    found = [(fact.statement, fact.subject, fact.attribute, fact.change) for fact in find_facts(text)]
    assert found == SAID[text]


@pytest.mark.parametrize("text", NOT_SAID)
def test_what_is_not_said(text: str) -> None:
    assert find_facts(text) == []


def test_what_rests_on_a_home_or_a_job() -> None:
    assert [fact.depends_on for fact in find_facts("My boss is Karin. My neighbour is called Tom.")] == [
        ("work",),
        ("residence",),
    ]
    assert find_facts("Моего соседа зовут Олег")[0].depends_on == ("residence",)


def test_a_long_message_is_a_text() -> None:
    assert find_facts("I live in Oslo. " + "x" * MAX_TEXT_CHARS) == []
    many = " ".join(f"I love thing{number}." for number in range(40))
    assert len(find_facts(many)) == MAX_FACTS


@pytest.mark.parametrize(
    "text",
    ["I moved to " + "A" * 180, "I live in " + "Aa " * 60, "я " + "теперь " * 27, "a, " * 1300, "I love " + "x'-" * 60],
)
def test_no_text_takes_long(text: str) -> None:
    """CPU, a hundred times what it takes."""
    began = time.process_time()
    find_facts(text)
    assert time.process_time() - began < 0.5


EVERYDAY = Path(__file__).with_name("everyday")  # each line a text and what it says: subject, attribute, change


@pytest.mark.parametrize(("name", "missing"), [("en", 1), ("ru", 2)])
def test_everyday_statements_give_no_wrong_fact(name: str, missing: int) -> None:
    """What is said is missed rarely; what is not said is never a fact."""
    lines = (EVERYDAY / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    assert len(lines) > 120
    wrong, missed = [], []
    for line in lines:
        text, _, listed = line.partition(" |")
        said = {to_fact(one) for one in listed.split(";") if one.strip()}
        found = {(one.subject, one.attribute.partition(":")[0], one.change) for one in find_facts(text)}
        wrong += [(text, one) for one in found if not any(is_said(one, other) for other in said)]
        missed += [(text, one) for one in said if not any(is_said(other, one) for other in found)]
    assert wrong == []
    assert len(missed) <= missing, missed


def to_fact(words: str) -> tuple[str, str, str]:
    subject, *rest = words.split()
    change = rest.pop() if rest[-1] in ("begins", "ends") else "states"
    return subject, "-".join(rest), change


def is_said(found: tuple[str, str, str], said: tuple[str, str, str]) -> bool:
    """Whether a fact is what was said; attributes are stems."""
    return found[0] == said[0] and said[1].startswith(found[1]) and found[2] == said[2]


@pytest.mark.parametrize("text", ["I hate people who lie.", "I don't eat meat while travelling."])
def test_a_statement_keeps_what_bounds_it(text: str) -> None:
    assert [one.statement for one in find_facts(text)] == [text]
