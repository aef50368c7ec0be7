"""What administrators of all users see and change over HTTP, against the tables."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta
from typing import Any
from uuid import UUID, uuid4

import httpx2
import psycopg
import pytest
from psycopg.types.json import Jsonb

from maas.http.routes import all_routes
from maas.users import NewKey, create_key
from shared.db import open_database
from tests.logins import login
from tests.polling import poll
from tests.stack import Stack

ADMIN_ROUTES = [
    pytest.param(route, id=f"{route.method} {route.path}")
    for route in all_routes()
    if route.path.startswith("/v1/admin/")
]
ZONE = "Asia/Almaty"
METRICS = """
  select {day} as day, count(*) filter (where r.kind = 'ask') as requests,
    count(*) filter (where r.kind = 'ask' and r.status = 'COMPLETED') as completed,
    count(*) filter (where r.kind = 'ask' and r.status = 'FAILED') as failed,
    avg(extract(epoch from r.completed_at - r.created_at) * 1000)
      filter (where r.kind = 'ask' and r.status = 'COMPLETED')::float8 as average_ms,
    percentile_cont(0.95) within group (order by extract(epoch from r.completed_at - r.created_at)::float8 * 1000)
      filter (where r.kind = 'ask' and r.status = 'COMPLETED') as p95_ms,
    coalesce(sum((select sum(c.tokens_in + c.tokens_out) from llm_calls c where c.run_id = r.id)), 0)::bigint as tokens,
    coalesce(sum((select sum(c.price) from llm_calls c where c.run_id = r.id)), 0)::float8 / 1e6 as dollars
  from pipeline_runs r where r.created_at >= %s and r.created_at < %s {group}"""
RUNS = """
  begin;
  set local session_replication_role = replica;
  insert into pipeline_runs (user_id, user_query, queue_key, kind, status, queue_state, created_at, completed_at, seq)
  select md5((n % 7)::text)::uuid, 'q', gen_random_uuid(), case n % 5 when 0 then 'action' else 'ask' end,
    case n % 4 when 0 then 'FAILED' else 'COMPLETED' end, 2, at, at + n * interval '13 ms', n
  from generate_series(1, 120) n
  cross join lateral (select '2026-03-01T10:00:00Z'::timestamptz + n * interval '97 min' as at) a;
  insert into sum_exceptions select id, false from pipeline_runs where created_at < '2026-04-01';
  commit"""
CALLS = """
  insert into llm_calls (run_id, try, stage, round, attempt, provider, model, role_name, finish, tokens_in, tokens_out,
    ms, price)
  select id, 1, 'final_responder', c, 1, 'p', 'm', 'Mentor', 'stop', seq, 3 * c, 1,
    case when seq % 3 > 0 then seq * 10 + c end
  from pipeline_runs cross join generate_series(1, 2) c where created_at < '2026-04-01'"""


@pytest.fixture(scope="module")
def stack(fresh_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A server that asks for keys, as a login with the rights of servers alone; and an orchestrator."""
    folder = tmp_path_factory.mktemp("stack")
    with login(fresh_database, "maas_server") as dsn, Stack(fresh_database, folder, MAAS_AUTH="keys") as running:
        running.start_server(DATABASE_URL=dsn, MAAS_TIMEZONE=ZONE)
        running.start_orchestrator(MAAS_TIMEZONE=ZONE)
        running.client.headers["authorization"] = f"Bearer {new_key(running, 'root', scopes=('admin',))}"
        yield running


def new_key(stack: Stack, name: str, **fields: Any) -> str:
    async def create() -> str:
        async with open_database(stack.dsn, 1, "test") as db:
            return await create_key(db, NewKey(name, **fields), "test")

    return asyncio.run(create())


@pytest.fixture(scope="module")
def root(stack: Stack) -> str:
    """The name of the administrator in the audit."""
    return f"key:{stack.client.headers['authorization'].split('_')[1]}"


@pytest.fixture
def other(stack: Stack) -> Iterator[httpx2.Client]:
    """Another administrator."""
    headers = {"authorization": f"Bearer {new_key(stack, 'other', scopes=('admin',))}"}
    with httpx2.Client(base_url=stack.client.base_url, timeout=30, trust_env=False, headers=headers) as client:
        yield client


def get(stack: Stack, path: str, **parameters: Any) -> Any:
    reply = stack.client.get(f"/v1/admin/{path}", params=parameters)
    assert reply.status_code == 200, reply.text
    return reply.json()


def last_audit(stack: Stack, action: str) -> dict[str, Any]:
    (row,) = stack.rows("select * from audit where action = %s order by id desc limit 1", action)
    return row


@pytest.mark.parametrize("route", ADMIN_ROUTES)
def test_only_unbound_administrators_are_let_in(stack: Stack, route: Any) -> None:
    user = uuid4()
    path = route.path.replace("{role}", "Mentor").replace("{id}", str(user)).replace("{key}", "0" * 12)
    bound = new_key(stack, "bound", scopes=("admin",), user_id=user)
    for key in (bound, new_key(stack, "no admin", scopes=("ask", "read", "metrics"))):
        body = None if route.body is None else {"is_admin": True}
        headers = {"authorization": f"Bearer {key}"}
        reply = stack.client.request(route.method, path, headers=headers, json=body)
        assert (reply.status_code, reply.json()["error"]["code"]) == (403, "forbidden"), reply.text


