"""A typed yes or no decides what the last answer of its conversation showed, once, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID, uuid4

import pytest

from maas.tools.waiting_actions import MARK
from tests.fault.test_actions import ask, finish, last_prompt, state
from tests.fault.test_dialogues import lines, settings
from tests.model_server import ModelServer
from tests.polling import poll
from tests.stack import Stack

WIPE = ("wipe", '{"text": "one"}')
OTHER = ("wipe", '{"text": "two"}')
CONFIRM, REJECT = ("confirm_pending", "{}"), ("reject_pending", "{}")
Talk = Callable[..., dict[str, Any]]


@pytest.fixture
def stack(emptied_stack: Stack) -> Stack:
    return emptied_stack


@pytest.fixture
def models(lasting_models: ModelServer) -> ModelServer:
    return lasting_models


@pytest.fixture
def talk(stack: Stack, models: ModelServer, user: UUID) -> Talk:
    """Say something in a conversation while the model makes these rounds of calls; the finished run."""
    definition = json.dumps({"toolset": ["box", "shelf"]})
    stack.rows("insert into assistants (name, role_name, definition) values ('clerk', 'Mentor', %s)", definition)
    stack.keep_orchestrator(**settings(stack, models))

    def say(
        query: str, conversation: UUID | None, *rounds: Sequence[tuple[str, str]], speaker: UUID = user
    ) -> dict[str, Any]:
        models.rounds["responder"] = [list(calls) for calls in rounds]
        run = finish(stack, ask(stack, speaker, query, conversation))
        assert run["status"] == "COMPLETED", run["error_message"]
        return run

    return say


def actions(stack: Stack) -> list[str]:
    return [row["status"] for row in stack.rows("select status from v_actions order by created_at")]


def executed(stack: Stack, action: UUID) -> tuple[str, Any]:
    """The state of an action when its run is over."""
    (row,) = stack.rows("select action_run_id from v_actions where id = %s", action)
    finish(stack, row["action_run_id"])
    return state(stack, action)


def offered(models: ModelServer) -> list[set[str]]:
    """The tools that the Responder's model saw in each call."""
    return [{one["function"]["name"] for one in call.get("tools", ())} for call in models.said_to("responder")]


def refusals(stack: Stack, run: dict[str, Any]) -> list[str]:
    query = (
        "select payload->>'error_code' as code from run_events where run_id = %s and type = 'tool_result' order by n"
    )
    return [row["code"] for row in stack.rows(query, run["id"])]


@pytest.mark.parametrize("word", ["Да!", "yes, please"])
def test_a_yes_approves(stack: Stack, models: ModelServer, talk: Talk, word: str) -> None:
    conversation = uuid4()
    talk("Wipe it.", conversation, [WIPE])
    (action,) = (row["id"] for row in stack.rows("select id from v_actions"))
    models.requests.clear()
    run = talk(word, conversation, [CONFIRM])
    assert run["status"] == "COMPLETED"
    assert [CONFIRM[0] in names for names in offered(models)[:2]] == [True, False]
    assert not any(REJECT[0] in names for names in offered(models))
    assert "wipe" in models.prompts("responder")[0] and "approved" in models.prompts("responder")[1]
    assert executed(stack, action) == ("done", {"written": "wiped one"})
    assert lines(stack) == ["wiped", "one"]
    decided = "select decided_by, decided_in, decided_words from chat_pending_actions"
    assert stack.rows(decided) == [{"decided_by": "words", "decided_in": run["id"], "decided_words": word}]
    assert "Wipe it." in last_prompt(models)


def test_a_no_rejects(stack: Stack, models: ModelServer, talk: Talk) -> None:
    conversation = uuid4()
    talk("Wipe it.", conversation, [WIPE])
    models.requests.clear()
    talk("Нет, не надо.", conversation, [REJECT])
    assert actions(stack) == ["rejected"] and lines(stack) == []
    assert REJECT[0] in offered(models)[0] and CONFIRM[0] not in offered(models)[0]


