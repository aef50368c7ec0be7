"""A user as a whole: exported, brought back, erased; memories stored and forgotten."""

from __future__ import annotations

import json
from typing import Any
from unittest.mock import ANY
from uuid import UUID, uuid4

import psycopg
import pytest

from tests.polling import poll
from tests.sql.traces import tables_with
from tests.stack import NOBODY, Stack

NDJSON = {"content-type": "application/x-ndjson"}
JSON = {"content-type": "application/json"}


def post(stack: Stack, user: UUID, *lines: Any, headers: dict[str, str] = NDJSON) -> Any:
    text = "\n".join(one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in lines)
    return stack.client.post(f"/v1/users/{user}/import", content=text.encode(), headers=headers)


def export(stack: Stack, user: UUID) -> list[dict[str, Any]]:
    reply = stack.client.get(f"/v1/users/{user}/export")
    assert reply.status_code == 200, reply.text
    assert reply.headers["content-type"] == "application/x-ndjson"
    return [json.loads(line) for line in reply.text.splitlines()]


def of(lines: list[dict[str, Any]], *kinds: str) -> list[dict[str, Any]]:
    return [line for line in lines if line.get("type") in kinds]


def count(stack: Stack, user: UUID) -> int:
    return len(stack.rows("select from raw_logs where user_id = %s", user))


def live(stack: Stack, user: UUID) -> None:
    """A memory of every kind: imported, stored, asked, small talk, merged."""
    turns = [
        {
            "role": role,
            "content": f'{text} «ёж» \\ " \n\t😀',
            "at": f"2024-03-0{n}T10:00:00.123456+03:00",
            "speaker": "Ann",
            "conversation": "spring",
            "external_id": f"x{n}",
        }
        for n, (role, text) in enumerate([("user", "I adopted a greyhound"), ("assistant", "Her name?")], start=1)
    ]
    runs = [UUID(one) for one in post(stack, user, *turns).json()["run_ids"]]
    result = stack.client.post("/v1/memories", json={"user_id": str(user), "memory": "The boat is called Zephyr."})
    runs.append(UUID(result.json()["request_id"]))
    runs.append(stack.ask(user, "My sister Alma moved to Lisbon.", metadata={"channel": "web"}))
    runs.append(stack.ask(user, "привет"))
    stack.wait_archived(*runs)
    stack.rows(
        """insert into lsm_storage (user_id, level, time_bucket_start, time_bucket_end, tags, summary, raw_log_ids)
           select user_id, 1, '2024-03-01', '2024-03-02', tags, 'merged', raw_log_ids from lsm_storage
           where user_id = %s and run_id is null limit 1""",
        user,
    )
    stack.rows(
        """update lsm_storage c set superseded_by = p.id, superseded_at = now() from lsm_storage p
           where p.user_id = %s and p.level = 1 and c.user_id = p.user_id and c.level = 0
             and c.raw_log_ids = p.raw_log_ids""",
        user,
    )


def test_round_trip_after_erasing(stack: Stack, user: UUID) -> None:
    """Export, erase, import, export: the same logs and records row by row, and nothing to record again."""
    live(stack, user)
    before = export(stack, user)
    header, logs, records = before[0], of(before, "log"), of(before, "record")
    assert (header["maas"], header["version"], header["user_id"]) == ("export", 1, str(user))
    assert len(logs) == 7 and any(record["superseded_by"] for record in records)
    assert {run["status"] for run in of(before, "run")} == {"COMPLETED"}
    assert any(run["answer"] and run["query"].startswith("My sister") for run in of(before, "run"))
    receipt = stack.client.delete(f"/v1/users/{user}").json()
    assert receipt["user_id"] == str(user)
    assert receipt["erased"].items() >= {"raw_logs": 7, "lsm_storage": len(records)}.items()
    assert len(export(stack, user)) == 1
    restored = post(stack, user, *before)
    assert restored.status_code == 202, restored.text
    assert restored.json() == {
        "status": "processing",
        "added": 7,
        "known": 0,
        "records": len(records),
        "others": len(of(before, "fact")),
        "left_out": {},
        "run_ids": [],
    }
    after = export(stack, user)
    assert of(after, "log", "record") == logs + records
    assert of(after, "run") == []
    found = stack.client.post("/v1/memories/search", json={"user_id": str(user), "query": "greyhound"}).json()
    assert "greyhound" in found["results"][0]["memory"]
    again = post(stack, user, *before).json()
    assert (again["added"], again["known"], again["records"], again["run_ids"]) == (0, 7, 0, [])
    assert of(export(stack, user), "log", "record") == logs + records
    asked = stack.ask(user, "Where does my sister Alma live?")
    assert "Lisbon" in stack.answer(asked)["final_answer"]


