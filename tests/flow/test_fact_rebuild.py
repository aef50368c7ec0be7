"""`maas facts rebuild`: facts found again in the words that are kept, and what a model's replies may change of them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.rows import DictRow

from maas import queries
from maas.builtin_model import BuiltinModel
from maas.engine.stages import Deps, RoleModels
from maas.facts.rebuild import FactRebuild
from maas.memory import facts
from maas.settings import load_settings
from maas.settings.models import ROLES
from shared.db import open_database
from shared.models import ModelError, Usage
from tests.flow.test_archivist import Scribe
from tests.stack import Stack, maas

STATEMENTS = "select statement from facts where user_id = %s order by statement"


def say(stack: Stack, user: UUID, *texts: str) -> None:
    stack.wait_archived(*(stack.ask(user, text) for text in texts))


def rebuild(stack: Stack, user: UUID, *options: str) -> dict[str, Any]:
    done = maas(stack, "facts", "rebuild", str(user), "--json", *options)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def statements(stack: Stack, user: UUID) -> list[str]:
    return [row["statement"] for row in stack.rows(STATEMENTS, user)]


def test_rules_find_again_what_is_missing_and_drop_what_they_do_not_find(stack: Stack, user: UUID) -> None:
    other = uuid4()
    say(stack, user, "I live in Oslo.", "My dog is called Rex.", "I love jazz.")
    say(stack, other, "I live in Rome.")
    known = ["I live in Oslo.", "I love jazz.", "My dog is called Rex."]
    assert statements(stack, user) == known
    stack.rows("delete from facts where user_id = %s and statement like '%%Rex%%' returning id", user)
    change = (
        "update facts set statement = 'I hate jazz.', origin = 'model' where user_id = %s and statement like '%%jazz%%'"
    )
    stack.rows(f"{change} returning id", user)
    changed = statements(stack, user)
    changes = rebuild(stack, user)
    assert (changes["kept"], changes["is_written"]) == (1, False)
    assert [(one["statement"], one["origin"]) for one in changes["gone"]] == [("I hate jazz.", "model")]
    assert sorted(one["statement"] for one in changes["new"]) == known[1:]
    assert statements(stack, user) == changed, "nothing is written unless asked for"
    assert rebuild(stack, user, "--write")["is_written"]
    assert statements(stack, user) == known and statements(stack, other) == ["I live in Rome."]
    assert rebuild(stack, user)["gone"] == rebuild(stack, user)["new"] == []
    text = maas(stack, "facts", "rebuild", str(user)).stdout
    assert text.strip() == "3 facts stay, 0 go, 0 are new"


def test_what_a_person_said_of_a_fact_stays(stack: Stack, user: UUID) -> None:
    say(stack, user, "I live in Oslo.", "I love jazz.")
    rows = {
        row["statement"]: row["id"] for row in stack.rows("select id, statement from facts where user_id = %s", user)
    }
    path = f"/v1/facts/{rows['I love jazz.']}"
    assert stack.client.post(f"{path}/decide", json={"user_id": str(user), "verdict": "wrong"}).is_success
    path = f"/v1/facts/{rows['I live in Oslo.']}"
    reply = stack.client.post(f"{path}/correct", json={"user_id": str(user), "fact": "I live in Moss."})
    stack.wait_archived(UUID(reply.json()["id"]))
    stack.rows("delete from facts where user_id = %s and origin = 'rule' returning id", user)
    assert statements(stack, user) == ["I live in Moss."]
    changes = rebuild(stack, user, "--write")
    assert {one["statement"] for one in changes["new"]} >= {"I live in Oslo.", "I love jazz."}
    states = "select statement, state from maas_facts(%s) where origin = 'rule' and statement = any(%s)"
    found = {row["statement"]: row["state"] for row in stack.rows(states, user, ["I live in Oslo.", "I love jazz."])}
    assert found == {"I live in Oslo.": "corrected", "I love jazz.": "wrong"}


def test_a_model_is_not_called_before_somebody_agrees(stack: Stack, user: UUID) -> None:
    say(stack, user, "I live in Oslo.")
    done = maas(stack, "facts", "rebuild", str(user), "--model", "openai:away", OPENAI_API_KEY="none")
    assert done.returncode == 1 and "openai:away is called 1 times" in done.stderr and "--yes" in done.stderr


class Forgetful(Scribe):
    """A model whose second call fails."""

    async def complete(self, request: Any, timeout: float) -> Any:
        reply = await super().complete(request, timeout)
        if len(self.requests) == 2:
            raise ModelError("bad_request", "too much")
        return replace(reply, usage=Usage(100, 10))


def reply(*found: tuple[str, str, str, int]) -> str:
    rows = [
        {"fact": fact, "about": about, "kind": "possession", "change": change, "known": known}
        for fact, about, change, known in found
    ]
    return json.dumps({"summary": "s", "tags": [], "facts": rows})


@pytest.fixture
async def deps(database: str) -> AsyncIterator[Deps]:
    async with open_database(database, 2, "test") as db:
        yield Deps(db, load_settings(), RoleModels({role: BuiltinModel() for role in ROLES}, BuiltinModel()))


async def test_a_model_reads_every_exchange_and_a_failed_one_keeps_its_facts(
    deps: Deps, connection: psycopg.Connection[DictRow]
) -> None:
    user = uuid4()
    texts = ("The blue boat belongs to Ann.", "The red car belongs to Ben.", "The blue boat was sold by Ann.")
    for place, text in enumerate(texts):
        connection.execute(
            """with run as (
                 insert into pipeline_runs (user_id, user_query, kind, source) values (%s, 'r', 'archive', 'test')
                 returning id)
               insert into raw_logs (run_id, user_id, message_type, content, conversation, occurred_at, archived_at)
               select id, %s, 'user_query', %s, %s, %s, now() from run""",
            (user, user, text, f"talk {place}", f"2026-05-0{place + 1}T10:00:00Z"),
        )
    connection.execute(
        """insert into facts (
             user_id, statement, subject, attribute, kind, said_by, said_at, known_at, raw_log_ids, origin)
           select %s, 'Ben has a red car.', 'Ben', 'car', 'possession', 'user', occurred_at, now(), array[id], 'model'
           from raw_logs where user_id = %s and content like '%%red car%%'""",
        (user, user),
    )
    connection.execute(
        """insert into lsm_storage (user_id, time_bucket_start, time_bucket_end, tags, summary)
           values (%s, '2026-05-01', '2026-05-01', '{boat}', 'Ann has a boat.')""",
        (user,),
    )
    model = Forgetful(
        reply(("The blue boat belongs to Ann.", "Ann", "new", 0)),
        "never read",
        reply(("The blue boat was sold by Ann.", "Ann", "ends", 1)),
    )
    found = await FactRebuild.open(deps.with_models({"Archivist": model}), user)
    cost = await found.estimate()
    assert (cost.calls, cost.model, cost.price) == (3, "openai:scribe", None) and not model.requests
    changes = await found.find()
    assert len(model.requests) == 3 and len(changes.failed) == 1 and "too much" in changes.failed[0]
    assert "1. The blue boat belongs to Ann." in model.requests[2].messages[0].text
    assert (changes.kept, changes.gone) == (1, ()) and [one.change for one in changes.new] == ["states", "ends"]
    await found.write(changes, "test")
    listed = {one.statement: one.state for one in await facts.list_facts(deps.db, user, 10)}
    assert listed["Ben has a red car."] == "true" and listed["The blue boat belongs to Ann."] == "ended"
    spent = await deps.db.row(queries.spending, user)
    assert spent is not None and spent["tokens"] == 220, "of two replies"