def test_metrics_equal_the_tables(stack: Stack) -> None:
    stack.rows(RUNS)
    stack.rows(CALLS)
    for since, until in (("2026-03-02T00:00:00+05:00", "2026-03-08T12:00:00+05:00"), ("2026-03-01", "2026-04-01")):
        got = get(stack, "metrics", **{"from": since, "to": until})
        zoned = [f"{at}T00:00:00+05:00" if "T" not in at else at for at in (since, until)]
        day = f"(r.created_at at time zone '{ZONE}')::date"
        days = stack.rows(METRICS.format(day=day, group="group by 1 order by 1"), *zoned)
        (total,) = stack.rows(METRICS.format(day="null", group=""), *zoned)
        assert len(days) > 5 and total["failed"] and total["dollars"]
        assert [one["day"] for one in got["days"]] == [str(row["day"]) for row in days]
        for figures, row in zip([*got["days"], got["total"]], [*days, total], strict=True):
            assert figures["p95_ms"] == pytest.approx(row["p95_ms"], rel=0.005)
            row["p95_ms"] = figures["p95_ms"]
            assert figures == pytest.approx(
                {name: row[name] for name in row if name in figures and name != "day"}
                | ({"day": figures["day"]} if "day" in figures else {})
            ), (figures, row)
    empty = get(stack, "metrics", **{"from": "2020-01-01", "to": "2020-02-01"})
    assert empty["days"] == [] and empty["total"] == {
        "requests": 0,
        "completed": 0,
        "failed": 0,
        "average_ms": None,
        "p95_ms": None,
        "tokens": 0,
        "dollars": 0.0,
    }


def test_metrics_show_the_engine(stack: Stack) -> None:
    run_id = uuid4()
    stack.rows(
        """insert into pipeline_runs (id, user_id, user_query) values (%s, gen_random_uuid(), 'hello there')""", run_id
    )
    stack.wait_archived(run_id)
    got = get(stack, "metrics")
    assert got["days"][-1]["requests"] >= 1 and got["total"]["completed"] >= 1
    assert got["queue"].keys() > {"inbox", "paused", "scheduled"} and not any(got["queue"].values())
    (engine,) = got["engines"]
    assert engine["is_alive"] and engine["name"].partition(":")[2].isdigit() and engine["in_flight"] == 0
    assert got["embedding"] is None and got["stuck"] == []
    poll(lambda: get(stack, "metrics")["engines"][0]["heartbeat_at"] > engine["heartbeat_at"], what="a heartbeat")
    assert stack.client.get("/v1/admin/metrics", params={"from": "x"}).status_code == 400
    to = date.today() + timedelta(days=100)
    year = get(stack, "metrics", **{"from": "2000-01-01", "to": f"{to}"})
    assert year["days"] and year == get(stack, "metrics", **{"from": f"{to - timedelta(days=400)}", "to": f"{to}"}) | {
        "engines": year["engines"]
    }


def test_runs_and_memories_of_all_users_are_audited(stack: Stack, root: str) -> None:
    user = uuid4()
    texts = ("My sister Alma moved to Lisbon in May.", "My brother Bert lives in Bergen since June.")
    runs = [_ask(stack, user, text) for text in texts]
    stack.wait_archived(*runs)
    found = get(stack, "runs", q="lisbon")["results"]
    assert str(runs[0]) in [run["request_id"] for run in found]
    row = last_audit(stack, "runs_list")
    assert (row["actor"], row["user_id"], row["details"]) == (root, None, {"filters": ["q"]})
    page = get(stack, "runs", user_id=user, status="COMPLETED", assistant="mentor", limit=1)
    assert [run["request_id"] for run in page["results"]] == [str(runs[1])]
    rest = get(stack, "runs", user_id=user, before=page["next"])
    assert [run["request_id"] for run in rest["results"]] == [str(runs[0])] and rest["next"] is None
    assert last_audit(stack, "runs_list")["user_id"] == user
    assert get(stack, "runs", user_id=user, assistant="stickers")["results"] == []

    memories = get(stack, "memories", user_id=user)["results"]
    assert {one["user_id"] for one in memories} == {str(user)} and len(memories) == 2
    assert memories[0]["level"] == 0 and memories[0]["messages"] == 2 and memories[0]["superseded_by"] is None
    assert (last_audit(stack, "memories_list")["user_id"], last_audit(stack, "memories_list")["actor"]) == (user, root)
    tag = memories[0]["tags"][0]
    assert memories[0]["id"] in [one["id"] for one in get(stack, "memories", tag=tag, level=0)["results"]]
    assert get(stack, "memories", user_id=user, level=3)["results"] == []
    first = get(stack, "memories", user_id=user, limit=1)
    assert first["results"] + get(stack, "memories", user_id=user, before=first["next"])["results"] == memories
    for wrong in ("level=4", "level=x", "tag=", "tag=%00", "before=x", "user_id=x"):
        assert stack.client.get(f"/v1/admin/memories?{wrong}").status_code == 400


def _ask(stack: Stack, user: UUID, text: str) -> UUID:
    (row,) = stack.rows("insert into pipeline_runs (user_id, user_query) values (%s, %s) returning id", user, text)
    return UUID(str(row["id"]))


