"""Days are those of MAAS_TIMEZONE: in drafts, records and buckets, and in what a question means by yesterday."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from maas import queries
from maas.builtin_model import BuiltinModel
from maas.engine.run import Run
from maas.engine.stages import Deps, RoleModels
from maas.engine.states import Status
from maas.memory.context import build_context
from maas.memory.query import SearchFilter
from maas.memory.search import search
from maas.settings import load_settings
from maas.settings.models import ROLES
from shared.db import Database
from shared.models import Reply, Request
from tests.stack import Stack, maas
from workers import archivist, draft_builder

EAST, WEST = "Asia/Vladivostok", "America/Los_Angeles"  # UTC+10, and UTC-7 in May
EVENING, NIGHT = "2024-05-01T16:30:00Z", "2024-05-02T03:30:00Z"
SAID = ((EVENING, "The kiln was fired with cobalt glaze."), (NIGHT, "The kiln cracked in the cold of the barn."))
ZONES = pytest.mark.parametrize(
    ("zone", "evening", "night"),
    [
        ("UTC", "2024-05-01 16:30", "2024-05-02 03:30"),
        (EAST, "2024-05-02 02:30", "2024-05-02 13:30"),
        (WEST, "2024-05-01 09:30", "2024-05-01 20:30"),
    ],
)


class RecordingModel(BuiltinModel):
    """The built-in model, and what it was asked."""

    def __init__(self) -> None:
        self.requests: list[Request] = []

    async def complete(self, request: Request, timeout: float) -> Reply:
        self.requests.append(request)
        return await super().complete(request, timeout)


def deps_in(db: Database, zone: str) -> tuple[Deps, RecordingModel]:
    rules = RecordingModel()
    return Deps(db, load_settings(timezone=zone), RoleModels(dict.fromkeys(ROLES, rules), rules)), rules


async def said(db: Database, user: UUID) -> UUID:
    """The run that is to record what was said."""
    turns = [{"role": "user", "content": text, "at": at, "conversation": "c"} for at, text in SAID]
    (row,) = await db.rows(queries.import_turns, user, "by hand", turns, "test")
    return UUID(str(row["run_id"]))


def a_run(user: UUID, **fields: Any) -> Run:
    values: dict[str, Any] = {
        "id": uuid4(),
        "attempt": 1,
        "seq": 10**9,
        "kind": "ask",
        "status": Status.NEW,
        "user_id": user,
        "user_query": "What became of the kiln?",
        "assistant": "mentor",
        "conversation_id": None,
        "created_at": datetime.now(UTC),
    }
    return Run(**values | fields)


@ZONES
async def test_a_draft_tells_the_days_of_the_zone(db: Database, zone: str, evening: str, night: str) -> None:
    user = uuid4()
    await said(db, user)
    deps, _ = deps_in(db, zone)
    analysis = {"needs_context": True, "time_scope": "cold", "context_found": {}}
    outcome = await draft_builder.run(a_run(user, status=Status.ANALYZED, analysis=analysis), deps)
    draft = outcome.draft
    assert draft is not None
    assert [line.split("]")[0] for line in draft.recent] == [f"- [{evening}", f"- [{night}"]
    context = await build_context(db, user, "kiln", 1000, filters=SearchFilter(zone=deps.settings.engine.zone))
    assert sorted(line.split("]")[0] for line in context.lines) == sorted([f"- [{evening[:10]}", f"- [{night[:10]}"])


@ZONES
@pytest.mark.parametrize("is_own", [False, True])
async def test_the_archivist_gets_the_days_of_the_bucket(
    db: Database, connection: psycopg.Connection[DictRow], zone: str, evening: str, night: str, is_own: bool
) -> None:
    """Period, lines and what the rules read name the days that the record gets; so they do in a user's own zone."""
    user = uuid4()
    run_id = await said(db, user)
    deps, model = deps_in(db, "Pacific/Kiritimati" if is_own else zone)
    await db.value(queries.configure_engine, {"timezone": deps.settings.engine.timezone})
    if is_own:
        connection.execute("select maas_set_timezone(%s, %s)", (user, zone))
    outcome = await archivist.run(a_run(user, id=run_id, kind="archive", status=Status.COMPLETED), deps)
    (request,) = model.requests
    weekday = "среда" if evening < "2024-05-02" else "четверг"
    assert f"[{weekday} {evening}] " in request.messages[0].text and f" {night}] " in request.messages[0].text
    assert f"сегодня = {weekday} {evening[:10]}" in request.system
    assert [log["at"][:16].replace("T", " ") for log in request.inputs["logs"]] == [evening, night]
    item = outcome.record or {}
    item |= {"archiver": str(run_id), "user_id": str(user)}
    connection.execute("select maas_write_records(%s)", (Jsonb([item]),))
    row = connection.execute("select time_bucket_start::text, time_bucket_end::text from lsm_storage").fetchone()
    assert row == {"time_bucket_start": evening[:10], "time_bucket_end": night[:10]}