def test_a_model_decides_nothing_by_itself(stack: Stack, models: ModelServer, talk: Talk) -> None:
    """Whatever it calls: other words, another conversation, another user, no dialogue, after a result, in doubt."""
    conversation, elsewhere, stranger = uuid4(), uuid4(), uuid4()
    talk("Wipe it.", conversation, [WIPE])
    models.requests.clear()
    for query, where, rounds, speaker in [
        ("Да, но сначала покажи.", conversation, [[CONFIRM]], None),
        ("Is it done?", conversation, [[CONFIRM], [CONFIRM]], None),
        ("да", elsewhere, [[CONFIRM]], None),
        ("да", None, [[CONFIRM]], None),
        ("да", uuid4(), [[CONFIRM]], stranger),
        ("да", conversation, [[CONFIRM]], None),  # the last answer did not show it; this one does
        ("да", conversation, [[("read_nothing", "{}")], [CONFIRM]], None),
        ("нет", conversation, [[CONFIRM]], None),
        ("да", conversation, [[REJECT]], None),
    ]:
        run = talk(query, where, *rounds, **({"speaker": speaker} if speaker else {}))
        assert set(refusals(stack, run)) <= {"unknown_tool", "failed"} and "unknown_tool" in refusals(stack, run), query
        assert actions(stack) == ["pending"], query
    assert lines(stack) == []


def test_only_what_the_last_answer_showed(stack: Stack, models: ModelServer, talk: Talk) -> None:
    """After another answer a yes decides nothing: code asks again, with the call quoted, and then it does."""
    conversation = uuid4()
    talk("Wipe it.", conversation, [WIPE])
    assert MARK not in talk("What is the weather like?", conversation)["final_answer"]
    assert 'wipe {\\"text\\": \\"one\\"}' in models.prompts("responder")[-1]  # the model still sees what waits
    run = talk("да", conversation, [CONFIRM])
    assert refusals(stack, run) == ["unknown_tool"] and actions(stack) == ["pending"]
    assert MARK in run["final_answer"] and "текст: `one`" in run["final_answer"]
    talk("да", conversation, [CONFIRM])
    poll(lambda: lines(stack) == ["wiped", "one"], what="it is executed")


def test_an_edit_after_it_was_shown(stack: Stack, models: ModelServer, user: UUID, talk: Talk) -> None:
    """The yes was to other arguments."""
    conversation = uuid4()
    talk("Wipe it.", conversation, [WIPE])
    (action,) = (row["id"] for row in stack.rows("select id from v_actions"))
    stack.rows('select maas_edit_action(%s, %s, \'{"text": "all"}\')', action, user)
    run = talk("yes", conversation, [CONFIRM])
    assert (refusals(stack, run), actions(stack), lines(stack)) == (["unknown_tool"], ["pending"], [])
    assert run["final_answer"].endswith("or use the buttons.") and "text: `all`" in run["final_answer"]
    talk("yes", conversation, [CONFIRM])
    assert executed(stack, action) == ("done", {"written": "wiped all"})


def test_a_yes_that_was_typed_before_the_answer(stack: Stack, models: ModelServer, user: UUID, talk: Talk) -> None:
    """It waited in the queue while the action was proposed, so it means something else."""
    conversation = uuid4()
    models.rounds["responder"] = [[WIPE], [], [CONFIRM]]
    models.hold_after("responder", models.calls["responder"])
    first = ask(stack, user, "Wipe it.", conversation)
    poll(lambda: models.calls["responder"] > 0, what="the model is asked")
    second = ask(stack, user, "yes", conversation)
    models.release("responder")
    finish(stack, first)
    assert MARK in finish(stack, second)["final_answer"]
    assert (actions(stack), lines(stack)) == (["pending"], [])


def test_a_failed_request_between(stack: Stack, models: ModelServer, talk: Talk) -> None:
    """Its words were said after what was shown, though nobody answered them."""
    conversation = uuid4()
    talk("Wipe it.", conversation, [WIPE])
    stack.rows(
        "insert into chat_messages (conversation_id, user_id, run_id, role, content) "
        "select id, user_id, gen_random_uuid(), 'user', 'Wait, which one is it?' from chat_conversations"
    )
    talk("yes", conversation, [CONFIRM])
    assert actions(stack) == ["pending"]