def test_a_long_turn_is_kept_whole(stack: Stack, user: UUID) -> None:
    """A turn of 350 kB in a ChatGPT export: found by its last word, exported byte for byte, forgotten as one."""
    words = " ".join(f'слово{number} 😀 e\u0301\n\t"' for number in range(14_000))
    content = f"{words} the walrus is called Barnaby"
    assert len(content) > 200_000 and len(content.encode()) > 350_000
    message = {"id": "m1", "author": {"role": "user"}, "create_time": 1709290800.0, "content": {"parts": [content]}}
    conversation = {"conversation_id": "c1", "current_node": "n1", "mapping": {"n1": {"message": message}}}
    added = post(stack, user, json.dumps([conversation]), headers=JSON)
    assert (added.status_code, added.json()["added"]) == (202, 1), added.text
    stack.wait_archived(*map(UUID, added.json()["run_ids"]))
    again = post(stack, user, json.dumps([conversation]), headers=JSON).json()
    assert (again["added"], again["known"]) == (0, 1)
    [log] = of(export(stack, user), "log")
    assert log["content"] == content
    other = uuid4()
    for known in (0, 1):
        restored = post(stack, other, *export(stack, user)).json()
        assert (restored["added"], restored["known"]) == (1 - known, known)
    assert [line["content"] for line in of(export(stack, other), "log")] == [content]
    search = {"user_id": str(user), "query": "walrus Barnaby"}
    assert [hit["id"] for hit in stack.client.post("/v1/memories/search", json=search).json()["results"]] == [log["id"]]
    assert stack.client.delete(f"/v1/memories/{log['id']}").status_code == 200
    assert log["id"] not in [line["id"] for line in of(export(stack, user), "log")]
    assert of(export(stack, other), "log")


def test_a_turn_that_is_too_long_is_named(stack: Stack, user: UUID) -> None:
    """One of ours; of another product's export it is counted, because nobody can split it."""
    reply = post(stack, user, json.dumps([{"role": "user", "content": "x " * 600_000}]), headers=JSON)
    assert (reply.status_code, count(stack, user)) == (422, 0)
    assert "item 1: content exceeds 1 MiB" in reply.json()["error"]["message"]
    message = {"id": "m7", "author": {"role": "user"}, "content": {"parts": ["x " * 600_000]}}
    conversation = {"conversation_id": "c1", "current_node": "n1", "mapping": {"n1": {"message": message}}}
    reply = post(stack, user, json.dumps([conversation]), headers=JSON)
    assert (reply.status_code, reply.json()["left_out"]) == (202, {"messages of more than 1 MiB": 1})


def test_an_export_moves_to_another_user(stack: Stack, user: UUID) -> None:
    """Ids are new, the same each time, and point to each other as before; all else is equal."""
    live(stack, user)
    before, other = export(stack, user), uuid4()
    assert post(stack, other, *before).json()["added"] == 7
    after = export(stack, other)
    pairs = list(zip(of(before, "log", "record"), of(after, "log", "record"), strict=True))
    ids = {old["id"]: new["id"] for old, new in pairs}
    runs = {old["run_id"]: new["run_id"] for old, new in pairs} | {
        old.get("archived_run_id"): new.get("archived_run_id") for old, new in pairs
    }
    assert not set(ids) & set(ids.values())
    for old, new in pairs:
        for name, value in old.items():
            expected: Any = value
            if name in ("id", "record_id", "superseded_by"):
                expected = value and ids[value]
            elif name in ("run_id", "archived_run_id"):
                expected = value and runs[value]
            elif name == "raw_log_ids":
                expected = [ids[one] for one in value]
            elif name == "origins":  # and that a file brought it
                expected = [{"kind": "import", "name": "export"}, *value]
            assert new[name] == expected, name
    assert post(stack, other, *before).json()["added"] == 0


