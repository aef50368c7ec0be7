"""Built-in assistants that are not configured are switched off with a reason; definitions are made of settings."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from maas import MaaS
from maas.client import InvalidRequest
from tests.polling import poll
from tests.stack import Stack, maas

DUMMIES = {"PYTHONPATH": str(Path(__file__).resolve().parents[1] / "plugins")}
KEY = {"OPENAI_API_KEY": "sk-very-secret-key-123"}
REASONS = {
    **dict.fromkeys(
        ("ads", "ads_v1", "corporate"),
        "openai:* needs OPENAI_API_KEY (or OPENAI_BASE_URL for a compatible server that needs no "
        "key); set it in the environment or .env, or choose a model of another provider",
    ),
    "genius": "model: openai:gpt-5.2 needs OPENAI_API_KEY (or OPENAI_BASE_URL for a compatible server that needs no "
    "key); set it in the environment or .env, or use extractive:builtin",
    "painter": "it needs MAAS_IMAGE_MODEL; set it in the environment or .env",
    "secretary": "it needs the MCP server 'calendar'; name it in MAAS_MCP_SERVERS",
}
INSERT = "insert into pipeline_runs (user_id, user_query, assistant) values (%s, 'Hi', %s)"


@pytest.fixture
def stack(database: str, tmp_path: Path) -> Iterator[Stack]:
    with Stack(database, tmp_path) as stack:
        yield stack


def state(stack: Stack) -> dict[str, tuple[bool, str | None]]:
    rows = stack.rows("select name, is_active, inactive_reason from assistants")
    return {row["name"]: (row["is_active"], row["inactive_reason"]) for row in rows}


def definition(stack: Stack, name: str) -> dict[str, Any]:
    (row,) = stack.rows("select definition from assistants where name = %s", name)
    return dict(row["definition"])


def restart(stack: Stack, **settings: str) -> None:
    for process in list(stack._processes):
        stack.stop(process)
    stack.start_orchestrator(**DUMMIES | settings)


def test_what_is_not_configured_stops_nothing(stack: Stack) -> None:
    """Without a key the product starts and answers; each way in tells why an assistant cannot be used."""
    stack.start_server()
    stack.start_orchestrator(**DUMMIES)
    known = state(stack)
    assert {name: why for name, (is_active, why) in known.items() if not is_active} == REASONS
    assert known["mentor"] == known["planner"] == (True, None)
    user = uuid4()
    assert stack.answer(stack.ask(user, "Who are you?"))["status"] == "COMPLETED"
    listed = stack.client.get("/v1/models").json()
    assert {one["id"]: one["reason"] for one in listed["inactive"]} == REASONS
    assert not {one["id"] for one in listed["data"]} & REASONS.keys()
    for name, why in REASONS.items():
        body = {"user_id": str(user), "assistant": name}
        for reply in (
            stack.client.post("/v1/runs", json=body | {"query": "Hi"}),
            stack.client.post("/v1/conversations", json=body),
        ):
            error = reply.json()["error"]
            assert (reply.status_code, error["code"]) == (422, "unknown_assistant")
            assert error["message"] == f"assistant: there is no active assistant {name!r}: {why}"
        messages = [{"role": "user", "content": "Hi"}]
        for reply in (
            stack.client.post("/v1/chat/completions", json={"model": name, "messages": messages}),
            stack.client.get(f"/v1/models/{name}"),
        ):
            message = f"there is no model {name!r}; the assistant is not active: {why}"
            assert (reply.status_code, reply.json()["error"]["message"]) == (404, message)
        with pytest.raises(psycopg.errors.ForeignKeyViolation, match="there is no active assistant") as caught:
            stack.rows(INSERT, user, name)
        assert str(caught.value.diag.message_primary).endswith(why)
        with MaaS(dsn=stack.dsn) as client, pytest.raises(InvalidRequest) as refused:
            client.ask("Hi", user_id=user, assistant=name)
        assert refused.value.code == "unknown_assistant" and refused.value.message.endswith(why)
    checked = maas(stack, "doctor")
    assert checked.returncode == 0
    words = " ".join(checked.stdout.split())
    assert "note assistants: mentor, planner, stickers; not active: ads: openai:* needs OPENAI_API_KEY" in words
    assert stack.rows("select from pipeline_runs where assistant <> 'mentor'") == []


def test_an_unknown_one_has_no_reason(stack: Stack) -> None:
    """Nor has one that an operator has switched off."""
    stack.start_server()
    stack.start_orchestrator(**DUMMIES)
    stack.rows("update assistants set is_active = false where name = 'mentor'")
    for name in ("mentor", "nobody"):
        reply = stack.client.post("/v1/runs", json={"user_id": str(uuid4()), "assistant": name, "query": "Hi"})
        assert reply.json()["error"]["message"] == f"assistant: there is no active assistant {name!r}"
    assert {one["id"] for one in stack.client.get("/v1/models").json()["inactive"]} == REASONS.keys()


def test_configured_later_and_no_more(stack: Stack) -> None:
    """A start with what it needs makes it active, one without switches it off again; an operator's word stays."""
    stack.start_orchestrator(**DUMMIES)
    stack.rows("update assistants set is_active = false, inactive_reason = null where name = 'painter'")
    stack.rows("update assistants set role_name = 'Clerk' where name = 'genius'")
    draws = {"MAAS_IMAGE_MODEL": "gemini:x", "GEMINI_API_KEY": "gem-very-secret-key"}
    restart(stack, **KEY, **draws)
    known = state(stack)
    assert (known["genius"], known["painter"], known["secretary"][0]) == ((True, None), (False, None), False)
    (row,) = stack.rows("select role_name, definition from assistants where name = 'genius'")
    assert (row["role_name"], row["definition"]) == ("Clerk", {"model": "openai:gpt-5.2"})
    restart(stack)
    known = state(stack)
    assert known["genius"] == (False, REASONS["genius"]) and known["painter"] == (False, None)
    stack.rows("update assistants set is_active = true where name = 'genius'")
    restart(stack)
    assert state(stack)["genius"] == (False, REASONS["genius"])


