"""Preferences over HTTP: what a user changes there counts in the interview, too."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest

from tests.stack import Stack

PREFERENCES = {"focus_time": "с 9 до 11", "communication_style": "коротко"}


def test_preferences_are_replaced_and_keep_their_time(stack: Stack, user: UUID) -> None:
    path = f"/v1/users/{user}/preferences"
    assert stack.client.get(path).json() == {"preferences": {}}
    first = stack.client.put(path, json={"preferences": PREFERENCES}).json()["preferences"]
    assert {slot: one["value"] for slot, one in first.items()} == PREFERENCES
    changed = stack.client.put(path, json={"preferences": {"focus_time": "с 9 до 11", "career_goals": "мастер"}}).json()
    assert changed["preferences"]["focus_time"] == first["focus_time"]
    assert set(changed["preferences"]) == {"focus_time", "career_goals"}


def test_the_interview_takes_up_what_was_changed(stack: Stack, user: UUID) -> None:
    stack.rows(
        "insert into assistant_sessions (user_id, assistant, agent, slots) values (%s, 'corporate', 'interview', "
        '\'{"focus_time": "утром"}\')',
        user,
    )
    stack.client.put(f"/v1/users/{user}/preferences", json={"preferences": PREFERENCES})
    (session,) = stack.rows("select slots from assistant_sessions where user_id = %s", user)
    assert session["slots"] == PREFERENCES


@pytest.mark.parametrize(
    "preferences",
    [
        {"focus_time": "x" * 501},
        {"focus_time": ""},
        {"focus_time": None},
        {"Focus": "x"},
        {"a" * 51: "x"},
        {"focus_time": ["x"]},
        {f"slot_{chr(97 + n)}": "x" for n in range(21)},
        [],
        None,
    ],
)
def test_wrong_preferences_change_nothing(stack: Stack, user: UUID, preferences: object) -> None:
    path = f"/v1/users/{user}/preferences"
    stack.client.put(path, json={"preferences": PREFERENCES})
    assert stack.client.put(path, json={"preferences": preferences}).status_code == 422
    assert set(stack.client.get(path).json()["preferences"]) == set(PREFERENCES)


def test_an_erased_user_has_neither(stack: Stack) -> None:
    user = uuid4()
    stack.client.put(f"/v1/users/{user}/profile", json={"name": "Мария"})
    stack.client.put(f"/v1/users/{user}/preferences", json={"preferences": PREFERENCES})
    receipt = stack.client.delete(f"/v1/users/{user}").json()["erased"]
    assert (receipt["user_settings"], receipt["facts"]) == (1, 3)
    assert stack.client.get(f"/v1/users/{user}/preferences").json() == {"preferences": {}}


def test_an_export_takes_them_along(stack: Stack, user: UUID) -> None:
    stack.client.put(f"/v1/users/{user}/profile", json={"name": "Мария"})
    stack.client.put(f"/v1/users/{user}/preferences", json={"preferences": PREFERENCES})
    export, other = stack.client.get(f"/v1/users/{user}/export").content, uuid4()
    headers = {"content-type": "application/x-ndjson"}
    for _ in range(2):
        reply = stack.client.post(f"/v1/users/{other}/import", content=export, headers=headers)
        assert reply.status_code in (200, 202), reply.text
    kept = stack.client.get(f"/v1/users/{other}/preferences").json()["preferences"]
    assert {slot: one["value"] for slot, one in kept.items()} == PREFERENCES
    assert stack.client.get(f"/v1/users/{other}/profile").json()["name"] == "Мария"
    listed = stack.client.get(f"/v1/users/{other}/facts").json()["results"]
    assert {one["fact"] for one in listed} == {"Name: Мария", "Focus time: с 9 до 11", "Communication style: коротко"}


def test_another_assistant_knows_them(stack: Stack, user: UUID) -> None:
    stack.client.put(f"/v1/users/{user}/profile", json={"position": "harbour pilot"})
    body = {"user_id": str(user), "query": "What is my position?"}
    assert "Position: harbour pilot" in stack.client.post("/v1/context", json=body).json()["context"]