def test_words_that_were_not_recorded_yet_are_recorded_after_the_move(stack: Stack, user: UUID) -> None:
    live(stack, user)
    lines = export(stack, user)
    for line in of(lines, "log"):
        line |= {"archived_at": None, "archived_run_id": None, "record_id": None}
    other = uuid4()
    reply = post(stack, other, *[line for line in lines if line.get("type") != "record"]).json()
    stack.wait_archived(*map(UUID, reply["run_ids"]))
    assert len(reply["run_ids"]) == 1
    assert stack.rows("select from raw_logs where user_id = %s and archived_at is null", other) == []
    assert len(stack.rows("select from lsm_storage where user_id = %s", other)) == 2
    assert post(stack, other, *[line for line in lines if line.get("type") != "record"]).json()["added"] == 0


def log_line(**changes: Any) -> dict[str, Any]:
    at = "2024-01-01T00:00:00Z"
    return {
        "type": "log",
        "id": str(uuid4()),
        "run_id": str(uuid4()),
        "turn_no": 0,
        "role": "user",
        "content": "x",
        "speaker": None,
        "conversation": "c",
        "external_id": None,
        "metadata": None,
        "at": at,
        "known_at": at,
        "archived_at": at,
        "archived_run_id": None,
        "record_id": None,
        "created_at": at,
        **changes,
    }


def record_line(**changes: Any) -> dict[str, Any]:
    at = "2024-01-01T00:00:00Z"
    return {
        "type": "record",
        "id": str(uuid4()),
        "run_id": None,
        "level": 0,
        "time_bucket_start": "2024-01-01",
        "time_bucket_end": "2024-01-01",
        "tags": ["T"],
        "summary": "x",
        "raw_log_ids": [],
        "is_degraded": False,
        "occurred_at": at,
        "known_at": at,
        "superseded_by": None,
        "superseded_at": None,
        "created_at": at,
        **changes,
    }


GOOD = {"role": "user", "content": "fine", "external_id": "1"}
HEADER = {"maas": "export", "version": 1, "user_id": str(uuid4())}


@pytest.mark.parametrize(
    ("lines", "word"),
    [
        ([GOOD, GOOD, "{broken"], "line 3: not JSON"),
        ([GOOD, "7"], "line 2: must be an object"),
        ([GOOD, {"role": "system", "content": "x"}], "line 2: role"),
        ([GOOD, {"role": "user", "content": " \u200b"}], "line 2: content"),
        ([GOOD, {"role": "user", "content": "x" * 1_100_000}], "line 2: content exceeds 1 MiB"),
        ([GOOD, '{"role": "user", "content": "x", "at": NaN}'], "line 2: not JSON"),
        ([GOOD, {"role": "user", "content": "x", "at": "0001-01-01T00:00:00+14:00"}], "line 2: at"),
        ([GOOD, "[" * 50_000], "line 2: not JSON"),
        ([*[GOOD | {"external_id": str(n)} for n in range(1200)], "{"], "line 1201"),
        ([[GOOD, 5]], "conversation 2"),
        ([[{"mapping": {"a": {"message": {"author": "x", "content": {}}}}}]], "conversation 1"),
        ([HEADER | {"version": 2}], "line 1: version"),
        ([HEADER | {"user_id": "me"}], "line 1: user_id"),
        ([HEADER, {"type": "thing"}], "line 2: type"),
        ([HEADER, log_line(content="a\x00b")], "line 2: holds a NUL"),
        ([HEADER, json.dumps(log_line(content="x")).replace('"x"', '"\\ud800"')], "line 2: holds a NUL"),
        ([HEADER, log_line(id="7")], "line 2: id"),
        ([HEADER, log_line(at="9999-12-31T23:00:00-10:00")], "line 2: at"),
        ([HEADER, log_line(turn_no=2**40)], "line 2: turn_no"),
        ([HEADER, log_line(), record_line(raw_log_ids=[str(uuid4())])], "do not belong together"),
        ([HEADER, log_line(record_id=str(uuid4()))], "do not belong together"),
        ([HEADER, record_line(time_bucket_start="2025-01-01")], "line 2"),
        ([HEADER, record_line(tags="T")], "line 2: tags"),
        ([HEADER, log_line(conversation="d", external_id="e"), log_line(conversation="d", external_id="e")], "already"),
    ],
)
def test_one_bad_line_and_nothing_is_imported(stack: Stack, user: UUID, lines: list[Any], word: str) -> None:
    reply = post(stack, user, *lines)
    assert reply.status_code == 422, reply.text
    error = reply.json()["error"]
    assert error["code"] == "bad_import"
    assert word in error["message"] and len(error["message"]) < 500
    for table in ("raw_logs", "lsm_storage", "pipeline_runs", "audit"):
        assert stack.rows(f"select from {table} where user_id = %s", user) == []


