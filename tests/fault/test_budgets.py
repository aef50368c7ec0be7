"""Budgets of a user's day: once one is spent, rules do the work, the run is answered, and memory is kept."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from uuid import UUID, uuid4
from zoneinfo import ZoneInfo

import pytest

from maas.client import MaaS
from tests.model_server import ModelServer
from tests.polling import poll
from tests.stack import Stack, maas

CALL_TOKENS = 18  # of each call of the model server
SPENT = "Your budget for today is spent, so I did not ask a model. It is renewed at 00:00 (Asia/Tokyo): ask again then."


def spend(stack: Stack, user: UUID, tokens: int = 0, price: int = 0) -> None:
    """Let a user have used so many tokens and micro-dollars today."""
    stack.rows(
        "insert into token_usage (user_id, day, tokens, price) values (%s, maas_day(now()), %s, %s) returning day",
        user,
        tokens,
        price,
    )


def test_a_user_who_has_spent_the_day_is_answered_by_rule(stack: Stack, models: ModelServer, user: UUID) -> None:
    """The call past the limit is not made; the run is COMPLETED and remembered; other users go on."""
    zone = {"MAAS_TIMEZONE": "Asia/Tokyo", "MAAS_USER_DAILY_TOKENS": "60"}
    stack.start_server(**zone)
    stack.start_orchestrator(**models.settings(), **zone)
    first = stack.ask(user, "My heron is called Gustav.")  # three calls, and the Archivist's
    assert stack.answer(first)["limited"] is None
    stack.wait_archived(first)
    run_id = stack.ask(user, "My stork is called Bertha.")
    state = stack.answer(run_id)
    assert (state["status"], state["final_answer"], state["limited"]) == ("COMPLETED", SPENT, "budget")
    assert state["degraded"][:2] == ["Analyzer", "Assembler"] and state["error_code"] is None
    stack.wait_archived(run_id)
    assert models.calls == {"analyzer": 1, "assembler": 1, "responder": 1, "archivist": 1}
    (record,) = stack.rows("select summary, is_degraded from lsm_storage where run_id = %s", run_id)
    assert "Bertha" in record["summary"] and record["is_degraded"]
    russian = stack.answer(stack.ask(user, "Как зовут цаплю?"))
    assert russian["final_answer"].startswith("Ваш лимит на сегодня исчерпан") and "Tokyo" in russian["final_answer"]
    assert stack.answer(stack.ask(UUID(int=7), "Hello?"))["limited"] is None
    events = stack.client.get(f"/v1/runs/{run_id}/events").text
    (done,) = [
        json.loads(line[6:]) for line in events.splitlines() if line.startswith("data: ") and "final_ans" in line
    ]
    assert (done["final_answer"], done["limited"]) == (SPENT, "budget")
    completion = stack.client.post(
        "/v1/chat/completions",
        json={"model": "mentor", "user": str(user), "messages": [{"role": "user", "content": "And now?"}]},
    ).json()
    assert (completion["maas"]["limited"], completion["choices"][0]["message"]["content"]) == ("budget", SPENT)


def test_the_rest_of_a_run_is_by_rule_when_the_budget_ends_within_it(
    stack: Stack, models: ModelServer, user: UUID
) -> None:
    """An answer that was made in time is given; what comes after it is done by rule."""
    stack.start_server()
    stack.start_orchestrator(**models.settings(), MAAS_USER_DAILY_TOKENS=str(3 * CALL_TOKENS))
    run_id = stack.ask(user, "My heron is called Gustav.")
    assert stack.answer(run_id)["final_answer"] == "A model answered."
    stack.wait_archived(run_id)
    state = stack.answer(run_id)
    assert (state["degraded"], state["limited"]) == (["Archivist"], "budget")
    assert models.calls["archivist"] == 0


def test_a_budget_in_dollars(stack: Stack, models: ModelServer, user: UUID) -> None:
    """It counts what is known of prices, calls of the same stage too, and shows in the view and over HTTP."""
    budget = {"MAAS_USER_DAILY_DOLLARS": "0.0002"}  # 200 micro-dollars
    stack.rows("insert into model_prices (provider, model, input, output) values ('openai', '%%', 2, 10) returning 1")
    stack.start_server(**budget)
    stack.start_orchestrator(**models.settings(), **budget)
    run_id = stack.ask(user, "How much is it?")  # 92 micro-dollars a call: the third call passes the limit
    assert stack.answer(run_id)["final_answer"] == "A model answered."
    stack.wait_archived(run_id)
    assert stack.answer(run_id)["degraded"] == ["Archivist"]
    (row,) = stack.rows("select tokens_today, price_today from v_cost_user where user_id = %s", user)
    assert (row["tokens_today"], row["price_today"]) == (3 * CALL_TOKENS, 276)
    with MaaS(str(stack.client.base_url)) as client:
        spending = client.spending(user_id=user)
        answer = client.ask("And now?", user_id=user)
    assert (spending["tokens_today"], spending["dollars_today"], spending["daily_dollars"]) == (54, 0.000276, 0.0002)
    assert (spending["is_spent"], spending["daily_tokens"], answer.limited) == (True, None, "budget")
    renewed_at = datetime.fromisoformat(spending["renewed_at"]).astimezone(ZoneInfo("UTC"))
    assert (renewed_at.hour, renewed_at.minute) == (0, 0)


def test_a_user_sees_only_the_own_spending(stack: Stack, user: UUID) -> None:
    """A user without any has zeros; an id that is none is one clear error."""
    stack.start_server()
    spend(stack, user, 70, 5_000_000)
    mine = stack.client.get(f"/v1/users/{user}/spending").json()
    assert (mine["tokens_today"], mine["dollars"], mine["is_spent"]) == (70, 5.0, False)
    other = stack.client.get(f"/v1/users/{uuid4()}/spending").json()
    assert (other["tokens"], other["dollars"]) == (0, 0)
    assert stack.client.get("/v1/users/me/spending").status_code == 404


def test_yesterday_is_not_counted(stack: Stack, models: ModelServer, user: UUID) -> None:
    stack.start_server()
    stack.start_orchestrator(**models.settings(), MAAS_USER_DAILY_TOKENS="60")
    spend(stack, user, 10_000)
    stack.rows("update token_usage set day = day - 1 where user_id = %s returning day", user)
    assert stack.answer(stack.ask(user, "Good morning?"))["limited"] is None


def test_many_runs_at_once_exceed_a_budget_by_what_is_in_flight(stack: Stack, models: ModelServer, user: UUID) -> None:
    """Exchanges are summarised while others are answered; past the limit no further call begins."""
    limit = 10 * CALL_TOKENS
    stack.start_server()
    stack.start_orchestrator(**models.settings(), MAAS_USER_DAILY_TOKENS=str(limit))
    stack.start_orchestrator(**models.settings(), MAAS_USER_DAILY_TOKENS=str(limit))
    with ThreadPoolExecutor(8) as pool:
        runs = list(pool.map(lambda n: stack.ask(user, f"Question number {n}?"), range(12)))
        for number in range(3):  # imports, whose runs of kind archive go on beside
            lines = [{"role": "user", "content": f"Fact {number}-{n}", "conversation": f"c{n}"} for n in range(4)]
            stack.client.post(
                f"/v1/users/{user}/import",
                content="\n".join(map(json.dumps, lines)),
                headers={"content-type": "application/x-ndjson"},
            )
    stack.wait_archived(*runs, seconds=60)
    poll(lambda: not stack.rows("select from pipeline_runs where queue_state < 2"), 60)
    states = [stack.answer(run) for run in runs]
    assert {state["status"] for state in states} == {"COMPLETED"} and states[-1]["limited"] == "budget"
    (row,) = stack.rows("select tokens from token_usage where user_id = %s", user)
    in_flight = 2  # one run of this user is answered at a time, and one import is summarised
    assert limit <= row["tokens"] <= limit + in_flight * CALL_TOKENS
    assert row["tokens"] == sum(models.calls[role] for role in ("analyzer", "assembler", "responder", "archivist")) * 18


@pytest.mark.parametrize("value", ["0", "-1", "many"])
def test_a_budget_that_is_none(stack: Stack, value: str) -> None:
    process = stack.launch("main.py", MAAS_USER_DAILY_DOLLARS=value)
    assert process.wait(20) != 0
    assert "MAAS_USER_DAILY_DOLLARS" in stack.last_words(process)


def test_doctor_names_a_model_without_a_price(stack: Stack) -> None:
    """A budget in dollars knows nothing of its calls; without such a budget there is nothing to say."""
    model = {"MAAS_RESPONDER_MODEL": "openai:nobody-knows", "OPENAI_API_KEY": "sk-test-key-1234567890"}
    said = maas(stack, "doctor", **model, MAAS_USER_DAILY_DOLLARS="1").stdout
    assert "openai:nobody-knows has no price" in " ".join(said.split())
    assert "has no price" not in maas(stack, "doctor", **model).stdout


def test_a_budget_that_is_set_while_everything_runs(stack: Stack, models: ModelServer, user: UUID) -> None:
    """It takes the place of the settings' at the next call; a user's own that of all; ending it brings that back."""
    stack.start_server(MAAS_USER_DAILY_TOKENS="60")
    stack.start_orchestrator(**models.settings(), MAAS_USER_DAILY_TOKENS="60")
    spend(stack, user, 70, 0)
    own, everybody = f"/v1/admin/users/{user}/budget", "/v1/admin/budget"

    def limited() -> str | None:
        run_id = stack.ask(user, "Hello?")
        answer = stack.answer(run_id)
        stack.wait_archived(run_id)
        spending = stack.client.get(f"/v1/users/{user}/spending").json()
        assert spending["is_spent"] is (answer["limited"] == "budget")
        found: str | None = answer["limited"]
        return found

    def put(path: str, tokens: int | None) -> None:
        body = {"daily_tokens": tokens, "daily_dollars": None}
        reply = stack.client.put(path, json=body)
        assert reply.status_code == 200, reply.text
        assert (reply.json()["daily_tokens"], reply.json()["is_own"]) == (tokens, True)

    settings = stack.client.get(own).json()
    assert (settings["daily_tokens"], settings["is_own"], settings["changed_by"]) == (60, False, None)
    assert limited() == "budget"
    put(own, 100_000)
    assert limited() is None
    put(own, 65)
    assert limited() == "budget"
    put(everybody, 200_000)
    assert limited() == "budget"
    assert stack.client.delete(own).status_code == 204
    of_all = stack.client.get(own).json()
    assert (of_all["daily_tokens"], of_all["is_own"], of_all["changed_by"]) == (200_000, False, "http")
    assert limited() is None
    put(everybody, None)
    assert limited() is None
    assert stack.client.delete(everybody).status_code == 204
    assert limited() == "budget"
    assert [stack.client.delete(path).status_code for path in (own, everybody)] == [404, 404]
    for wrong in ({"daily_tokens": 0, "daily_dollars": None}, {"daily_tokens": 1}, {"daily_dollars": 1e12}):
        assert stack.client.put(own, json=wrong).status_code == 422
    actions = stack.rows("select action, user_id from audit where action like 'budget%%' order by id")
    assert [(row["action"], row["user_id"]) for row in actions] == [
        ("budget_set", user),
        ("budget_set", user),
        ("budget_set", None),
        ("budget_drop", user),
        ("budget_set", None),
        ("budget_drop", None),
    ]