@pytest.mark.parametrize(
    ("zone", "now", "said_at", "best"),
    [
        # 8 o'clock on the 2nd in the east: the evening before is the 1st, and midnight has passed since
        (EAST, "2024-05-01T22:00:00Z", ("2024-05-01T12:00:00Z", "2024-05-01T16:30:00Z"), 0),
        ("UTC", "2024-05-01T22:00:00Z", ("2024-05-01T12:00:00Z", "2024-05-01T16:30:00Z"), 1),
        # a quarter to nine in the evening of the 1st in the west, the 2nd in UTC
        (WEST, "2024-05-02T03:45:00Z", ("2024-05-01T05:00:00Z", "2024-05-01T12:00:00Z"), 0),
        ("UTC", "2024-05-02T03:45:00Z", ("2024-05-01T05:00:00Z", "2024-05-01T12:00:00Z"), 1),
    ],
)
@pytest.mark.parametrize("question", ["What of the kiln yesterday?", "kiln: что было вчера?"])
async def test_yesterday_is_that_of_the_zone(
    db: Database, question: str, zone: str, now: str, said_at: tuple[str, str], best: int
) -> None:
    user = uuid4()
    texts = ("The kiln was fired.", "The kiln has cracked.")
    facts = [("2024-01-01T10:00:00Z", "We meet."), *zip(said_at, texts, strict=True)]
    turns = [{"role": "user", "content": text, "at": at, "conversation": "c"} for at, text in facts]
    await db.rows(queries.import_turns, user, "by hand", turns, "test")
    filters = SearchFilter(as_of=datetime.fromisoformat(now), zone=load_settings(timezone=zone).engine.zone)
    assert (await search(db, user, question, filters=filters))[0].text == texts[best]


def test_times_without_an_offset_are_those_of_the_zone(database: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """By HTTP and in the terminal: from, to and as_of."""
    user = uuid4()
    with Stack(database, tmp_path_factory.mktemp("stack")) as stack:
        stack.start_server(MAAS_TIMEZONE=EAST)
        turns = [{"role": "user", "content": text, "at": at} for at, text in SAID]
        stack.client.post("/v1/memories", json={"user_id": str(user), "turns": turns}).raise_for_status()

        def found(**bounds: str) -> int:
            body = {"user_id": str(user), "query": "kiln"} | bounds
            reply = stack.client.post("/v1/memories/search", json=body)
            assert reply.status_code == 200, reply.text
            return len(reply.json()["results"])

        assert found(**{"from": "2024-05-02T00:00:00"}) == 2
        assert found(**{"from": "2024-05-02T00:00:00Z"}) == 1
        assert found(to="2024-05-02T02:31:00") == found(to="2024-05-01T16:31:00Z") == 1
        assert found(as_of="2024-05-02") == 0 and found(as_of="2024-05-02T00:00:00+00:00") == 1
        context = {"user_id": str(user), "query": "kiln", "as_of": "2024-05-02T03:00:00"}
        assert "- [2024-05-02] user: The kiln was fired" in stack.client.post("/v1/context", json=context).text
        shown = maas(stack, "search", "kiln", "--user", str(user), "--to", "2024-05-02T03:00:00", MAAS_TIMEZONE=EAST)
        assert "2024-05-02" in shown.stdout and "cobalt" in shown.stdout and "cracked" not in shown.stdout