def test_an_import_cannot_touch_what_is_of_another_user(stack: Stack, user: UUID) -> None:
    """Ids of somebody else's logs and records, as rows of one's own or as sources of one's own."""
    live(stack, user)
    before = export(stack, user)[1:]
    log, record = of(before, "log")[0]["id"], of(before, "record")[0]["id"]
    thief = uuid4()
    header = HEADER | {"user_id": str(thief)}
    for lines, status in (
        ([log_line(id=log)], 202),
        ([record_line(id=record)], 202),  # theirs, under other ids
        ([record_line(raw_log_ids=[log])], 202),
        ([log_line(record_id=str(uuid4()))], 422),
    ):
        reply = post(stack, thief, header, *lines)
        assert reply.status_code == status, reply.text
    result = json.dumps(export(stack, thief))
    assert log not in result and record not in result
    assert export(stack, user)[1:] == before


def test_a_line_cannot_say_whose_it_is(stack: Stack, user: UUID) -> None:
    """Nor anything else that an export does not: a column that is not known is refused, and the line says so."""
    for name in ("user_id", "seq", "tsv", "nonsense"):
        error = post(stack, user, HEADER, log_line(**{name: str(uuid4())})).json()["error"]
        assert (error["code"], name in error["message"]) == ("bad_import", True)
        assert "newer MaaS" in error["message"]
    newer = post(stack, user, HEADER | {"version": 2}, log_line()).json()["error"]["message"]
    assert "reads exports of version 1" in newer
    assert count(stack, user) == 0


@pytest.mark.parametrize(
    ("content", "headers", "status"),
    [
        (b'{"role": "user", "content": "\xff"}', NDJSON, 422),
        (b'{"role": "user", "content": "' + b"x" * 9_000_000 + b'"}', NDJSON, 422),
        (b"\n" * (64 * 1024 * 1024 + 1), NDJSON, 413),
        (b"role=user", {"content-type": "text/csv"}, 415),
    ],
)
def test_bad_bytes_are_not_imported(
    stack: Stack, user: UUID, content: bytes, headers: dict[str, str], status: int
) -> None:
    reply = stack.client.post(f"/v1/users/{user}/import", content=content, headers=headers)
    assert reply.status_code == status, reply.text
    assert reply.json()["error"]["message"]
    assert count(stack, user) == 0


@pytest.mark.parametrize("form", ["lines", "array", "chatgpt", "empty"])
def test_every_form_is_imported_once(stack: Stack, user: UUID, form: str) -> None:
    """Turns without ids, times and dialogues are the same turns when they come again."""
    turns = [{"role": "user", "content": "I keep bees."}, {"role": "assistant", "content": "How many?"}]
    message = {"id": "m1", "author": {"role": "user"}, "content": {"parts": ["I keep bees."]}, "create_time": 1.7e9}
    bodies: dict[str, list[Any]] = {
        "lines": turns,
        "array": [turns],
        "chatgpt": [[{"id": "c1", "current_node": "a", "mapping": {"a": {"message": message}}}]],
        "empty": [],
    }
    body = bodies[form]
    number = {"chatgpt": 1, "empty": 0}.get(form, 2)
    headers = JSON if form in ("array", "chatgpt") else NDJSON
    first, second = post(stack, user, *body, headers=headers), post(stack, user, *body, headers=headers)
    assert (first.status_code, first.json()["added"], len(first.json()["run_ids"])) == (202, number, min(number, 1))
    assert (second.json()["added"], second.json()["known"], second.json()["run_ids"]) == (0, number, [])
    assert count(stack, user) == number


