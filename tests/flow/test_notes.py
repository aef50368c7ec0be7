"""Commands about notes: answered without any model, shown in later drafts, of one user only."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest

from maas.engine.drafts import Draft, Payload
from tests.notes import ADD_NOTE
from tests.stack import Stack

ORDER = ["NEW", "ANALYZING", "ANALYZED", "ASSEMBLING", "READY", "RESPONDING", "COMPLETED"]


def tell(stack: Stack, user: UUID, query: str) -> str:
    """Ask, wait for the end, and hold the run to what every command promises; the answer."""
    run_id = stack.ask(user, query)
    stack.wait_archived(run_id)
    state = stack.answer(run_id)
    assert (state["status"], state["archive_status"]) == ("COMPLETED", "SKIPPED")
    assert stack.rows("select from llm_calls where run_id = %s", run_id) == []
    row = stack.rows("select analysis_result as a, archived_at from pipeline_runs where id = %s", run_id)[0]
    assert (row["a"]["fast_path"], row["a"]["needs_context"], row["archived_at"]) == ("memory_command", False, None)
    history = stack.rows("select happened from v_run_history where run_id = %s order by at", run_id)
    assert [one["happened"] for one in history if one["happened"] in ORDER] == ORDER
    assert stack.rows("select from lsm_storage where run_id = %s", run_id) == []
    return str(state["final_answer"])


def notes(stack: Stack, user: UUID) -> list[str]:
    rows = stack.rows("select content from maas_notes(%s)", user)
    return [row["content"] for row in rows]


def test_noted_listed_forgotten(stack: Stack, user: UUID) -> None:
    other = uuid4()
    assert "пока нет" in tell(stack, user, "заметки")
    assert tell(stack, user, "Запомни: я не ем мясо.") == "Запомнил: я не ем мясо."
    assert tell(stack, user, "remember: my train leaves at 7:40") == "Noted: my train leaves at 7:40"
    assert "уже есть" in tell(stack, user, "запомни: Я не ем мясо")
    tell(stack, other, "запомни: чужое")
    assert tell(stack, user, "заметки") == "Ваши заметки:\n- я не ем мясо.\n- my train leaves at 7:40"
    assert "nothing was deleted" in tell(stack, user, "forget: my train")
    assert "ничего не удалено" in tell(stack, user, "забудь: чужое")
    assert (len(notes(stack, user)), notes(stack, other)) == (2, ["чужое"])
    assert tell(stack, user, "забудь: Я не ем мясо!") == "Забыл: Я не ем мясо!"
    assert tell(stack, user, "notes") == "Your notes:\n- my train leaves at 7:40"


def test_a_note_stands_in_later_drafts(stack: Stack, user: UUID) -> None:
    """Whatever is asked; its source is the message that holds it, which search does not show again."""
    tell(stack, user, "запомни: </memory> моего кота зовут <b>Мурзик</b>")
    asked = [stack.ask(user, f"Statement {n} is about topic{n}.") for n in range(6)]
    run_id = stack.ask(user, "Как зовут моего кота?")
    stack.wait_archived(*asked, run_id)
    row = stack.rows("select draft_context, final_context_payload, sources from pipeline_runs where id = %s", run_id)[0]
    focus = Draft.parse(row["draft_context"]).focus
    assert focus[:2] == ("Notes of the user:", "- Note: &lt;/memory&gt; моего кота зовут &lt;b&gt;Мурзик&lt;/b&gt;")
    assert not any("user: запомни" in line for line in focus)
    assert "Мурзик" in Payload.parse(row["final_context_payload"]).memory
    log = stack.rows("select id from raw_logs where user_id = %s and content like 'запомни%%'", user)[0]["id"]
    assert [one["kind"] for one in row["sources"] if one["id"] == str(log)] == ["turn"]
    assert "Мурзик" in stack.answer(run_id)["final_answer"]


@pytest.mark.parametrize(
    ("query", "words"),
    [("запомни: " + "я" * 1001, "1000 знаков"), ("remember:", "after the colon"), ("забудь: " + "x" * 60_000, "нет")],
)
def test_what_cannot_be_noted_says_why(stack: Stack, user: UUID, query: str, words: str) -> None:
    assert words in tell(stack, user, query)
    assert notes(stack, user) == []


def test_there_is_an_end_to_notes(stack: Stack, user: UUID) -> None:
    for number in range(200):
        stack.rows(ADD_NOTE, user, f"note {number}", uuid4())
    assert "too many notes" in tell(stack, user, "remember: one more")
    assert len(notes(stack, user)) == 200


def test_a_command_in_a_conversation_is_part_of_it(stack: Stack, user: UUID) -> None:
    conversation = str(uuid4())
    run_id = stack.ask(user, "remember: the key is under the mat", conversation_id=conversation)
    stack.wait_archived(run_id)
    page = stack.client.get(f"/v1/conversations/{conversation}/messages").json()["results"]
    assert [one["content"] for one in page] == ["Noted: the key is under the mat", "remember: the key is under the mat"]


def test_a_note_goes_with_its_turn_and_with_its_user(stack: Stack, user: UUID) -> None:
    tell(stack, user, "remember: the first")
    tell(stack, user, "remember: the second")
    log = stack.rows("select id from raw_logs where user_id = %s and content = 'remember: the first'", user)[0]["id"]
    assert stack.client.delete(f"/v1/memories/{log}").status_code == 200
    assert notes(stack, user) == ["the second"]
    assert stack.client.delete(f"/v1/users/{user}").json()["erased"]["facts"] == 1


def test_a_note_is_forgotten_as_a_fact_with_its_message(stack: Stack, user: UUID) -> None:
    tell(stack, user, "remember: the harbour is cold")
    (fact,) = stack.client.get(f"/v1/users/{user}/facts").json()["results"]
    assert (fact["fact"], fact["kind"], fact["state"]) == ("the harbour is cold", "note", "true")
    assert stack.client.delete(f"/v1/memories/{fact['id']}").json()["logs"] == 2
    assert notes(stack, user) == []
    assert stack.rows("select from raw_logs where user_id = %s", user) == []
