"""What the Archivist shows its model, and what becomes of the replies."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from maas import queries
from maas.builtin_model import BuiltinModel
from maas.engine.run import Run
from maas.engine.stages import Deps, RoleModels
from maas.engine.states import Status
from maas.facts.exchanges import MAX_REPLY_TOKENS
from maas.settings import load_settings
from maas.settings.models import ROLES
from shared.db import open_database
from shared.models import Piece, Reply, Request
from tests.flow.test_workers import a_run
from workers import archivist

Connection = psycopg.Connection[DictRow]
CITIES = (("user", "Предложи два города"), ("assistant", "Казань, Псков"))
SECOND = (("user", "Давай второй завтра"), ("assistant", "Хорошо."))


class Scribe:
    """A model that gives its replies one after another, then the last one again, and keeps the requests."""

    provider, name = "openai", "scribe"

    def __init__(self, *replies: str) -> None:
        self.replies = list(replies)
        self.requests: list[Request] = []

    async def complete(self, request: Request, timeout: float) -> Reply:
        self.requests.append(request)
        return Reply(self.replies.pop(0) if len(self.replies) > 1 else self.replies[0])

    async def stream(self, request: Request, timeout: float) -> AsyncGenerator[Piece, None]:
        yield await self.complete(request, timeout)

    async def close(self) -> None:
        pass


def record(summary: str, *tags: str) -> str:
    return json.dumps({"summary": summary, "tags": tags}, ensure_ascii=False)


@pytest.fixture
async def deps(database: str) -> AsyncIterator[Deps]:
    async with open_database(database, 2, "test") as db:
        yield Deps(db, load_settings(), RoleModels({role: BuiltinModel() for role in ROLES}, BuiltinModel()))


async def summarize(
    deps: Deps, connection: Connection, model: Scribe, *exchanges: tuple[tuple[str, str], ...], origins: Any = None
) -> list[dict[str, Any]]:
    """Import exchanges of one conversation on 24 November 2026 and return what the Archivist writes of each."""
    user = uuid4()
    turns = [
        {"role": role, "content": text, "conversation": "one", "at": f"2026-11-24T10:{n:02}:00Z"}
        for n, (role, text) in enumerate(turn for exchange in exchanges for turn in exchange)
    ]
    (imported,) = await deps.db.rows(queries.import_turns, user, "by hand", turns, "test")
    if origins is not None:
        answers = "update raw_logs set origins = %s where message_type = 'assistant_response'"
        connection.execute(answers, (Jsonb(origins),))
    run: Run = a_run(user_id=user, id=imported["run_id"], kind="archive", status=Status.COMPLETED)
    run = replace(run, as_of=datetime.now(UTC))  # nobody has claimed it, so that its calls cannot be stored
    items: list[dict[str, Any]] = []
    deps = deps.with_models({"Archivist": model})
    while (item := (await archivist.run(run, deps)).record) is not None:
        stored = {"run_id": None, "archiver": str(run.id), "user_id": str(user)} | item
        connection.execute("select maas_write_records(%s)", (Jsonb([stored]),))
        items.append(item)
    return items


def inside(tag: str, request: Request) -> str:
    return request.messages[0].text.partition(f"<{tag}>\n")[2].partition(f"\n</{tag}>")[0]


async def test_the_exchange_before_is_shown_for_reference(deps: Deps, connection: Connection) -> None:
    """What "the second one" was; it is no part of the summary and of its messages."""
    model = Scribe(record("Пользователь просит два города."), record("Пользователь едет в Псков."))
    first, second = await summarize(deps, connection, model, CITIES, SECOND)
    assert inside("before", model.requests[0]) == ""
    before, logs = inside("before", model.requests[1]), inside("logs", model.requests[1])
    assert before == (
        "[вторник 2026-11-24 10:00] user: Предложи два города\n[вторник 2026-11-24 10:01] assistant: Казань, Псков"
    )
    assert "Псков" not in logs and "user: Давай второй 2026-11-25 (завтра)" in logs
    assert inside("person", model.requests[1]) == "user"
    assert model.requests[1].messages[0].text.index("<before>") < model.requests[1].messages[0].text.index("<logs>")
    assert model.requests[0].system == model.requests[1].system.replace("10:02", "10:00"), "a prefix that can be kept"
    assert "сегодня = вторник 2026-11-24" in model.requests[1].system
    assert second["summary"] == "Пользователь едет в Псков." and len(second["log_ids"]) == 2 == len(first["log_ids"])


async def test_a_model_that_repeats_itself_is_stopped_early(deps: Deps, connection: Connection) -> None:
    """A small one wrote 800 tokens about a question of four words, and the person's next request waited for them."""
    model = Scribe(record("Пользователь просит два города."), record("Пользователь едет в Псков."))
    await summarize(deps, connection, model, CITIES, SECOND)
    assert all(500 <= request.max_tokens < 600 for request in model.requests), "summary and facts"
    long = (("user", "Я рассказал о поездке. " * 200), ("assistant", "Понял."))
    model = Scribe(record("Пользователь рассказал о поездке."))
    await summarize(deps, connection, model, long)
    assert model.requests[0].max_tokens == 2 * MAX_REPLY_TOKENS


