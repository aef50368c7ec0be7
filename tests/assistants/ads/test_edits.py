"""What a person edits is looked up at once, as what was proposed: refused before it is approved, shown before it is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from tests.assistants.ads.marketer import Marketer, execute, marketer
from tests.frameworks.a2a_calls import call, message

MORE = {
    "campaigns": {"102": {"account_id": "act_1", "name": "Общий", "status": "ACTIVE", "daily_budget": 20000}},
    "adsets": {
        "112": {"campaign_id": "101", "name": "Астана", "status": "ACTIVE", "daily_budget": 9000},
        "113": {"campaign_id": "102", "name": "Шымкент", "status": "ACTIVE"},
    },
}


@pytest.fixture(scope="module")
def shared(fresh_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Marketer]:
    with marketer(fresh_database, tmp_path_factory.mktemp("marketer")) as one:
        one.stack.start_server(MAAS_A2A="ads")
        one.stack.start_orchestrator(**one.settings())
        yield one


@pytest.fixture
def business(shared: Marketer) -> Marketer:
    """The account with two more ad sets; the campaign of one of them has the budget."""
    shared.models.rounds.clear()
    shared.facebook.reset()
    shared.facebook.merge(MORE)
    shared.stack.rows("delete from chat_pending_actions where user_id = %s", shared.user)
    return shared


def propose(business: Marketer, conversation: UUID | None = None) -> dict[str, Any]:
    """The action that waits after a model wanted 70 dollars for Алматы."""
    budget = execute(("updateBudget", {"adset_id": "111", "daily_budget": 70}))
    business.models.rounds["responder"] = [[budget]]
    business.ask("Алматы до 70", conversation=conversation or uuid4())
    return waiting(business)


def waiting(business: Marketer) -> dict[str, Any]:
    listed = business.stack.client.get("/v1/actions", params={"user_id": str(business.user)}).json()["results"]
    (action,) = listed
    return dict(action)


def edit(business: Marketer, **arguments: Any) -> Any:
    body = {"user_id": str(business.user), "arguments": arguments}
    return business.stack.client.patch(f"/v1/actions/{waiting(business)['id']}", json=body)


def test_an_edit_is_looked_up_before_it_is_approved(business: Marketer) -> None:
    """A name becomes an id, the object, both budgets and the currency are shown, and exactly that is sent once."""
    proposed = propose(business)
    assert (proposed["object"], proposed["changes"][0]["old"]) == ("Алматы", "50 USD")
    reply = edit(business, adset_id="Астана", daily_budget=80)
    assert reply.status_code == 200, reply.text
    edited = reply.json()
    assert (edited["status"], edited["arguments"]) == ("pending", {"adset_id": "112", "daily_budget": 80.0})
    assert (edited["object"], [(one["old"], one["new"]) for one in edited["changes"]]) == (
        "Астана",
        [("90 USD", "80 USD")],
    )
    assert edited["title"] == proposed["title"] and edited["reason"] == proposed["reason"]
    assert edited["fingerprint"] != proposed["fingerprint"] and business.writes() == []
    stale = {"user_id": str(business.user), "fingerprint": proposed["fingerprint"]}
    refused = business.stack.client.post(f"/v1/actions/{edited['id']}/approve", json=stale)
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "changed")
    seen = stale | {"fingerprint": edited["fingerprint"]}
    approved = business.stack.client.post(f"/v1/actions/{edited['id']}/approve", json=seen).json()
    business.finish(approved["action_run_id"])
    (sent,) = business.writes()
    assert sent["path"].endswith("/112") and sent["body"]["daily_budget"] == "8000"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"adset_id": "999999", "daily_budget": 80}, "no such ad set"),
        ({"adset_id": "911", "daily_budget": 80}, "no such ad set"),  # of somebody else
        ({"adset_id": "113", "daily_budget": 80}, "Общий"),  # its campaign has the budget
        ({"adset_id": "111", "daily_budget": 80.001}, "80.001"),
    ],
)
def test_an_edit_that_cannot_work_is_refused_before_it_is_approved(
    business: Marketer, arguments: dict[str, Any], words: str
) -> None:
    proposed = propose(business)
    reply = edit(business, **arguments)
    assert (reply.status_code, reply.json()["error"]["code"]) == (422, "invalid_request")
    assert words in reply.json()["error"]["message"]
    if "such" in words:
        assert reply.json()["error"]["details"]["say"] == "Такой группы объявлений нет в этом рекламном аккаунте."
    assert waiting(business) == proposed and business.writes() == []


def test_an_edit_in_ag_ui_is_shown_before_it_is_approved(business: Marketer) -> None:
    """The run ends with the same interrupt as it is now; approving that executes it once."""
    thread, user = str(uuid4()), str(business.user)

    def run(number: int, **more: Any) -> list[dict[str, Any]]:
        body = {"threadId": thread, "runId": f"run-{number}", "user": user, "messages": [], **more}
        reply = business.stack.client.post("/v1/ag-ui/ads", json=body)
        assert reply.status_code == 200, reply.text
        return [json.loads(line[6:]) for line in reply.text.splitlines() if line.startswith("data: {")]

    def answer(number: int, interrupt: dict[str, Any], **payload: Any) -> dict[str, Any]:
        metadata = {"fingerprint": interrupt["metadata"]["fingerprint"]}
        entry = {"interruptId": interrupt["id"], "status": "resolved", "metadata": metadata}
        payload = {"approved": True, **payload}
        finished: dict[str, Any] = run(number, resume=[entry | {"payload": payload}])[-1]
        assert finished["type"] == "RUN_FINISHED", finished
        return dict(finished["outcome"])

    business.models.rounds["responder"] = [[execute(("updateBudget", {"adset_id": "111", "daily_budget": 70}))]]
    asked = run(1, messages=[{"id": "m1", "role": "user", "content": "Алматы до 70"}])
    (interrupt,) = asked[-1]["outcome"]["interrupts"]
    assert interrupt["message"].startswith("Изменить дневной бюджет группы объявлений: С этого момента")
    edited = {"adset_id": "112", "daily_budget": 80}
    outcome = answer(2, interrupt, editedArgs=edited)
    assert outcome["type"] == "interrupt" and business.writes() == []
    (again,) = outcome["interrupts"]
    assert again["message"] == interrupt["message"]
    assert (again["id"], again["toolCallId"]) == (interrupt["id"], interrupt["toolCallId"])
    assert (again["metadata"]["object"], again["metadata"]["arguments"]) == ("Астана", edited)
    assert again["metadata"]["changes"][0][1:] == ["90 USD", "80 USD"]
    assert answer(3, again, editedArgs=edited) == {"type": "success"}
    assert [one["body"]["daily_budget"] for one in business.writes()] == ["8000"]


def test_an_edit_over_a2a_is_shown_before_it_is_approved(business: Marketer) -> None:
    """The task waits again with what was looked up."""

    def send(part: Any, **more: Any) -> dict[str, Any]:
        result = call(business.stack, str(business.user), "SendMessage", "ads", message=message(part, **more))
        return dict(result["result"]["task"])

    business.models.rounds["responder"] = [[execute(("updateBudget", {"adset_id": "111", "daily_budget": 70}))]]
    task = send("Алматы до 70")
    task = send({"data": {"approved": True, "arguments": {"adset_id": "112", "daily_budget": 80}}}, taskId=task["id"])
    assert task["status"]["state"] == "TASK_STATE_INPUT_REQUIRED" and business.writes() == []
    (action,) = next(part["data"]["actions"] for part in task["status"]["message"]["parts"] if "data" in part)
    assert (action["object"], action["changes"][0][1:]) == ("Астана", ["90 USD", "80 USD"])
    task = send({"data": {"approved": True, "fingerprint": action["fingerprint"]}}, taskId=task["id"])
    assert task["status"]["state"] == "TASK_STATE_COMPLETED"
    assert [one["body"]["daily_budget"] for one in business.writes()] == ["8000"]


def test_edits_in_sql_are_looked_up_too(business: Marketer) -> None:
    """The function returns the run that looks them up; approving other arguments past it is refused."""
    action = propose(business)
    other = json.dumps({"adset_id": "Астана", "daily_budget": 80})
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="maas_edit_action"):
        business.stack.rows(
            "select * from maas_decide_action(%s, %s, 'approve', 'sql', %s)", action["id"], business.user, other
        )
    (row,) = business.stack.rows("select * from maas_edit_action(%s, %s, %s)", action["id"], business.user, other)
    assert (row["verdict"], row["status"]) == ("looking", "pending")
    run = business.finish(row["run_id"])
    assert json.loads(run["final_answer"])["error_code"] == "approval_required" and not run["is_remembered"]
    assert waiting(business)["object"] == "Астана"
    business.decide()
    assert [one["body"]["daily_budget"] for one in business.writes()] == ["8000"]