def test_a_prompt_is_changed_and_its_history_says_by_whom(stack: Stack, root: str, other: httpx2.Client) -> None:
    before = get(stack, "prompts/Compactor")
    assert before["version"] == 1 and before["variables"] == ["records", "start_date", "end_date", "limit"]
    body = {"text": "Merge {records}, please.", "is_active": True, "version": 1}
    changed = stack.client.put("/v1/admin/prompts/Compactor", json=body)
    assert changed.status_code == 200, changed.text
    assert changed.json() == get(stack, "prompts/Compactor")
    assert (changed.json()["version"], changed.json()["text"]) == (2, body["text"])
    late = other.put("/v1/admin/prompts/Compactor", json=body | {"text": "Mine"})
    error = late.json()["error"]
    assert (late.status_code, error["code"]) == (409, "conflict")
    assert root in error["message"] and error["details"]["version"] == 2 and error["details"]["changed_by"] == root
    assert other.put("/v1/admin/prompts/Compactor", json=body | {"version": 2, "is_active": False}).status_code == 200
    same = stack.client.put("/v1/admin/prompts/Compactor", json=body | {"version": 3, "is_active": False})
    assert same.json()["version"] == 3  # nothing has changed, so there is no new version
    history = get(stack, "prompts/Compactor/history")["results"]
    assert [one["version"] for one in history] == [3, 2, 1]
    assert [one["is_active"] for one in history] == [False, True, True]
    assert history[1]["changed_by"] == root and history[0]["changed_by"] not in (root, None)
    assert history[2]["text"] == before["text"]
    listed = {one["role"]: one for one in get(stack, "prompts")["results"]}
    assert (listed["Compactor"]["version"], listed["Compactor"]["is_active"]) == (3, False)
    assert listed["Compactor"]["characters"] == len(str(body["text"]))
    details = last_audit(stack, "prompt_change")["details"]
    assert details == {"how": "update", "changed": ["is_active"], "role_name": "Compactor", "version": 3}
    restored = {"text": before["text"], "is_active": True, "version": 3}
    assert stack.client.put("/v1/admin/prompts/Compactor", json=restored).status_code == 200


def test_a_prompt_is_tried_on_a_recorded_run(stack: Stack, root: str) -> None:
    """The user sees nothing of it: no message, no memory, no run, no cost; and their next run does not wait for it."""
    user = uuid4()
    run_id = _ask(stack, user, "My sister Alma moved to Lisbon in May.")
    stack.wait_archived(run_id)
    counted = [
        f"select count(*) as n from {table} where user_id = %s"
        for table in ("raw_logs", "lsm_storage", "chat_messages", "token_usage", "facts")
    ]
    before = [stack.rows(count, user)[0]["n"] for count in counted]
    tokens = stack.rows("select tokens from token_usage where user_id = %s", user)
    for role in ("FinalResponder", "Mentor", "Mentor.en"):
        body = {"run_id": str(run_id), "text": f"You are on trial as {role}."}
        reply = stack.client.post(f"/v1/admin/prompts/{role}/try", json=body)
        assert reply.status_code == 202, reply.text
        trial = stack.answer(UUID(reply.json()["request_id"]))
        assert (trial["status"], trial["kind"]) == ("COMPLETED", "trial")
        assert trial["query"] == "My sister Alma moved to Lisbon in May." and trial["final_answer"]
        trial_id = UUID(trial["request_id"])
        stack.wait_archived(trial_id)
        (row,) = stack.rows("select archive_status, is_remembered from pipeline_runs where id = %s", trial_id)
        assert row == {"archive_status": "SKIPPED", "is_remembered": False}
        (call,) = stack.rows("select * from llm_calls where run_id = %s", trial_id)
        assert (call["role_name"], call["prompt_version"], call["price"]) == ("FinalResponder", -1, 0)
        audit = last_audit(stack, "prompt_try")
        assert (audit["actor"], audit["user_id"], audit["subject"]) == (root, user, run_id)
        assert "on trial" not in str(audit)
    assert [stack.rows(count, user)[0]["n"] for count in counted] == before
    assert stack.rows("select tokens from token_usage where user_id = %s", user) == tokens
    headers = {"authorization": f"Bearer {new_key(stack, 'own', user_id=user)}"}
    runs = stack.client.get("/v1/runs", headers=headers).json()["results"]
    assert [run["request_id"] for run in runs] == [str(run_id)]
    events = stack.client.get(f"/v1/users/{user}/events", params={"wait": 0}, headers=headers).text
    assert str(trial_id) not in events and str(run_id) in events
    assert "trial" not in stack.client.get(f"/v1/users/{user}/export").text
    assert len(get(stack, "runs", user_id=user, kind="trial")["results"]) == 3
    assert [run["request_id"] for run in get(stack, "runs", user_id=user)["results"]] == [str(run_id)]
    second = _ask(stack, user, "Where does Alma live?")
    stack.wait_archived(second)
    assert "on trial" not in str(stack.rows("select * from pipeline_runs where id = %s", second))
    (log,) = stack.rows("select id from raw_logs where run_id = %s and message_type = 'user_query'", run_id)
    assert stack.client.delete(f"/v1/memories/{log['id']}", params={"user_id": str(user)}).status_code == 200
    assert stack.rows("select from pipeline_runs where user_id = %s and kind = 'trial'", user) == []