def test_one_of_several_is_named(stack: Stack, models: ModelServer, talk: Talk) -> None:
    """Proposed again by itself, it is what the last answer showed; the other one goes on waiting."""
    conversation = uuid4()
    talk("Wipe both.", conversation, [WIPE, OTHER])
    run = talk("Only the second one.", conversation, [OTHER])
    assert "`two`" in run["final_answer"] and "`one`" not in run["final_answer"]
    talk("да, стирай", conversation, [CONFIRM])
    poll(lambda: sorted(actions(stack)) == ["done", "pending"], what="it is executed")
    assert lines(stack) == ["wiped", "two"]


def test_words_that_do_not_fit_the_tool(stack: Stack, models: ModelServer, talk: Talk) -> None:
    conversation = uuid4()
    for query in ("send it", "wipe it, but only tomorrow", "wipe two"):
        talk("Wipe it.", conversation, [WIPE])
        run = talk(query, conversation, [CONFIRM])
        assert (refusals(stack, run), actions(stack)) == (["unknown_tool"], ["pending"]), query
    talk("Wipe it.", conversation, [WIPE])
    talk("Yes, wipe one.", conversation, [CONFIRM])
    poll(lambda: lines(stack) == ["wiped", "one"], what="it is executed")


def test_of_two_none_is_decided(stack: Stack, models: ModelServer, talk: Talk) -> None:
    conversation = uuid4()
    talk("Wipe both.", conversation, [WIPE, OTHER])
    models.requests.clear()
    run = talk("да", conversation, [CONFIRM])
    assert refusals(stack, run) == ["unknown_tool"]
    assert all(text in models.prompts("responder")[0] for text in ("one", "two", "decides nothing"))
    assert all(text in run["final_answer"] for text in ("`one`", "`two`", "(2)")), run["final_answer"]
    assert actions(stack) == ["pending", "pending"] and lines(stack) == []


def test_all_of_two_are_decided_as_they_were_shown(stack: Stack, models: ModelServer, talk: Talk) -> None:
    """Each once, in their order, and the model reads which; an unclear yes decides none."""
    conversation = uuid4()
    talk("Wipe both.", conversation, [WIPE, OTHER])
    run = talk("ладно, всё", conversation, [CONFIRM])
    assert refusals(stack, run) == ["unknown_tool"] and "да, все" in talk("да", conversation)["final_answer"]
    models.requests.clear()
    run = talk("да, все", conversation, [CONFIRM])
    assert refusals(stack, run) == [None] and MARK not in run["final_answer"]
    assert "The 2 actions in <pending>" in models.prompts("responder")[0]
    poll(lambda: actions(stack) == ["done", "done"], 40, "both are executed")
    assert lines(stack) == ["wiped", "one", "wiped", "two"]
    words = stack.rows("select distinct decided_in, decided_words from chat_pending_actions")
    assert words == [{"decided_in": run["id"], "decided_words": "да, все"}]


def test_all_but_one_are_decided(stack: Stack, models: ModelServer, talk: Talk) -> None:
    """It is shown again, and waits under its own number."""
    conversation = uuid4()
    talk("Wipe both.", conversation, [WIPE, OTHER])
    run = talk("yes, except the first", conversation, [CONFIRM])
    assert "`one`" in run["final_answer"] and "`two`" not in run["final_answer"]
    poll(lambda: sorted(actions(stack)) == ["done", "pending"], 40, "one is executed")
    assert lines(stack) == ["wiped", "two"]