def test_a_plugin_that_is_off_and_on_again(stack: Stack) -> None:
    """Off from the beginning it leaves no row; off later its assistants say so; on again they work as before."""
    stack.start_orchestrator(MAAS_PLUGINS="")
    tools = "select name from tools where domain = 'stickers'"
    assert state(stack).keys() == {"mentor"} and stack.rows(tools) == []
    restart(stack)
    assert state(stack)["stickers"] == (True, None) and len(stack.rows(tools)) == 3
    restart(stack, MAAS_PLUGINS="ads,dummies")
    assert state(stack)["stickers"] == (False, "the plugin stickers is off; name it in MAAS_PLUGINS")
    words = " ".join(maas(stack, "doctor", MAAS_PLUGINS="ads").stdout.split())
    assert "ok plugins: on: ads; off: corporate, stickers, telegram" in words
    assert "stickers: the plugin stickers is off; name it in MAAS_PLUGINS" in words
    restart(stack)
    assert state(stack)["stickers"] == (True, None)


def test_a_plugin_that_is_not_installed_any_more(stack: Stack) -> None:
    """Its assistants stop no start, and are active again with it."""
    stack.start_orchestrator(**DUMMIES)
    assert state(stack)["planner"] == (True, None)
    restart(stack, PYTHONPATH="")
    assert state(stack)["planner"] == (False, "the plugin dummies is not installed")
    assert state(stack)["mentor"] == (True, None)
    restart(stack)
    assert state(stack)["planner"] == (True, None)


def test_a_start_that_changes_nothing_writes_nothing(stack: Stack) -> None:
    stack.start_orchestrator(**DUMMIES)
    query = "select name, updated_at from assistants order by name"
    before = stack.rows(query)
    restart(stack)
    assert stack.rows(query) == before


@pytest.mark.parametrize(
    ("settings", "model", "rounds"),
    [
        ({}, None, None),  # the Responder's model, since the default has no key
        (KEY, "openai:gpt-5.2", None),
        (KEY | {"MAAS_ARCHIVIST_MODEL": "openai:gpt-4o-mini"}, "openai:gpt-4o-mini", None),
        ({"MAAS_ARCHIVIST_MODEL": "extractive:builtin", "MAAS_HISTORY_ROWS": "2"}, "extractive:builtin", 2),
    ],
)
def test_a_definition_made_of_settings(
    stack: Stack, settings: dict[str, str], model: str | None, rounds: int | None
) -> None:
    stack.start_orchestrator(**DUMMIES, **settings)
    assert state(stack)["planner"] == (True, None)
    found = definition(stack, "planner")
    assert (found.get("model"), found.get("limits", {}).get("rounds")) == (model, rounds)


def test_a_definition_that_settings_spoil(stack: Stack) -> None:
    """It is switched off with the field, keeps its row, and comes back."""
    stack.start_orchestrator(**DUMMIES)
    before = definition(stack, "planner")
    restart(stack, MAAS_HISTORY_ROWS="60")
    is_active, why = state(stack)["planner"]
    assert not is_active and why == "rounds: Input should be less than or equal to 50"
    assert definition(stack, "planner") == before
    restart(stack)
    assert state(stack)["planner"] == (True, None)


@pytest.mark.parametrize(
    ("needs", "words"),
    [
        ({"settings": ["MAAS_IMAGE_MODEL"]}, "assistant 'clerk': it needs MAAS_IMAGE_MODEL; set it in"),
        ({"settings": ["FB_TOKEN"]}, "assistant 'clerk': it needs FB_TOKEN, which is not a setting"),
        ({"servers": ["calendar"]}, "assistant 'clerk': it needs the MCP server 'calendar'"),
        ({"keys": ["gemini"]}, "assistant 'clerk': gemini:* needs GEMINI_API_KEY"),
        ({"keys": ["acme"]}, "assistant 'clerk': model 'acme:*' names the unknown provider 'acme'"),
        ({"luck": ["much"]}, "assistant 'clerk': needs.luck: Extra inputs are not permitted"),
    ],
)
def test_a_row_of_an_operator_stops_the_start(stack: Stack, needs: dict[str, list[str]], words: str) -> None:
    query = "insert into assistants (name, role_name, definition) values ('clerk', 'Mentor', %s)"
    stack.rows(query, json.dumps({"needs": needs}))
    process = stack.launch("main.py")
    poll(lambda: process.poll() is not None, what="it ends")
    assert process.returncode == 1
    assert words in " ".join(stack.last_words(process).split()) and "Traceback" not in stack.last_words(process)