def test_a_run_is_answered_again_from_each_stage(stack: Stack) -> None:
    """With what was known then, beside the run, which stays as it is; the user has nothing of it."""
    user = uuid4()
    for said in ("My sister Alma moved to Lisbon in May.", "Where does Alma live?"):
        run_id = _ask(stack, user, said)
        stack.wait_archived(run_id)
    stack.wait_archived(_ask(stack, user, "Alma has moved from Lisbon to Bergen."))
    state = """select (select r from pipeline_runs r where id = %s)::text, (select count(*) from run_events
      where run_id = %s) as events, (select count(*) from raw_logs where user_id = %s) as logs,
      (select count(*) from lsm_storage where user_id = %s) as summaries, (select count(*) from token_usage
      where user_id = %s) as days, (select array_agg(c::text order by c::text) from llm_calls c where c.run_id = %s)
      as calls"""
    of = (run_id, run_id, user, user, user, run_id)
    before = stack.rows(state, *of)
    (origin,) = stack.rows("select * from pipeline_runs where id = %s", run_id)
    path = f"/v1/runs/{run_id}/replay"
    for stage, roles in (
        ("analyzer", ["Analyzer", "Assembler", "FinalResponder"]),
        ("assembler", ["Assembler", "FinalResponder"]),
        ("final_responder", ["FinalResponder"]),
    ):
        reply = stack.client.post(path, json={"stage": stage} | ({} if stage == "analyzer" else {"prompt": "Try it."}))
        assert reply.status_code == 202, reply.text
        trial = UUID(reply.json()["request_id"])
        stack.wait_archived(trial)
        (row,) = stack.rows("select * from pipeline_runs where id = %s", trial)
        assert (row["kind"], row["status"], row["archive_status"]) == ("trial", "COMPLETED", "SKIPPED"), row
        assert "Lisbon" in row["final_context_payload"] and "Bergen" not in row["final_context_payload"]
        assert row["final_answer"] == origin["final_answer"] and not row["is_remembered"]
        calls = stack.rows("select role_name, prompt_version from llm_calls where run_id = %s", trial)
        assert sorted(call["role_name"].removesuffix(".en") for call in calls) == roles
        tried = {call["role_name"].removesuffix(".en") for call in calls if call["prompt_version"] == -1}
        assert tried >= ({roles[0]} if stage != "analyzer" else set())
    assert stack.rows(state, *of) == before
    other = stack.client.post(path, json={"model": "openai:"}).json()["request_id"]
    failed = stack.answer(UUID(other))
    assert (failed["status"], failed["error_code"]) == ("FAILED", "bad_setting")
    for body, status in (
        ({"stage": "archivist"}, 422),
        ({"stage": "analyzer", "prompt": "x"}, 422),
        ({"more": 1}, 422),
    ):
        assert stack.client.post(path, json=body).status_code == status
    note = _ask(stack, user, "Remember: I am allergic to nuts.")
    stack.wait_archived(note)
    refused = stack.client.post(f"/v1/runs/{note}/replay", json={"stage": "analyzer"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "not_replayable")


def test_a_request_is_sent_again_as_a_new_run(stack: Stack) -> None:
    """Once a key, when it is finished; it is remembered as any other."""
    user, talk = uuid4(), uuid4()
    body: dict[str, Any] = {
        "user_id": str(user),
        "query": "My cat is called Pixel.",
        "conversation_id": str(talk),
        "mode": "plan",
    }
    body |= {"attributes": {"batch": 7}, "metadata": {"channel": "web"}}
    first = UUID(stack.client.post("/v1/runs", json=body).json()["request_id"])
    stack.wait_archived(first)
    path, key = f"/v1/runs/{first}/again", {"Idempotency-Key": "again-1"}
    replies = [stack.client.post(path, headers=key) for _ in range(2)]
    assert [reply.status_code for reply in replies] == [202, 202]
    (second,) = {UUID(reply.json()["request_id"]) for reply in replies}
    stack.wait_archived(second)
    columns = "user_id, user_query, assistant, conversation_id, mode, metadata, attributes, is_remembered, status"
    rows = [stack.rows(f"select {columns} from pipeline_runs where id = %s", run) for run in (first, second)]
    assert second != first and rows[0] == rows[1]
    assert len(stack.rows("select from lsm_storage where user_id = %s and level = 0", user)) == 2
    trial = stack.client.post(f"/v1/runs/{first}/replay", json={}).json()["request_id"]
    for run, status in ((trial, 409), (uuid4(), 404)):
        assert stack.client.post(f"/v1/runs/{run}/again").status_code == status


def test_what_cannot_be_tried_is_refused(stack: Stack) -> None:
    user = uuid4()
    run_id = _ask(stack, user, "My brother Bert lives in Bergen.")
    stack.wait_archived(run_id)
    path, body = "/v1/admin/prompts/FinalResponder/try", {"run_id": str(run_id), "text": "Be brief."}
    trial = stack.client.post(path, json=body).json()["request_id"]
    for other, change, status, code in (
        (path, {"run_id": str(uuid4())}, 404, "not_found"),
        (path, {"run_id": trial}, 409, "not_replayable"),
        ("/v1/admin/prompts/Stickers/try", {}, 409, "not_replayable"),
        ("/v1/admin/prompts/Nobody/try", {}, 404, "not_found"),
        (path, {"text": ""}, 422, "invalid_request"),
    ):
        reply = stack.client.post(other, json=body | change)
        assert (reply.status_code, reply.json()["error"]["code"]) == (status, code), reply.text


def test_of_many_who_save_at_once_one_does(stack: Stack) -> None:
    version = get(stack, "prompts/Archivist")["version"]

    def save(number: int) -> int:
        body = {"text": f"text {number}", "is_active": True, "version": version}
        headers = {"authorization": stack.client.headers["authorization"]}
        reply = httpx2.put(
            f"{stack.client.base_url}/v1/admin/prompts/Archivist", json=body, headers=headers, trust_env=False
        )
        return reply.status_code

    with ThreadPoolExecutor(8) as pool:
        statuses = sorted(pool.map(save, range(8)))
    assert statuses == [200, *[409] * 7]
    assert get(stack, "prompts/Archivist")["version"] == version + 1


@pytest.mark.parametrize(
    ("role", "change", "status"),
    [
        ("Nobody", {}, 404),
        ("%00", {}, 404),
        ("..%2F..%2Fschema", {}, 404),
        ("Mentor", {"text": ""}, 422),
        ("Mentor", {"text": "a\x00b"}, 422),
        ("Mentor", {"text": "x" * 100_001}, 422),
        ("Mentor", {"text": " "}, 422),
        ("Mentor", {"version": -1}, 422),
        ("Mentor", {"version": 2**31}, 422),
        ("Mentor", {"is_active": None}, 422),
        ("Mentor", {"more": 1}, 422),
        ("Mentor", {"version": 99}, 409),
    ],
)
def test_a_wrong_prompt_changes_nothing(stack: Stack, role: str, change: dict[str, Any], status: int) -> None:
    before = get(stack, "prompts/Mentor")
    body = {"text": "You answer.", "is_active": True, "version": before["version"]} | change
    assert stack.client.put(f"/v1/admin/prompts/{role}", json=body).status_code == status
    assert get(stack, "prompts/Mentor") == before
    if role != "Mentor":
        for path in (role, f"{role}/history"):
            assert stack.client.get(f"/v1/admin/prompts/{path}").status_code == 404


def test_users_are_found_by_name_and_become_administrators(stack: Stack, root: str) -> None:
    names = [f"shop:{uuid4()}" for _ in range(3)]
    users = [UUID(str(stack.rows("select maas_resolve_user('api', %s) as id", name)[0]["id"])) for name in names]
    unnamed = uuid4()
    run_id = _ask(stack, unnamed, "I have no name.")
    stack.wait_archived(run_id)
    (found,) = get(stack, "users", q=names[0].upper())["results"]
    assert found | {"created_at": None} == {
        "user_id": str(users[0]),
        "names": [names[0]],
        "email": None,
        "name": None,
        "is_admin": False,
        "is_blocked": False,
        "runs": 0,
        "errors": 0,
        "dollars": 0.0,
        "last_run_at": None,
        "created_at": None,
    }
    assert last_audit(stack, "users_list")["details"] == {}
    (found,) = get(stack, "users", q=str(unnamed))["results"]
    assert (found["names"], found["runs"]) == ([], 1) and found["last_run_at"] == found["created_at"]
    seen, cursor = list[str](), None
    while True:
        page = get(stack, "users", limit=2, **({"before": cursor} if cursor else {}))
        seen += [user["user_id"] for user in page["results"]]
        if (cursor := page["next"]) is None:
            break
    everybody = stack.rows("select user_id from user_identities union select user_id from pipeline_runs order by 1")
    assert seen == [str(row["user_id"]) for row in everybody]
    path = f"/v1/admin/users/{users[0]}/roles"
    for is_admin in (True, True, False):
        changed = stack.client.put(path, json={"is_admin": is_admin}).json()
        assert (changed["user_id"], changed["is_admin"]) == (str(users[0]), is_admin)
    rows = stack.rows("select * from audit where action = 'role_change' and user_id = %s order by id", users[0])
    assert [(row["actor"], row["details"]["how"]) for row in rows] == [(root, "insert"), (root, "delete")]
    assert stack.client.put(path, json={"is_admin": "yes"}).status_code == 422
    assert stack.client.put("/v1/admin/users/x/roles", json={"is_admin": True}).status_code == 404
    for text in ("%", "'", "\\", "😀", "' or true --"):
        assert get(stack, "users", q=text)["results"] == []


def test_the_users_of_a_chat_are_found_by_its_number(stack: Stack, root: str) -> None:
    group, *senders = (f"{prefix}{uuid4().int % 10**10:010}" for prefix in ("-100", "7", "7"))
    users = []
    for sender in senders:  # a group has a dialogue for each who writes there
        user = UUID(str(stack.rows("select maas_resolve_user('telegram', %s) as id", sender)[0]["id"]))
        for chat in (sender, f"{group}:{sender}"):
            stack.rows("select maas_chat_conversation(%s, %s, 'mentor')", chat, user)
        for sort in ("id", "last_run"):
            assert [one["user_id"] for one in get(stack, "users", q=sender, sort=sort)["results"]] == [str(user)]
        users.append(str(user))
    for sort in ("id", "last_run", "spend"):
        assert sorted(one["user_id"] for one in get(stack, "users", q=group, sort=sort)["results"]) == sorted(users)


def test_users_are_ranked_by_last_run_spend_and_errors(stack: Stack) -> None:
    """The highest first, page by page, with the sums of all who match."""
    word, users = f"w{uuid4().hex}", [uuid4() for _ in range(3)]
    failed = (
        "insert into pipeline_runs (user_id, user_query, queue_key, status, queue_state, seq, failed_at, error_code, "
        "created_at) select %s, 'x', gen_random_uuid(), 'FAILED', 2, nextval('run_seq'), now(), %s, "
        "now() - %s * interval '1 minute' from generate_series(1, %s)"
    )
    with psycopg.connect(stack.dsn, options="-c session_replication_role=replica") as connection:
        for number, user in enumerate(users):
            connection.execute("insert into user_identities values ('api', %s, %s)", (f"{word} {number}", user))
            price = (2, 3, 3)[number] * 1_000_000
            connection.execute("insert into token_usage values (%s, now(), 1, %s)", (user, price))
            connection.execute(failed, (user, f"code_{word}", number, number))
    for sort, order in (("spend", [1, 2, 0]), ("errors", [2, 1, 0]), ("last_run", [1, 2, 0])):
        first = get(stack, "users", q=word, sort=sort, limit=2)
        rest = get(stack, "users", q=word, sort=sort, limit=2, before=first["next"])
        seen = [one["names"][0][-1] for one in first["results"] + rest["results"]]
        if sort == "spend":  # two have spent the same
            seen[:2] = sorted(seen[:2])
        assert (sort, seen) == (sort, [str(number) for number in order])
        assert first["total"] == rest["total"] == {"users": 3, "errors": 3, "dollars": 8.0}
    assert [one["errors"] for one in get(stack, "users", q=word, sort="errors")["results"]] == [2, 1, 0]
    assert get(stack, "users", q=f"no {word}", sort="spend") == {
        "results": [],
        "total": {"users": 0, "errors": 0, "dollars": 0.0},
        "next": None,
    }
    for wrong in ("sort=x", "sort=spend&before=x", "sort=spend&before=1_2"):
        assert stack.client.get(f"/v1/admin/users?{wrong}").status_code == 400
    assert len(get(stack, "runs", error_code=f"code_{word}")["results"]) == 3
    assert len(get(stack, "runs", error_code=f"code_{word}", user_id=users[2])["results"]) == 2
    assert get(stack, "runs", error_code=word)["results"] == []


def test_actions_that_wait_are_listed_for_all_users(stack: Stack, root: str) -> None:
    """Newest first, page by page, with the user and the tool in words; neither decided nor expired ones."""
    word, users = uuid4().hex, [uuid4(), uuid4()]
    proposed = (
        "select maas_propose_action(%s, %s, 'send_mail', '{\"to\": \"Ann\"}', 'dangerous', p_wording => %s) as id"
    )
    title = {"en": "Send a letter", "ru": "Отправить письмо"}
    runs = [_ask(stack, user, "Mail it.") for user in users]
    stack.rows("insert into user_identities values ('api', %s, %s)", word, users[0])
    actions = [
        str(stack.rows(proposed, run, call, Jsonb({"title": title} if call == "c1" else {}))[0]["id"])
        for call in ("c1", "c2", "c3", "c4")
        for run in runs
    ]
    stack.rows("update chat_pending_actions set status = 'rejected' where id = %s", actions[-1])
    stack.rows(
        "update chat_pending_actions set created_at = now() - interval '1 hour', expires_at = now() where id = %s",
        actions[-2],
    )
    waiting = actions[:-2]
    first = get(stack, "actions", limit=4)
    rest = get(stack, "actions", limit=4, before=first["next"])
    listed = [one for one in first["results"] + rest["results"] if one["id"] in actions]
    assert [one["id"] for one in listed] == waiting[::-1] and rest["next"] is None
    mine = get(stack, "actions", user_id=users[0])["results"]
    assert [one["id"] for one in mine] == waiting[::2][::-1]
    assert {one["user_name"] for one in mine} == {word} and {one["run_id"] for one in mine} == {str(runs[0])}
    assert [one["title"] for one in mine] == [None, None, title]
    assert {(one["tool"], one["assistant"], one["effect"]) for one in mine} == {("send_mail", "mentor", "dangerous")}
    assert not {"arguments", "fingerprint"} & mine[0].keys()
    assert (last_audit(stack, "actions_list")["actor"], last_audit(stack, "actions_list")["user_id"]) == (
        root,
        users[0],
    )
    assert stack.client.get("/v1/admin/actions?before=x").status_code == 400


def test_what_runs_cost_is_summed_by_day_user_assistant_model_and_stage(stack: Stack, root: str) -> None:
    user = uuid4()
    runs = [_ask(stack, user, text) for text in ("My dog is Rex.", "My cat is Tom.")]
    stack.wait_archived(*runs)
    figures = "price = 500000, tokens_in = 10, tokens_out = 1, stage = stage || ' here'"
    stack.rows(f"update llm_calls set {figures} where run_id = any(%s)", runs)
    (calls,) = stack.rows("select count(*)::int as number from llm_calls where run_id = any(%s)", runs)
    name = f"shop:{user}"
    stack.rows("insert into user_identities values ('api', %s, %s)", name, user)
    costs = {one["request_id"]: one for one in get(stack, "runs", user_id=user)["results"]}
    for kind in ("runs", "memories", "audit"):
        assert {one["user_name"] for one in get(stack, kind, user_id=user)["results"]} == {name}, kind
    assert sum(one["dollars"] for one in costs.values()) == calls["number"] / 2
    assert {one["tokens"] for one in costs.values()} == {11 * calls["number"] // 2}
    assert all(one["models"] == ["extractive:builtin"] and one["ms"] > 0 for one in costs.values())
    found = {by: get(stack, "spending", by=by) for by in ("day", "user", "assistant", "model", "stage")}
    (mine,) = [one for one in found["user"]["results"] if one["key"] == str(user)]
    assert mine["user_name"] == name and {one["user_name"] for one in found["day"]["results"]} == {None}
    assert (mine["runs"], mine["calls"], mine["dollars"]) == (2, calls["number"], calls["number"] / 2)
    assert (mine["tokens_in"], mine["tokens_out"], mine["unpriced"]) == (10 * mine["calls"], mine["calls"], 0)
    assert last_audit(stack, "spending_list")["actor"] == root
    assert {page["dollars"] for page in found.values()} == {found["day"]["dollars"]}
    assert "mentor" in [one["key"] for one in found["assistant"]["results"]]
    assert "extractive:builtin" in [one["key"] for one in found["model"]["results"]]
    stages = {one["key"]: one for one in found["stage"]["results"]}
    counted = "select stage, count(*)::int as calls from llm_calls where run_id = any(%s) group by stage"
    for row in stack.rows(counted, runs):
        assert stages[row["stage"]]["calls"] == row["calls"] and stages[row["stage"]]["runs"] == 2
    kept = "insert into daily_sums values ('user', current_date, 'erased', 3, 4, 5, 6, 7000000, 0, 0) returning key"
    stack.rows(kept)
    erased = [one for one in get(stack, "spending", by="user")["results"] if one["key"] == "erased"]
    assert [(one["user_name"], one["runs"], one["dollars"]) for one in erased] == [(None, 3, 7.0)]
    stack.rows("delete from daily_sums where key = 'erased' returning key")
    assert len(get(stack, "spending", by="user", limit=1)["results"]) == 1 <= found["user"]["keys"]
    assert get(stack, "spending", to="2020-01-01") == {"results": [], "dollars": 0.0, "keys": 0}
    assert stack.client.get("/v1/admin/spending?by=x").status_code == 400


def test_the_inventory_says_why_something_does_not_work(stack: Stack) -> None:
    stack.rows(
        "insert into assistants (name, role_name, definition, is_active, inactive_reason) "
        "values ('broken', 'Mentor', '{}', false, 'no model') on conflict do nothing"
    )
    user = uuid4()
    run = _ask(stack, user, "Hello")
    stack.wait_archived(run)
    stack.rows("update llm_calls set provider = 'openai', model = 'm', error = 'auth: no key' where run_id = %s", run)
    found = get(stack, "inventory")
    states = {one["name"]: (one["is_active"], one["inactive_reason"]) for one in found["assistants"]}
    assert (states["mentor"], states["broken"]) == ((True, None), (False, "no model"))
    failed = [one for one in found["models"] if one["model"] == "openai:m"]
    assert failed and all(one["failures"] and one["last_error"] == "auth: no key" for one in failed)
    stack.rows("delete from assistants where name = 'broken'")


def test_keys_are_made_used_and_revoked(stack: Stack, root: str) -> None:
    user = uuid4()
    body = {"name": "веб page", "scopes": ["read", "ask"], "user_id": str(user), "per_minute": 60, "days": 3}
    reply = stack.client.post("/v1/admin/keys", json=body)
    assert reply.status_code == 201, reply.text
    made = reply.json()
    headers = {"authorization": f"Bearer {made['key']}"}
    assert stack.client.get("/v1/runs", headers=headers).json() == {"results": [], "next": None}
    listed = {key["id"]: key for key in get(stack, "keys")["results"]}
    key = listed[made["id"]]
    assert (key["name"], key["scopes"], key["user_id"], key["state"]) == (
        "веб page",
        ["ask", "read"],
        str(user),
        "active",
    )
    assert made["key"].split("_")[2] not in str(listed) + stack.log()
    assert last_audit(stack, "key_create")["actor"] == root
    assert [stack.client.delete(f"/v1/admin/keys/{made['id']}").status_code for _ in range(2)] == [204, 204]
    assert last_audit(stack, "key_revoke")["actor"] == root
    poll(lambda: stack.client.get("/v1/runs", headers=headers).status_code == 401, what="the key is refused")
    for unknown in ("0" * 12, "x", "%00", "%F0%9F%98%80"):
        assert stack.client.delete(f"/v1/admin/keys/{unknown}").status_code == 404


@pytest.mark.parametrize(
    "change",
    [
        {"scopes": ["root"]},
        {"scopes": []},
        {"scopes": ["open"]},
        {"name": ""},
        {"name": " "},
        {"name": "x" * 101},
        {"name": "a\x00"},
        {"name": "a\nb"},
        {"prefix": "p", "user_id": str(uuid4())},
        {"per_minute": 0},
        {"days": 0},
        {"days": 36_501},
        {"prefix": ""},
        {"secret": "mine"},
    ],
)
def test_a_wrong_key_is_not_made(stack: Stack, change: dict[str, Any]) -> None:
    before = get(stack, "keys")
    assert stack.client.post("/v1/admin/keys", json={"name": "wrong"} | change).status_code == 422
    assert get(stack, "keys") == before


def test_the_audit_is_read_in_pages(stack: Stack, user: UUID) -> None:
    for number in range(5):
        stack.rows("select maas_write_audit('test_row', %s, null, %s, null)", user, f'{{"n": {number}}}')
    page = get(stack, "audit", user_id=user, action="test_row", limit=2)
    rest = get(stack, "audit", user_id=user, before=page["next"])
    rows = page["results"] + rest["results"]
    assert [row["details"]["n"] for row in rows] == [4, 3, 2, 1, 0] and rest["next"] is None
    assert {row["action"] for row in rows} == {"test_row"} and rows[0]["user_id"] == str(user)
    assert get(stack, "audit", action="'; drop")["results"] == []
    for wrong in ("before=x", "before=-1", "before=" + "9" * 19, "action=", "action=%00", "limit=0"):
        assert stack.client.get(f"/v1/admin/audit?{wrong}").status_code == 400


def test_a_profile_is_the_users_own(stack: Stack, user: UUID) -> None:
    path, empty = f"/v1/users/{user}/profile", dict.fromkeys(("name", "position", "department", "language", "timezone"))
    headers = {"authorization": f"Bearer {new_key(stack, 'own', user_id=user)}"}
    foreign = {"authorization": f"Bearer {new_key(stack, 'foreign', user_id=uuid4())}"}
    assert stack.client.get(path, headers=headers).json() == empty
    profile = {
        "name": "Алма",
        "position": "Marketing",
        "department": "Sales",
        "language": "ru",
        "timezone": "Asia/Almaty",
    }
    assert stack.client.put(path, json=profile, headers=headers).json() == profile
    assert stack.client.get(path, headers=headers).json() == profile
    assert stack.client.get(path, headers=foreign).status_code == 404
    assert stack.client.put(path, json={}, headers=foreign).status_code == 404
    for wrong in (
        {"language": "de"},
        {"name": ""},
        {"name": "x" * 201},
        {"position": "\x00"},
        {"age": 7},
        {"timezone": "Mars/Olympus"},
        {"timezone": "../etc/passwd"},
        {"timezone": ""},
    ):
        assert stack.client.put(path, json=wrong, headers=headers).status_code == 422
    left = stack.client.put(path, json={"name": "Alma"}, headers=headers).json()
    assert left == empty | {"name": "Alma", "timezone": "Asia/Almaty"}  # the zone stays until it is named
    assert stack.client.put(path, json={"timezone": None}, headers=headers).json() == empty
    assert stack.client.delete(f"/v1/users/{user}").status_code == 200
    assert last_audit(stack, "erase")["details"]["user_settings"] == 1
    assert stack.client.get(path).json() == empty


def post(stack: Stack, path: str, status: int = 200, **body: Any) -> Any:
    reply = stack.client.post(f"/v1/admin/{path}", json=body)
    assert reply.status_code == status, reply.text
    return reply.json()


def test_a_user_is_paused_and_resumed(stack: Stack, root: str, user: UUID) -> None:
    assert post(stack, "pauses", subject="user", name=str(user), reason="asks too much") == {"runs": 0}
    waiting = stack.ask(user, "Are you there?")
    poll(lambda: stack.client.get(f"/v1/runs/{waiting}").json()["is_paused"], what="the run leaves the queue")
    (one,) = [one for one in get(stack, "pauses")["results"] if one["name"] == str(user)]
    assert (one["subject"], one["reason"], one["actor"]) == ("user", "asks too much", root)
    assert get(stack, "metrics")["queue"]["paused"] == 1
    assert last_audit(stack, "pause")["user_id"] == user
    assert post(stack, "pauses/end", subject="user", name=str(user)) == {"runs": 1}
    assert stack.answer(waiting)["status"] == "COMPLETED"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"subject": "user", "name": "ann"}, 404),
        ({"subject": "model", "name": "gpt"}, 404),
        ({"subject": "model", "name": "extractive:builtin"}, 404),
        ({"subject": "assistant", "name": "nobody"}, 404),
        ({"subject": "key", "name": "0" * 12}, 404),
        ({"subject": "weather", "name": "rain"}, 422),
        ({"subject": "user", "name": "a" * 201}, 422),
    ],
)
def test_what_cannot_be_paused_is_refused(stack: Stack, body: dict[str, str], status: int) -> None:
    for path in ("pauses", "pauses/end"):
        post(stack, path, status, **body)