def test_the_numbers_are_those_that_were_shown(stack: Stack, models: ModelServer, talk: Talk) -> None:
    """After a press of a button for the first, the second one is still the second; what was not shown is not meant."""
    conversation = uuid4()
    talk("Wipe both.", conversation, [WIPE, OTHER])
    first = "select id, user_id from chat_pending_actions order by created_at, place limit 1"
    (action,) = stack.rows(first)
    stack.rows("select * from maas_decide_action(%s, %s, 'reject', 'page')", action["id"], action["user_id"])
    run = talk("да, первое", conversation, [CONFIRM])
    assert refusals(stack, run) == ["unknown_tool"] and actions(stack) == ["rejected", "pending"]
    other = uuid4()
    talk("Wipe both.", other, [WIPE, OTHER])
    talk("Wipe the line.", other, [("wipe", '{"text": "three"}')])
    run = talk("да, все", other, [CONFIRM])
    assert refusals(stack, run) == ["unknown_tool"] and "approved" not in actions(stack) and lines(stack) == []


def test_what_is_proposed_again_waits_once(stack: Stack, talk: Talk) -> None:
    conversation = uuid4()
    for _ in range(3):
        talk("Wipe it.", conversation, [WIPE])
    assert actions(stack) == ["pending"]
    stack.rows("update chat_pending_actions set expires_at = now() + interval '1 min'")
    talk("Wipe it.", conversation, [WIPE])
    assert stack.rows("select expires_at > now() + interval '20 min' as is_anew from v_actions") == [{"is_anew": True}]
    talk("Wipe the other one.", conversation, [OTHER])
    talk("Wipe it.", uuid4(), [WIPE])
    assert actions(stack) == ["pending"] * 3


def test_an_expired_one_is_not_offered(stack: Stack, models: ModelServer, talk: Talk) -> None:
    conversation = uuid4()
    talk("Wipe it.", conversation, [WIPE])
    stack.rows(
        "update chat_pending_actions set created_at = now() - interval '2 h', expires_at = now() - interval '1 h'"
    )
    run = talk("да", conversation, [CONFIRM])
    assert refusals(stack, run) == ["unknown_tool"] and actions(stack) == ["expired"]


def test_killed_after_the_decision(stack: Stack, models: ModelServer, user: UUID, talk: Talk) -> None:
    """The next owner makes the same call again; the action was decided once and runs once."""
    conversation = uuid4()
    talk("Wipe it.", conversation, [WIPE])
    (action,) = (row["id"] for row in stack.rows("select id from v_actions"))
    models.rounds["responder"] = [[CONFIRM]]
    before = models.calls["responder"]
    models.hold_after("responder", before + 1)
    run_id = ask(stack, user, "да", conversation)
    poll(lambda: actions(stack) == ["approved"], what="it is decided")
    poll(lambda: models.calls["responder"] == before + 2, what="the model is asked for words")
    stack.kill()
    models.release("responder")
    stack.keep_orchestrator(**settings(stack, models))
    assert finish(stack, run_id)["status"] == "COMPLETED"
    assert executed(stack, action) == ("done", {"written": "wiped one"})
    assert lines(stack) == ["wiped", "one"]
    assert stack.rows("select count(*) as n from pipeline_runs where kind = 'action'") == [{"n": 1}]


def test_killed_after_a_decision_on_some(stack: Stack, models: ModelServer, user: UUID, talk: Talk) -> None:
    """The next owner reads the same choice from the same words."""
    conversation = uuid4()
    talk("Wipe both.", conversation, [WIPE, OTHER])
    models.rounds["responder"] = [[CONFIRM]]
    before = models.calls["responder"]
    models.hold_after("responder", before + 1)
    run_id = ask(stack, user, "да, кроме второго", conversation)
    poll(lambda: actions(stack) == ["approved", "pending"], what="it is decided")
    poll(lambda: models.calls["responder"] == before + 2, what="the model is asked for words")
    stack.kill()
    models.release("responder")
    stack.start_orchestrator(**settings(stack, models))
    run = finish(stack, run_id)
    assert run["status"] == "COMPLETED" and "`two`" in run["final_answer"], run
    poll(lambda: actions(stack) == ["done", "pending"], 40, "one is executed")
    assert lines(stack) == ["wiped", "one"]
