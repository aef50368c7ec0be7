"""Corrections: found before what they correct, which stays; as it was for whoever asks as of an earlier moment."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from maas.engine.drafts import Draft
from maas.memory.facts import HEADING as KNOWN
from tests.stack import NOBODY, Stack

OLD = "My cat is called Basil and he sleeps on the piano."
NEW = "He answers to Pepper."  # shares no word with what is asked
QUESTION = "What is my cat called that sleeps on the piano?"


@pytest.fixture
def today() -> str:
    """The day of a test; one that is about to end is waited for."""
    now = datetime.now(UTC)
    if (tomorrow := (now + timedelta(seconds=30)).date()) > now.date():
        time.sleep((datetime.combine(tomorrow, datetime.min.time(), UTC) - now).total_seconds())
        now = datetime.now(UTC)
    return f"{now:%Y-%m-%d}"


def remember(stack: Stack, user: UUID, text: str = OLD, at: str = "2024-05-01T10:00:00Z") -> str:
    body = {"user_id": str(user), "memory": text, "at": at}
    return str(stack.client.post("/v1/memories", json=body).json()["raw_log_ids"][0])


def correct(stack: Stack, user: UUID, memory: str | UUID, text: str = NEW) -> dict[str, Any]:
    reply = stack.client.post(f"/v1/memories/{memory}/correct", json={"user_id": str(user), "memory": text})
    assert reply.status_code == 202, reply.text
    return dict(reply.json())


def memory(stack: Stack, memory_id: str) -> dict[str, Any]:
    return dict(stack.client.get(f"/v1/memories/{memory_id}").json())


def search(stack: Stack, user: UUID, query: str = QUESTION, **fields: Any) -> list[dict[str, Any]]:
    body = {"user_id": str(user), "query": query, **fields}
    reply = stack.client.post("/v1/memories/search", json=body)
    assert reply.status_code == 200, reply.text
    return list(reply.json()["results"])


def context(stack: Stack, user: UUID, query: str = QUESTION, **fields: Any) -> list[str]:
    """The lines of what was said; what is known is apart."""
    reply = stack.client.post("/v1/context", json={"user_id": str(user), "query": query, **fields})
    lines = list(reply.json()["context"].splitlines()[1:-1])
    return lines[: lines.index(KNOWN)] if KNOWN in lines else lines


def draft(stack: Stack, run_id: UUID) -> Draft:
    stack.wait_archived(run_id)
    return Draft.parse(stack.rows("select draft_context from pipeline_runs where id = %s", run_id)[0]["draft_context"])


def test_a_correction_is_found_first_and_both_stay(stack: Stack, user: UUID, today: str) -> None:
    old = remember(stack, user)
    before = datetime.now(UTC).isoformat()
    accepted = correct(stack, user, old)
    new = accepted["id"]
    assert stack.client.get(accepted["poll_url"]).json()["kind"] == "archive"
    assert (memory(stack, old)["corrected_by"], memory(stack, old)["corrects"]) == (new, None)
    assert (memory(stack, new)["corrected_by"], memory(stack, new)["corrects"]) == (None, old)
    assert memory(stack, old)["memory"] == OLD
    first, second = search(stack, user)
    assert (first["id"], first["corrects"], second["id"], second["corrected_by"]) == (new, old, old, new)
    assert first["score"] >= second["score"]
    assert [one["id"] for one in search(stack, user, limit=1)] == [new]
    assert context(stack, user) == [
        f"- [{today}] user: {NEW}",
        f"- [2024-05-01, replaced {today}] user: {OLD}",
    ]
    for then in (before, "2024-06-01T00:00:00Z"):
        assert [(one["id"], one["corrected_by"]) for one in search(stack, user, as_of=then)] == [(old, None)]
        assert context(stack, user, as_of=then) == [f"- [2024-05-01] user: {OLD}"]
    assert [one["id"] for one in search(stack, user, to="2025-01-01T00:00:00Z")] == [old]


def test_the_same_text_again_is_the_same_correction(stack: Stack, user: UUID) -> None:
    old = remember(stack, user)
    assert correct(stack, user, old) == correct(stack, user, old)
    assert len(stack.rows("select from raw_logs where user_id = %s", user)) == 2
    other = correct(stack, user, old, "He answers to Ginger.")
    assert correct(stack, user, old)["id"] != other["id"], "it was corrected otherwise meanwhile"


def test_the_newest_of_a_chain_is_valid(stack: Stack, user: UUID, today: str) -> None:
    old = remember(stack, user)
    second = correct(stack, user, old)["id"]
    third = correct(stack, user, second, "Ginger, it is.")["id"]
    assert [memory(stack, one)["corrected_by"] for one in (old, second, third)] == [second, third, None]
    assert search(stack, user)[0]["id"] == third
    assert context(stack, user)[0] == f"- [{today}] user: Ginger, it is."
    assert stack.client.delete(f"/v1/memories/{second}").status_code in (200, 409)
    stack.wait_archived(*(row["id"] for row in stack.rows("select id from pipeline_runs where user_id = %s", user)))
    stack.client.delete(f"/v1/memories/{second}")
    assert memory(stack, old)["corrected_by"] == third, "what is left of the chain corrects what it began with"
    assert memory(stack, third)["corrects"] == old
    stack.client.delete(f"/v1/memories/{old}")
    assert (memory(stack, third)["corrects"], memory(stack, third)["memory"]) == (None, "Ginger, it is.")
    assert stack.rows("select from memory_corrections where user_id = %s", user) == []


def test_a_forgotten_correction_reopens_the_memory(stack: Stack, user: UUID) -> None:
    old = remember(stack, user)
    accepted = correct(stack, user, old)
    stack.wait_archived(UUID(accepted["request_id"]))
    assert stack.client.delete(f"/v1/memories/{accepted['id']}").status_code == 200
    assert memory(stack, old)["corrected_by"] is None
    assert context(stack, user) == [f"- [2024-05-01] user: {OLD}"]


def test_a_draft_shows_the_correction_first(stack: Stack, user: UUID, today: str) -> None:
    """Among the recent messages, behind other ones, and of a conversation."""
    old = remember(stack, user)
    conversation = str(uuid4())
    run_id = stack.ask(user, "My parrot is called Hook.", conversation_id=conversation)
    stack.wait_archived(run_id)
    said = str(stack.rows("select id from raw_logs where run_id = %s and message_type = 'user_query'", run_id)[0]["id"])
    runs = [UUID(correct(stack, user, old)["request_id"])]
    runs.append(UUID(correct(stack, user, said, "My parrot is called Crook.")["request_id"]))
    stack.wait_archived(*runs)
    asked = draft(stack, stack.ask(user, QUESTION, conversation_id=conversation))
    assert [line.partition("] ")[2] for line in asked.recent[:2]] == [
        "user: My parrot is called Crook.",
        "user: My parrot is called Hook.",
    ]
    assert f", replaced {today}] user: My parrot is called Hook." in asked.recent[1]
    lines = [line for line in asked.focus if "user: He answers" in line or ("Basil and he" in line and "- [" in line)]
    assert lines == [f"- [{today}] user: {NEW}", f"- [2024-05-01, replaced {today}] user: {OLD}"]
    plain = draft(stack, stack.ask(user, "And what is my parrot called?"))
    places = {name: n for n, line in enumerate(plain.recent) for name in ("Crook", "Hook") if f"called {name}." in line}
    assert places["Crook"] < places["Hook"]


def test_a_summary_can_be_corrected(stack: Stack, user: UUID, today: str) -> None:
    run_id = stack.ask(user, OLD)
    stack.wait_archived(run_id)
    summary = stack.client.get("/v1/memories", params={"user_id": str(user)}).json()["results"][0]
    new = correct(stack, user, summary["id"])
    stack.wait_archived(UUID(new["request_id"]))
    assert memory(stack, summary["id"])["corrected_by"] == new["id"]
    listed = stack.client.get("/v1/memories", params={"user_id": str(user)}).json()["results"]
    assert [one["corrected_by"] for one in listed if one["id"] == summary["id"]] == [new["id"]]
    found = search(stack, user)
    assert found[0]["id"] == new["id"], "before the messages that the summary was made of"
    assert found[1]["corrected_by"] is None, "which were said as they are"
    for n in range(8):
        stack.wait_archived(stack.ask(user, f"Statement {n} is about topic{n}."))
    focus = draft(stack, stack.ask(user, QUESTION)).focus
    period = next(n for n, line in enumerate(focus) if line.startswith("Period: "))
    assert focus[period].endswith(f", replaced {today}")
    assert focus[period - 1] == f"- [{today}] user: {NEW}"
    assert sum(NEW in line for line in focus) == 1


def test_a_summary_of_a_corrected_message_stands_behind_the_correction(stack: Stack, user: UUID, today: str) -> None:
    run_id = stack.ask(user, OLD)
    stack.wait_archived(run_id)
    said = str(stack.rows("select id from raw_logs where run_id = %s and message_type = 'user_query'", run_id)[0]["id"])
    stack.wait_archived(UUID(correct(stack, user, said)["request_id"]))
    for n in range(8):
        stack.wait_archived(stack.ask(user, f"Statement {n} is about topic{n}."))
    focus = draft(stack, stack.ask(user, QUESTION)).focus
    period = next(n for n, line in enumerate(focus) if line.startswith("Period: "))
    assert focus[period - 1] == f"- [{today}] user: {NEW}" and "replaced" not in focus[period]


def test_a_note_can_be_corrected(stack: Stack, user: UUID, today: str) -> None:
    run_id = stack.ask(user, "remember: I eat no meat")
    stack.wait_archived(run_id)
    said = str(stack.rows("select id from raw_logs where run_id = %s and message_type = 'user_query'", run_id)[0]["id"])
    stack.wait_archived(UUID(correct(stack, user, said, "I eat meat on Sundays.")["request_id"]))
    for n in range(8):
        stack.wait_archived(stack.ask(user, f"Statement {n} is about topic{n}."))
    focus = draft(stack, stack.ask(user, "What is the weather like?")).focus
    assert focus[:3] == (
        f"- [{today}] user: I eat meat on Sundays.",
        "Notes of the user:",
        f"- Note, replaced {today}: I eat no meat",
    )


def test_what_was_said_again_since_is_valid(stack: Stack, user: UUID, today: str) -> None:
    old = remember(stack, user)
    stack.wait_archived(UUID(correct(stack, user, old)["request_id"]))
    remember(stack, user, at=datetime.now(UTC).isoformat())
    assert f"- [{today}, 2024-05-01] user: {OLD}" in context(stack, user)


@pytest.mark.parametrize("whose", ["nobody's", "another's"])
def test_only_ones_own_memory_can_be_corrected(stack: Stack, user: UUID, whose: str) -> None:
    memory_id = remember(stack, uuid4()) if whose == "another's" else NOBODY
    reply = stack.client.post(f"/v1/memories/{memory_id}/correct", json={"user_id": str(user), "memory": "x"})
    assert (reply.status_code, reply.json()["error"]["code"]) == (404, "not_found")
    assert stack.rows("select from raw_logs where user_id = %s", user) == []


def test_retention_keeps_chains_whole(stack: Stack, user: UUID) -> None:
    old = remember(stack, user)
    second = correct(stack, user, old)["id"]
    third = correct(stack, user, second, "Ginger, it is.")["id"]
    stack.rows("select maas.maas_relink_corrections(%s, %s::uuid[])", user, [old])
    rows = stack.rows("select id, memory_id, root_id from memory_corrections where user_id = %s", user)
    assert [{name: str(one) for name, one in row.items()} for row in rows] == [
        {"id": third, "memory_id": second, "root_id": second}
    ]


@pytest.mark.parametrize("whose", ["the same user", "another user"])
def test_a_correction_moves_with_its_memory(stack: Stack, user: UUID, whose: str, today: str) -> None:
    old = remember(stack, user)
    stack.wait_archived(UUID(correct(stack, user, old)["request_id"]))
    exported = stack.client.get(f"/v1/users/{user}/export").content
    other = user
    if whose == "the same user":
        assert stack.client.delete(f"/v1/users/{user}").json()["erased"]["memory_corrections"] == 1
    else:
        other = uuid4()
    headers = {"content-type": "application/x-ndjson"}
    for _ in range(2):
        reply = stack.client.post(f"/v1/users/{other}/import", content=exported, headers=headers)
        assert reply.status_code == 202, reply.text
    assert context(stack, other) == [f"- [{today}] user: {NEW}", f"- [2024-05-01, replaced {today}] user: {OLD}"]
    if whose == "another user":
        line = exported.replace(str(user).encode(), str(other).encode()).splitlines()[0]
        (row,) = [row for row in exported.splitlines() if b'"correction"' in row]
        alone = stack.client.post(f"/v1/users/{uuid4()}/import", content=b"\n".join((line, row)), headers=headers)
        assert alone.status_code == 422, "a correction without its message"