def test_runs_are_counted_then_cancelled_then_tried_again(stack: Stack, user: UUID) -> None:
    """More runs than were counted are never changed; another batch is left alone."""
    stack.rows(
        """insert into pipeline_runs (user_id, user_query, attributes, run_at)
           select %s, 'hello', jsonb_build_object('batch', n %% 2), '2100-01-01' from generate_series(1, 8) n""",
        user,
    )
    batch: dict[str, Any] = {"attributes": {"batch": 1}, "user_id": str(user)}
    assert post(stack, "runs/cancel", **batch) == {"matched": 4, "changed": 0}
    post(stack, "runs/cancel", 409, **batch, expected=3)
    assert post(stack, "runs/cancel", **batch, expected=4) == {"matched": 4, "changed": 4}
    cancelled = "select count(*)::int as n from pipeline_runs where user_id = %s and error_code = 'cancelled'"
    poll(lambda: stack.rows(cancelled, user) == [{"n": 4}], what="they are cancelled")
    assert post(stack, "runs/cancel", **batch) == {"matched": 0, "changed": 0}

    failed: dict[str, Any] = {"user_id": str(user), "error_code": "cancelled"}
    assert post(stack, "runs/retry", **failed, to="2000-01-01") == {"matched": 0, "changed": 0}
    assert post(stack, "runs/retry", **failed) == {"matched": 4, "changed": 0}
    assert post(stack, "runs/retry", **failed, expected=9) == {"matched": 4, "changed": 4}
    rows = stack.rows("select queue_state, try from pipeline_runs where user_id = %s order by try", user)
    assert [(row["queue_state"], row["try"]) for row in rows] == [(-4, 1)] * 4 + [(-4, 2)] * 4


def test_a_high_priority_is_not_for_keys_that_are_bound(stack: Stack, user: UUID) -> None:
    bound = {"authorization": f"Bearer {new_key(stack, 'bound', user_id=user)}"}
    body = {"user_id": str(user), "query": "hello", "priority": "high"}
    reply = stack.client.post("/v1/runs", json=body, headers=bound)
    assert (reply.status_code, reply.json()["error"]["code"]) == (403, "forbidden")
    assert stack.client.post("/v1/runs", json=body | {"priority": "low"}, headers=bound).status_code == 202
    assert stack.client.post("/v1/runs", json=body).status_code == 202