def test_a_memory_is_stored_without_a_question(stack: Stack, user: UUID) -> None:
    """Found at commit, recorded by the run, once for one external_id."""
    body = {
        "user_id": str(user),
        "memory": "My violin was made by Guadagnini.",
        "external_id": "v1",
        "at": "2024-05-05",
    }
    reply = stack.client.post("/v1/memories", json=body)
    assert reply.status_code == 202, reply.text
    result = reply.json()
    found = stack.client.post("/v1/memories/search", json={"user_id": str(user), "query": "violin"}).json()["results"]
    assert [one["id"] for one in found] == result["raw_log_ids"]
    assert found[0]["occurred_at"] == "2024-05-05T00:00:00Z"
    stack.wait_archived(UUID(result["request_id"]))
    assert stack.client.get(result["poll_url"]).json()["archive_status"] == "ARCHIVED"
    listed = stack.client.get("/v1/memories", params={"user_id": str(user)}).json()["results"]
    assert listed[0]["raw_log_ids"] == result["raw_log_ids"]
    assert stack.client.post("/v1/memories", json=body).json() == result
    turns = [
        {"role": "user", "content": "What strings?", "speaker": "Ann"},
        {"role": "assistant", "content": "Gut.", "at": "2024-05-06T10:00:00+02:00", "external_id": "v2"},
    ]
    several = stack.client.post("/v1/memories", json={"user_id": str(user), "turns": turns, "conversation": "c"}).json()
    rows = stack.rows(
        "select id, conversation, speaker, content, metadata->>'source' as source from raw_logs where run_id = %s"
        " order by turn_no",
        several["request_id"],
    )
    assert [str(row["id"]) for row in rows] == several["raw_log_ids"]
    assert [(row["speaker"], row["content"], row["conversation"]) for row in rows] == [
        ("Ann", "What strings?", "c"),
        (None, "Gut.", "c"),
    ]
    assert {row["source"] for row in rows} == {"api"}


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"memory": None}, "either memory or turns"),
        ({"turns": [{"role": "user", "content": "x"}]}, "either memory or turns"),
        ({"memory": " \u200b"}, "blank"),
        ({"memory": "a\x00b"}, "NUL"),
        ({"memory": "я" * 32_769}, "65536"),
        ({"memory": None, "turns": []}, "turns"),
        ({"memory": None, "turns": [{"role": "user", "content": "я" * 131_073}]}, "262144"),
        ({"memory": None, "turns": [{"role": "system", "content": "x"}]}, "role"),
        ({"memory": None, "turns": [{"role": "user", "content": "x"}] * 501}, "turns"),
        ({"memory": None, "turns": [{"role": "user", "content": "x"}], "external_id": "1"}, "each turn"),
        ({"conversation": "x" * 201}, "conversation"),
        ({"external_id": "\x00"}, "NUL"),
        ({"at": "0001-01-01T00:00:00+14:00"}, "years"),
        ({"user_id": "nobody"}, "user_id"),
        ({"source": "x"}, "source"),
    ],
)
def test_a_bad_memory_is_refused(stack: Stack, user: UUID, change: dict[str, Any], word: str) -> None:
    body = {"user_id": str(user), "memory": "fine"} | change
    reply = stack.client.post("/v1/memories", json={name: value for name, value in body.items() if value is not None})
    assert reply.status_code == 422, reply.text
    assert word in reply.json()["error"]["message"]
    assert count(stack, user) == 0


def test_a_memory_is_forgotten_by_every_read(stack: Stack, user: UUID) -> None:
    mark = "zqx31wv"
    stack.wait_archived(stack.ask(user, f"The code of the safe is {mark}."), stack.ask(user, "My tent is green."))
    search = {"user_id": str(user), "query": f"code of the safe {mark}"}
    found = stack.client.post("/v1/memories/search", json=search).json()["results"]
    records = stack.client.get("/v1/memories", params={"user_id": str(user)}).json()["results"]
    record = next(one for one in records if mark in one["memory"])
    assert stack.client.delete(f"/v1/memories/{record['id']}?user_id={uuid4()}").status_code == 404
    assert stack.client.delete(f"/v1/memories/{record['id']}?user_id=me").status_code == 400
    shown = stack.client.delete(f"/v1/memories/{record['id']}?user_id={user}&preview=true")
    assert mark in stack.client.get(f"/v1/memories/{record['id']}").text, "a preview deletes nothing"
    assert stack.rows("select from audit where user_id = %s and action = 'forget'", user) == []
    gone = stack.client.delete(f"/v1/memories/{record['id']}?user_id={user}")
    assert gone.status_code == 200
    assert shown.json() == gone.json()
    assert gone.json() == {
        "id": record["id"],
        "logs": 2,
        "records": 1,
        "facts": 0,
        "reopened": 0,
        "answers": 0,
        "repeating": [],
        "doubtful": [ANY],
        "doubtful_runs": 1,
    }
    for body in (search, search | {"as_of": "2999-01-01T00:00:00Z"}):
        assert mark not in stack.client.post("/v1/memories/search", json=body).text
        assert mark not in stack.client.post("/v1/context", json=body).text
    assert mark not in stack.client.get("/v1/memories", params={"user_id": str(user)}).text
    for memory in (record["id"], *record["raw_log_ids"], found[0]["id"]):
        assert stack.client.get(f"/v1/memories/{memory}").status_code == 404
        assert stack.client.get(f"/v1/memories/{memory}/sources").status_code == 404
        assert stack.client.delete(f"/v1/memories/{memory}").status_code == 404
    asked = stack.ask(user, "What is the code of the safe?")
    stack.wait_archived(asked)
    draft = stack.rows("select draft_context, final_answer from pipeline_runs where id = %s", asked)
    assert mark not in str(draft)
    assert len(stack.client.get("/v1/memories", params={"user_id": str(user)}).json()["results"]) == 2
    actions = stack.rows("select action, actor, subject from audit where user_id = %s", user)
    assert actions == [{"action": "forget", "actor": "http", "subject": UUID(record["id"])}]


