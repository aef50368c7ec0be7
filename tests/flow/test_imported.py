"""Conversations that files brought: listed by their titles, and read as they were said there, by their user only."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.stack import Stack

DAY_S = 86_400.0
START_S = 1_700_000_000.0  # 14 November 2023


def chatgpt(name: str, title: str | None, count: int, began: float) -> dict[str, Any]:
    """A conversation as ChatGPT exports it: questions and answers, a minute apart."""
    mapping: dict[str, Any] = {"root": {"id": "root", "message": None, "parent": None}}
    parent = "root"
    for number in range(count):
        message: dict[str, Any] = {
            "id": f"{name}-{number}",
            "author": {"role": ("user", "assistant")[number % 2]},
            "create_time": began + 60 * number,
            "content": {"content_type": "text", "parts": [f"Word {number} of {name}."]},
        }
        mapping[message["id"]] = {"id": message["id"], "message": message, "parent": parent}
        parent = message["id"]
    return {"title": title, "conversation_id": name, "mapping": mapping, "current_node": parent}


@pytest.fixture
def brought(stack: Stack, user: UUID) -> UUID:
    """A user who brought three conversations of ChatGPT, and one of whose messages came by the API."""
    file = [
        chatgpt("lisbon", "Moving to Lisbon", 120, START_S + DAY_S),
        chatgpt("soup", "Суп без соли", 4, START_S),
        chatgpt("untitled", None, 2, START_S + 2 * DAY_S),
    ]
    body = json.dumps(file).encode()
    kind = {"content-type": "application/json"}
    assert stack.client.post(f"/v1/users/{user}/import", content=body, headers=kind).status_code == 202
    turns = [{"role": "user", "content": "Said to another program.", "external_id": "1"}]
    assert stack.client.post("/v1/memories", json={"user_id": str(user), "turns": turns}).status_code == 202
    return user


def read(stack: Stack, user: UUID, status: int = 200, **params: object) -> Any:
    path = f"/v1/users/{user}/imported" + ("/messages" if "conversation" in params else "")
    reply = stack.client.get(path, params={name: str(value) for name, value in params.items()})
    assert reply.status_code == status, reply.text
    return reply.json()


def test_conversations_are_listed_by_when_they_were_last_spoken_in(stack: Stack, brought: UUID) -> None:
    page = read(stack, brought)
    assert page["next"] is None
    assert [(one["conversation"], one["title"], one["messages"]) for one in page["results"]] == [
        ("untitled", None, 2),
        ("lisbon", "Moving to Lisbon", 120),
        ("soup", "Суп без соли", 4),
    ]
    assert page["results"][1]["beginning"] == "Word 0 of lisbon."
    assert (page["results"][1]["since"], page["results"][1]["last_at"]) == (
        "2023-11-15T22:13:20Z",
        "2023-11-16T00:12:20Z",
    )
    first = read(stack, brought, limit=2)
    second = read(stack, brought, limit=2, before=first["next"])
    assert [*first["results"], *second["results"]] == page["results"] and second["next"] is None
    assert read(stack, uuid4()) == {"results": [], "next": None}


def test_a_conversation_is_read_in_both_directions(stack: Stack, brought: UUID) -> None:
    last = read(stack, brought, conversation="lisbon", limit=50)
    assert [one["content"] for one in last["results"]] == [f"Word {n} of lisbon." for n in range(70, 120)]
    assert (last["title"], last["after"]) == ("Moving to Lisbon", None)
    assert [one["role"] for one in last["results"][:2]] == ["user", "assistant"]
    before = read(stack, brought, conversation="lisbon", limit=50, before=last["before"])
    assert [one["content"] for one in before["results"]] == [f"Word {n} of lisbon." for n in range(20, 70)]
    first = read(stack, brought, conversation="lisbon", limit=50, before=before["before"])
    assert len(first["results"]) == 20 and first["before"] is None
    around = read(stack, brought, conversation="lisbon", limit=11, around=first["results"][10]["id"])
    assert [one["content"] for one in around["results"]] == [f"Word {n} of lisbon." for n in range(5, 16)]
    after = read(stack, brought, conversation="lisbon", limit=100, after=around["after"])
    assert [one["content"] for one in after["results"]] == [f"Word {n} of lisbon." for n in range(16, 116)]
    last = read(stack, brought, conversation="lisbon", after=after["after"])
    assert [one["content"] for one in last["results"]] == [f"Word {n} of lisbon." for n in range(116, 120)]
    assert last["after"] is None
    whole = read(stack, brought, conversation="soup", limit=4)
    assert (len(whole["results"]), whole["before"], whole["after"]) == (4, None, None)


def test_what_is_not_ones_own_is_not_there(stack: Stack, brought: UUID) -> None:
    message = read(stack, brought, conversation="lisbon")["results"][0]["id"]
    assert read(stack, uuid4(), conversation="lisbon")["results"] == []
    read(stack, uuid4(), 404, conversation="lisbon", around=message)
    assert read(stack, brought, conversation="nowhere")["results"] == []
    read(stack, brought, 404, conversation="soup", around=message)
    assert read(stack, brought, conversation="soup", after=message)["results"] == []
    for params in ({"around": "x"}, {"before": "1_2"}, {"limit": 0}, {"conversation": "\0"}, {"conversation": ""}):
        read(stack, brought, 400, **{"conversation": "lisbon", **params})
    assert stack.client.get(f"/v1/users/{brought}/imported/messages").status_code == 400


def test_what_was_forgotten_is_gone_from_its_conversation(stack: Stack, brought: UUID) -> None:
    stack.wait_archived(*(row["id"] for row in stack.rows("select id from pipeline_runs where user_id = %s", brought)))
    message = read(stack, brought, conversation="soup")["results"][0]
    assert stack.client.delete(f"/v1/memories/{message['id']}", params={"user_id": str(brought)}).status_code == 200
    rest = read(stack, brought, conversation="soup")
    assert message["id"] not in [one["id"] for one in rest["results"]] and rest["title"] == "Суп без соли"
    read(stack, brought, 404, conversation="soup", around=message["id"])