async def test_words_of_tools_are_not_shown_before(deps: Deps, connection: Connection) -> None:
    """A summary that takes them up would not say where they are from."""
    model = Scribe(record("Пользователь просит два города."))
    await summarize(
        deps, connection, model, CITIES, SECOND, origins=[{"kind": "tool", "name": "evil__look", "domain": "evil"}]
    )
    assert "Предложи" in inside("before", model.requests[1]) and "Псков" not in inside("before", model.requests[1])
    assert "from tool evil__look" in inside("logs", model.requests[1])


async def test_relative_days_are_dated_in_the_summary(deps: Deps, connection: Connection) -> None:
    """Also where the model does not do it."""
    model = Scribe(record("Пользователь завтра едет в Псков и через неделю вернётся."))
    (item,) = await summarize(deps, connection, model, (("user", "Завтра еду в Псков, через неделю вернусь"),))
    assert item["summary"] == "Пользователь 2026-11-25 (завтра) едет в Псков и 2026-12-01 (через неделю) вернётся."


@pytest.mark.parametrize(
    "reply",
    [
        record(""),
        record("The dentist has moved the appointment."),
        record("Lorem ipsum dolor sit amet."),
        "no JSON",
    ],
)
async def test_a_reply_that_would_lose_the_exchange_is_not_believed(
    deps: Deps, connection: Connection, reply: str
) -> None:
    """It is asked for again, then rules write the summary, and the record says so."""
    model = Scribe(reply)
    said = "Звонил стоматолог, приём перенесли на 27-е, 9:40, к доктору Вайсу."
    (item,) = await summarize(deps, connection, model, (("user", said), ("assistant", "Понял.")))
    assert item["degraded"] and "27-е, 9:40" in item["summary"] and len(model.requests) == 2
    repaired = Scribe(reply, record("Приём у доктора Вайса перенесли на 27-е, 9:40.", "Врач"))
    (item,) = await summarize(deps, connection, repaired, (("user", said), ("assistant", "Понял.")))
    assert not item["degraded"] and item["tags"] == ["Врач"]
    assert "cannot be used" in repaired.requests[1].messages[-1].text


@pytest.mark.parametrize(
    "exchange",
    [
        (("user", "Привет! Как дела?"), ("assistant", "Хорошо, спасибо!")),
        (("user", "What is a quark?"), ("assistant", "A particle.")),
    ],
)
async def test_an_empty_summary_is_believed_where_nobody_said_anything(
    deps: Deps, connection: Connection, exchange: tuple[tuple[str, str], ...]
) -> None:
    (item,) = await summarize(deps, connection, Scribe(record("")), exchange)
    assert (item["summary"], item["tags"], item["degraded"]) == ("", [], False)


async def test_small_talk_leaves_no_record_whatever_the_model_says(deps: Deps, connection: Connection) -> None:
    model = Scribe(record("The user greeted the assistant.", "Discussion"))
    (item,) = await summarize(deps, connection, model, (("user", "Hi! How are you?"), ("assistant", "Fine, thanks!")))
    assert (item["summary"], item["tags"]) == ("", [])


async def test_a_text_of_an_operator_is_filled_as_before(deps: Deps, connection: Connection) -> None:
    connection.execute(
        "update system_prompts set prompt_template = 'From {start_date} to {end_date}: {raw_logs_content} {\"a\": 1}' "
        "where role_name = 'Archivist'"
    )
    model = Scribe(record("Пользователь просит два города."))
    await summarize(deps, connection, model, CITIES)
    (request,) = model.requests
    assert request.system == "" and [one.role for one in request.messages] == ["user"]
    assert request.messages[0].text == (
        "From 2026-11-24 to 2026-11-24: [2026-11-24 10:00] user: Предложи два города\n"
        '[2026-11-24 10:01] assistant: Казань, Псков {"a": 1}'
    )


