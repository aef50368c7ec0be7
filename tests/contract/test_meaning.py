"""Questions that share no word with their answer: words do not find it, the local embedding model does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from maas.memory.embeddings import EmbeddingBackfill, open_query_embedder
from maas.memory.search import search
from maas.model_registry import open_embedder
from maas.settings import load_settings
from shared.db import Database, open_database
from shared.models.calls import NoVector, QueryEmbedder

ANSWERS = {
    "Which pet does she have?": "We took a tabby kitten home from the shelter yesterday.",
    "Which illness did the doctor find?": "The blood test came back: diabetes, type two.",
    "Where did they spend their holiday?": "Two weeks on Crete, swimming and sleeping, that was our August.",
    "What sport does he play?": "On Tuesdays we meet on the court and hit the ball over the net.",
    "How old is the baby?": "Our little one turned seven months this week.",
    "Какое у неё домашнее животное?": "Вчера взяли из приюта рыжего котёнка.",
    "Какая у него аллергия?": "От арахиса опухает горло, хватает одного ореха.",
    "На каком инструменте он учится играть?": "По вечерам разучиваю гаммы на виолончели.",
    "Какая у него машина?": "Наконец расплатился за старенький «Вольво».",
    "Сколько лет ребёнку?": "Нашей малышке на этой неделе исполнилось семь месяцев.",
}
OTHERS = (
    "The dentist moved our appointment to Thursday.", "Paint for the fence is in the shed.",
    "I returned the books to the library.", "The train was late again.", "My cousin married in spring.",
    "We repaired the roof before winter.", "The new phone has a better camera.", "He lost his umbrella at the concert.",
    "The neighbours planted apple trees.", "I finished the report at midnight.", "The bakery closes at six.",
    "She bought a red coat.", "The heating broke down on Sunday.", "I am reading a novel about sailors.",
    "Стоматолог перенёс приём на четверг.", "Краска для забора лежит в сарае.", "Я вернула книги в библиотеку.",
    "Электричка опять опоздала.", "Двоюродный брат женился весной.", "Крышу починили до зимы.",
    "У нового телефона камера лучше.", "Он забыл зонт на концерте.", "Соседи посадили яблони.",
    "Отчёт закончил в полночь.", "Булочная закрывается в шесть.", "Она купила красное пальто.",
    "В воскресенье сломалось отопление.", "Читаю роман о моряках.",
)  # fmt: skip
FIRST = 3


@pytest.fixture
async def memory(database: str, connection: psycopg.Connection[DictRow]) -> AsyncIterator[tuple[Database, UUID]]:
    user, texts = uuid4(), (*ANSWERS.values(), *OTHERS)
    turns = [{"role": "user", "content": text, "conversation": f"talk {number}"} for number, text in enumerate(texts)]
    connection.execute("select maas_import(%s, 'test', %s)", (user, Jsonb(turns)))
    async with open_database(database, 2, "test") as db:
        yield db, user


@pytest.fixture
async def questions(memory: tuple[Database, UUID]) -> AsyncIterator[QueryEmbedder]:
    settings = load_settings(embedding_model="local:e5-small")
    embedder = open_embedder(settings)
    assert embedder is not None
    backfill = EmbeddingBackfill(memory[0], embedder, settings.models)
    while await backfill.step():
        pass
    async with open_query_embedder(memory[0], embedder, 10) as questions:
        assert questions is not None
        yield questions


async def test_meaning_finds_what_words_do_not(memory: tuple[Database, UUID], questions: QueryEmbedder) -> None:
    db, user = memory
    for question, answer in ANSWERS.items():
        by_words = [hit.text for hit in await search(db, user, question, limit=FIRST)]
        by_both = [hit.text for hit in await search(db, user, question, limit=FIRST, query_embedder=questions)]
        assert answer not in by_words, question
        assert answer in by_both, question


async def test_a_question_does_not_wait_for_many_others(questions: QueryEmbedder) -> None:
    asked = (questions.vector(f"{n}: {question}") for n in range(3) for question in ANSWERS)
    vectors = await asyncio.gather(*asked, return_exceptions=True)
    refused = [one for one in vectors if isinstance(one, NoVector)]
    assert len(vectors) - len(refused) == 4 and all(one.is_busy for one in refused)
    assert len(await questions.vector("Is anybody there now?")) > 0