def test_no_byte_of_an_erased_user_is_left(stack: Stack, user: UUID) -> None:
    mark, other = "zqx52wv", uuid4()
    stack.ask(other, "I am somebody else.")
    ids = [
        stack.ask(user, f"I hid {mark} in the garden.", conversation_id=str(uuid4()), metadata={"note": mark}),
        stack.ask(user, f"Where is {mark}?"),
    ]
    turn = {"role": "user", "content": mark, "speaker": mark, "conversation": mark, "external_id": mark}
    ids += [UUID(one) for one in post(stack, user, turn).json()["run_ids"]]
    stack.wait_archived(*ids)
    export(stack, user)
    with psycopg.connect(stack.dsn, autocommit=True, row_factory=psycopg.rows.dict_row) as connection:
        assert {"raw_logs", "lsm_storage", "pipeline_runs", "llm_calls"} <= set(tables_with(connection, mark))
        assert stack.client.delete(f"/v1/users/{user}").status_code == 200
        assert tables_with(connection, mark) == []
    assert stack.client.get(f"/v1/runs/{ids[0]}").status_code == 404
    again = stack.client.delete(f"/v1/users/{user}")
    assert again.status_code == 200 and set(again.json()["erased"].values()) == {0}
    actions = [row["action"] for row in stack.rows("select action from audit where user_id = %s order by id", user)]
    assert actions == ["import", "export", "erase", "erase"]
    back = stack.answer(stack.ask(user, f"Where is {mark}?"))
    assert back["status"] == "COMPLETED" and "garden" not in back["final_answer"]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v1/users/me/export", 404),
        ("DELETE", "/v1/users/%00", 404),
        ("POST", "/v1/users/me/import", 404),
        ("DELETE", f"/v1/memories/{NOBODY}", 404),
        ("DELETE", "/v1/memories/no-uuid", 404),
        ("GET", f"/v1/users/{NOBODY}", 405),
        ("PUT", f"/v1/users/{NOBODY}/import", 405),
    ],
)
def test_bad_address_is_refused(stack: Stack, method: str, path: str, status: int) -> None:
    reply = stack.client.request(method, path)
    assert reply.status_code == status
    assert reply.json()["error"]["code"]


def test_the_routes_are_described(stack: Stack) -> None:
    paths = stack.client.get("/openapi.json").json()["paths"]
    assert "application/x-ndjson" in paths["/v1/users/{id}/export"]["get"]["responses"]["200"]["content"]
    assert "application/x-ndjson" in paths["/v1/users/{id}/import"]["post"]["requestBody"]["content"]
    assert {"get", "delete"} == set(paths["/v1/memories/{id}"])
    poll(lambda: stack.client.get("/metrics").text.count("/v1/users/{id}"))


def test_preferences_are_replaced(stack: Stack) -> None:
    user, other = uuid4(), uuid4()
    path = f"/v1/users/{user}/specs"
    assert stack.client.get(path).json() == {"specs": {}}
    for specs in ({"report_currency": "KZT", "tone": "сухо"}, {"report_currency": "USD"}):
        assert stack.client.put(path, json={"specs": specs}).json() == {"specs": specs}
    assert stack.client.get(path).json() == {"specs": {"report_currency": "USD"}}
    assert stack.client.get(f"/v1/users/{other}/specs").json() == {"specs": {}}
    for wrong in (
        {"a b": "x"},
        {"a": ""},
        {"a": "\0"},
        {"a": "x" * 2001},
        {"a": 1},
        {f"k{n}": "x" for n in range(101)},
    ):
        assert stack.client.put(path, json={"specs": wrong}).status_code == 422, wrong
    assert stack.client.get(path).json() == {"specs": {"report_currency": "USD"}}
