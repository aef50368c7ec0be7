"""The Archivist by rules: what is kept of an exchange, and when nothing is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from maas.builtin_model import BuiltinModel
from maas.builtin_model.language import PHRASES, language, stem
from maas.builtin_model.responder import respond
from maas.builtin_model.summaries import archive, summarise, tags_of
from shared.models import ModelError, Request
from shared.text import sentences

RU, EN = PHRASES["ru"], PHRASES["en"]


def talk(*turns: tuple[str, str], speaker: str | None = None, day: str = "2025-11-20") -> list[dict[str, Any]]:
    return [
        {"role": role, "speaker": speaker if role == "user" else None, "at": f"{day}T10:0{n}:00+00:00", "text": text}
        for n, (role, text) in enumerate(turns)
    ]


@pytest.mark.parametrize(
    ("user", "assistant"),
    [
        ("привет", "Здравствуйте! Чем могу помочь?"),
        ("Привет, как дела?", "Привет! Хорошо, спасибо. А у вас?"),
        ("спасибо", "Пожалуйста! Обращайтесь, если будут вопросы."),
        ("ок", "Хорошо!"),
        ("Добрый день!", "Добрый день! Чем я могу вам помочь сегодня?"),
        ("Hi!", "Hello! How can I help you today?"),
        ("thanks a lot", "You're welcome! Happy to help."),
        ("Bye", "Goodbye, take care!"),
        ("👍", "😊"),
        ("пока", RU.greeting),
        ("hello", EN.greeting),
        ("...", ""),
    ],
)
def test_small_talk_is_not_kept(user: str, assistant: str) -> None:
    record = summarise(talk(("user", user), ("assistant", assistant)))
    assert (record["tags"], record["summary"]) == ([], "")
    assert record["time_bucket_start"] == "2025-11-20"


@pytest.mark.parametrize(
    ("user", "assistant"),
    [
        ("ок", "Договорились: встреча 5 мая в 15:00 у Анны."),
        ("привет", "Ваш заказ из магазина приедет завтра вечером, курьер позвонит заранее."),
        ("Моя собака умерла", "Соболезную."),
        ("42", "Хорошо."),
        ("I moved to Berlin", "Great!"),
    ],
)
def test_what_matters_is_kept(user: str, assistant: str) -> None:
    record = summarise(talk(("user", user), ("assistant", assistant)))
    assert record["summary"]
    assert record["tags"]


def test_a_summary_of_an_exchange() -> None:
    record = json.loads(
        archive(
            {
                "logs": talk(
                    (
                        "user",
                        "Привет! Мою собаку зовут Рекс. Мы переехали в Москву в 2019 году. Какую базу взять для MaaS?",
                    ),
                    (
                        "assistant",
                        "Отличный вопрос! Для MaaS лучше взять PostgreSQL 16.\n\n```sql\nselect 1\n```\n"
                        "- **Надёжность**: транзакции\n- Поиск: индексы GIN и полнотекстовый поиск\n\nУдачи!",
                    ),
                )
            }
        )
    )
    assert record["summary"].startswith("Пользователь: Мою собаку зовут Рекс. ")
    assert "Ассистент: Для MaaS лучше взять PostgreSQL 16." in record["summary"]
    for left_out in ("Привет", "Отличный вопрос", "select 1", "**", "Удачи"):
        assert left_out not in record["summary"]
    assert 2 <= len(sentences(record["summary"])) <= 4
    assert {"MaaS", "PostgreSQL", "Pets"} <= set(record["tags"])
    assert len(record["tags"]) <= 8


SENTENCES = (
    "We moved to Lisbon in May.",
    "My sister Alma keeps bees on the roof.",
    "Мою собаку зовут Рекс.",
    "Встреча перенесена на 5 мая.",
    "Which colour shall the garden fence get?",
    "Сколько комнат в новой квартире?",
    "The kiln reaches 1200 degrees.",
    "PostgreSQL 16 подойдёт для MaaS.",
    "Do you rent the kayak or own the kayak?",
)


@given(st.lists(st.tuples(st.sampled_from(("user", "assistant")), st.lists(st.sampled_from(SENTENCES))), max_size=4))
@example([("user", ["Which colour shall the garden fence get?"]), ("assistant", ["Сколько комнат в новой квартире?"])])
def test_two_to_four_sentences_where_the_exchange_has_them(turns: list[tuple[str, list[str]]]) -> None:
    said = sum(len(texts) for _, texts in turns)
    record = summarise(talk(*((role, " ".join(texts)) for role, texts in turns)))
    assert min(said, 2) <= len(sentences(record["summary"])) <= 4


@pytest.mark.parametrize(
    ("language", "rule"),
    [
        ("ru", "summary — от 2 до 4 предложений в третьем лице, одно, если больше нечего записать."),
        ("en", "summary has 2 to 4 sentences in the third person, one if there is nothing more to note."),
    ],
)
def test_the_prompt_asks_for_two_to_four_sentences(language: str, rule: str) -> None:
    """With one alone only where there is nothing else to keep."""
    prompts = Path(__file__).resolve().parents[2] / "sql" / "prompts"
    assert rule in (prompts / f"Archivist.{language}.md").read_text(encoding="utf-8")


def test_a_question_is_kept_with_its_answer() -> None:
    record = summarise(
        talk(
            ("user", "How tall is the tower that we plan to visit in Tokyo?"),
            ("assistant", "The tower is 333 metres tall. It opened in 1958."),
        )
    )
    assert "How tall is the tower" in record["summary"]
    assert "Assistant: The tower is 333 metres tall." in record["summary"]


def test_a_named_speaker_stands_in_the_summary() -> None:
    record = summarise(talk(("user", "I adopted two kittens last Friday."), speaker="Caroline"))
    assert record["summary"] == "Caroline: I adopted two kittens last Friday."
    assert "Pets" in record["tags"]


def test_dates_span_the_logs() -> None:
    logs = talk(("user", "I bought a car."), day="2025-11-22") + talk(("user", "It is red."), day="2025-11-20")
    record = summarise(logs)
    assert (record["time_bucket_start"], record["time_bucket_end"]) == ("2025-11-20", "2025-11-22")


@pytest.mark.parametrize(
    ("query", "memory", "closing"),
    [
        ("Как зовут мою собаку?", ["- [2024-01-01] user: Мою собаку зовут Рекс"], RU.quoted),
        ("Как зовут мою собаку?", [], RU.unanswered),
        ("What is my dog called?", ["- [2024-01-01] user: My dog is called Rex"], EN.quoted),
        ("What is my dog called?", [], EN.unanswered),
    ],
)
def test_the_built_in_answer_is_never_recorded_as_a_fact(query: str, memory: list[str], closing: str) -> None:
    reply = respond({"user_query": query, "memory": memory})
    summary = summarise(talk(("user", query), ("assistant", reply)))["summary"]
    assert query in summary
    assert summary.endswith(closing)
    for own in (RU.opening, EN.opening, RU.results_heading, EN.results_heading, RU.advice, EN.advice, "Рекс", "Rex"):
        assert own not in summary


def test_a_statement_that_was_noted_is_recorded_alone() -> None:
    reply = respond({"user_query": "My cat loves fish.", "memory": []})
    assert (
        summarise(talk(("user", "My cat loves fish."), ("assistant", reply)))["summary"] == "User: My cat loves fish."
    )


def test_long_sentences_are_cut() -> None:
    record = summarise(talk(("user", "Я купил " + "очень " * 200 + "большой дом")))
    assert len(record["summary"]) < 330


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("We met Anna and Bob in Paris on Monday.", {"Anna", "Bob", "Paris"}),
        ("Trinity runs on Python and Postgres, typescript too", {"Python", "PostgreSQL", "TypeScript"}),
        ("Мы решили взять Docker", {"Docker", "Decision"}),
        ("План проекта и дедлайн", {"Planning"}),
        ("Исправь баг в функции", {"Bug fix"}),
        ("Обсудим архитектуру сервиса", {"Architecture"}),
        ("Новый дизайн макета", {"Design"}),
        ("Я узнал о звёздах", {"Learning"}),
        ("I will go there and rest in spring", {"Discussion"}),
        ("Let us rewrite it in Go", {"Go"}),
        ("Просто слова о сущем", {"Discussion"}),
    ],
)
def test_tags(text: str, tags: set[str]) -> None:
    found = tags_of([text])
    assert tags <= set(found)
    assert 1 <= len(found) <= 8
    assert not {"Monday", "REST", "Spring", "I"} & set(found)


@given(st.lists(st.tuples(st.sampled_from(["user", "assistant"]), st.text(max_size=200)), min_size=1, max_size=6))
def test_any_talk_gives_a_record(turns: list[tuple[str, str]]) -> None:
    record = json.loads(archive({"logs": talk(*turns)}))
    assert set(record) == {"time_bucket_start", "time_bucket_end", "tags", "summary"}
    assert bool(record["tags"]) == bool(record["summary"])


@pytest.mark.parametrize(
    "forms",
    [
        "собака собаку собаки собакой собак",
        "купил купила купить купили",
        "новый новая новое новым новых",
        "работа работать работает",
        "dog dogs dog's",
        "move moved moving moves",
        "study studies studied studying",
        "bought buy buys",
        "stopped stop stopping",
    ],
)
def test_forms_of_a_word_meet(forms: str) -> None:
    assert len({stem(form) for form in forms.split()}) == 1


@pytest.mark.parametrize(
    ("text", "expected"), [("Привет", "ru"), ("Hi", "en"), ("👍", "en"), ("Что такое Python", "ru")]
)
def test_language(text: str, expected: str) -> None:
    assert language(text) == expected


async def test_the_model_refuses_what_it_cannot_do() -> None:
    model = BuiltinModel()
    for request, said in (
        (Request("Painter", ()), "cannot play Painter"),
        (Request("Archivist", ()), "needs the input 'logs' for Archivist"),
    ):
        with pytest.raises(ModelError) as caught:
            await model.complete(request, 1.0)
        assert caught.value.code == "bad_request"
        assert said in caught.value.message
    await model.close()