async def test_an_assistant_chooses_the_language_of_the_prompt(deps: Deps, connection: Connection) -> None:
    english = Jsonb({"prompt_language": "en"})
    connection.execute("update assistants set definition = definition || %s where name = 'mentor'", (english,))
    model = Scribe(record("The user asks for two cities."))
    await summarize(deps, connection, model, (("user", "Name two cities"), ("assistant", "Kazan, Pskov")))
    system = model.requests[0].system
    assert "no fact about the person" in system and "today = Tuesday 2026-11-24" in system
    assert inside("logs", model.requests[0]).startswith("[Tuesday 2026-11-24 10:00] user: ")


def test_what_else_a_reply_names_is_ignored() -> None:
    """Dates and ids in a reply are ignored: code knows them."""
    reply = {"summary": "A.", "tags": ["T"], "time_bucket_start": "1999-01-01", "raw_log_ids": [str(uuid4())]}
    assert archivist.parse_summary(json.dumps(reply)) == (["T"], "A.")


def record_with(facts: Any, summary: str = "Пользователь говорит о доме.") -> str:
    return json.dumps({"summary": summary, "tags": ["дом"], "facts": facts}, ensure_ascii=False)


def a_fact(text: str, change: str = "new", known: int = 0) -> dict[str, Any]:
    return {"fact": text, "about": "user", "kind": "possession", "change": change, "known": known}


SOLD = (("user", "Дом у озера продан, вместо него теперь лодка"), ("assistant", "Поздравляю с яхтой!"))
BOUGHT = (("user", "Купили дом у озера, я живу в Пскове"), ("assistant", "Наверное, дом большой."))


async def test_facts_of_the_model_stand_beside_those_of_rules(deps: Deps, connection: Connection) -> None:
    """What is known is shown by number; what only the assistant said is no fact."""
    model = Scribe(
        record_with([a_fact("Пользователь купил дом у озера."), a_fact("Дом большой.")]),
        record_with(
            [
                a_fact("Дом у озера продан.", "ends", 1),
                a_fact("У пользователя есть яхта."),
                a_fact("Вместо дома лодка.", "replaces", 9),
            ]
        ),
    )
    first, second = await summarize(deps, connection, model, BOUGHT, SOLD)
    written = [(one["statement"], one["origin"], one["change"]) for one in first["facts"]]
    assert written == [("Я живу в Пскове.", "rule", "states"), ("Пользователь купил дом у озера.", "model", "states")]
    assert "<known>" not in model.requests[0].messages[0].text and "<known>" in model.requests[0].system
    known = inside("known", model.requests[1]).splitlines()
    assert known == ["1. Пользователь купил дом у озера.", "2. Я живу в Пскове."]
    assert [(one["statement"], one["change"]) for one in second["facts"]] == [("Дом у озера продан.", "ends")]
    rows = connection.execute("select statement, state from v_facts order by said_at, statement").fetchall()
    assert [(row["statement"], row["state"]) for row in rows] == [
        ("Пользователь купил дом у озера.", "ended"),
        ("Я живу в Пскове.", "true"),
        ("Дом у озера продан.", "true"),
    ]


@pytest.mark.parametrize("facts", [None, "none", 7, [7], [{}], [a_fact("Луна сделана из сыра.")] * 500])
async def test_wrong_facts_cost_nothing_else(deps: Deps, connection: Connection, facts: Any) -> None:
    (item,) = await summarize(deps, connection, Scribe(record_with(facts)), SOLD)
    assert item["summary"].startswith("Пользователь говорит о доме.") and not item["degraded"] and "facts" not in item


async def test_facts_may_be_left_to_rules(deps: Deps, connection: Connection) -> None:
    settings = load_settings(facts="rules")
    model = Scribe(record_with([a_fact("Дом у озера продан.")]))
    (item,) = await summarize(replace(deps, settings=settings), connection, model, SOLD)
    assert "facts" not in item and "facts" not in model.requests[0].system
    assert "facts" not in str(model.requests[0].json_schema)
