"""Models inside tools: recorded, priced, limited, asked once whatever dies, and told to nobody who follows."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from tests.assistants.stickers.fault.test_crash import Painter
from tests.http_server import HTTPServer
from tests.model_server import ModelServer
from tests.polling import poll
from tests.stack import Stack, maas

TEXT = json.dumps({"text": "A long text about herons."})
LONG = ("shorten_text", TEXT)
Start = Callable[..., None]


@pytest.fixture
def stack(emptied_stack: Stack) -> Stack:
    return emptied_stack


@pytest.fixture
def models(lasting_models: ModelServer) -> ModelServer:
    return lasting_models


@pytest.fixture
def start(stack: Stack, models: ModelServer) -> Start:
    """An orchestrator with the tools and their assistant; `is_open`: no tool waits."""
    models.speakers = ("Summariser",)
    models.replies["Summariser"] = "Herons, in short."
    stack.rows(
        "insert into assistants (name, role_name, definition) values ('clerk', 'Mentor', %s)",
        json.dumps({"toolset": ["desk"], "default_mode": "auto"}),
    )

    def begin(is_open: bool = True, **more: str) -> None:
        if is_open:
            (stack.folder / "go").touch()
        tools = {"MAAS_TOOLS": "tests.asking:TOOLS", "TOOLBOX": str(stack.folder)}
        stack.keep_orchestrator(**models.settings() | tools | more)

    return begin


def ask(stack: Stack, user: UUID, query: str = "Shorten it.") -> UUID:
    insert = "insert into pipeline_runs (user_id, user_query, assistant) values (%s, %s, 'clerk') returning id"
    return UUID(str(stack.rows(insert, user, query)[0]["id"]))


def finish(stack: Stack, run_id: UUID) -> dict[str, Any]:
    poll(lambda: stack.rows("select from pipeline_runs where id = %s and queue_state = 2", run_id), 30, "it is over")
    return dict(stack.rows("select * from pipeline_runs where id = %s", run_id)[0])


def calls(stack: Stack, run_id: UUID) -> list[tuple[str, int, str]]:
    query = (
        "select role_name, tokens_in + tokens_out as n, finish from llm_calls "
        "where run_id = %s and stage = 'final_responder' order by round"
    )
    return [(row["role_name"], row["n"], row["finish"]) for row in stack.rows(query, run_id)]


def tool_said(models: ModelServer) -> str:
    """The result that the model of the assistant was sent last."""
    return str(models.said_to("responder")[-1]["messages"][-1]["content"])


def test_what_a_tool_asks_is_a_call_of_the_run(stack: Stack, models: ModelServer, user: UUID, start: Start) -> None:
    models.rounds["responder"] = [[LONG]]
    start()
    run_id = ask(stack, user)
    assert finish(stack, run_id)["final_answer"] == "A model answered."
    made = [("FinalResponder", 18, "tool_calls"), ("Tool", 18, "stop"), ("FinalResponder", 18, "stop")]
    assert calls(stack, run_id) == made
    assert "Herons, in short." in tool_said(models)
    (day,) = stack.rows("select tokens from token_usage where user_id = %s", user)
    assert day["tokens"] == 18 * sum(models.calls[role] for role in ("analyzer", "assembler", "responder", "archivist"))
    texts = stack.rows("select payload from run_events where run_id = %s and type = 'text'", run_id)
    assert "Herons" not in str(texts)


def test_a_tool_of_an_approved_action_asks_too(stack: Stack, models: ModelServer, user: UUID, start: Start) -> None:
    models.rounds["responder"] = [[("send_short", TEXT)]]
    start()
    finish(stack, ask(stack, user))
    (action,) = stack.rows("select id from v_actions where user_id = %s", user)
    models.rounds.clear()
    (row,) = stack.rows("select * from maas_decide_action(%s, %s, 'approve', 'sql')", action["id"], user)
    run_id = next(value for name, value in row.items() if name in ("run_id", "action_run_id"))
    finish(stack, run_id)
    assert calls(stack, run_id)[0] == ("Tool", 18, "stop")
    (execution,) = stack.rows("select status, result from tool_executions where run_id = %s", run_id)
    assert (execution["status"], execution["result"]["data"]) == ("done", {"sent": "Herons, in short."})


def test_an_approved_action_of_a_user_who_has_spent_the_day(
    stack: Stack, models: ModelServer, user: UUID, start: Start
) -> None:
    """Its tool asks nobody and says why; the user is told by rule, and the run is not FAILED."""
    models.rounds["responder"] = [[("send_short", TEXT)]]
    start(MAAS_USER_DAILY_TOKENS="1000")
    finish(stack, ask(stack, user))
    stack.rows("update token_usage set tokens = 1000 where user_id = %s returning day", user)
    (action,) = stack.rows("select id from v_actions where user_id = %s", user)
    stack.rows("select * from maas_decide_action(%s, %s, 'approve', 'sql')", action["id"], user)
    (row,) = stack.rows("select id from pipeline_runs where user_id = %s and kind = 'action'", user)
    run = finish(stack, row["id"])
    assert (run["status"], run["limited"], models.calls["Summariser"]) == ("COMPLETED", "budget", 0)
    assert "Your budget for today is spent" in run["final_answer"]
    (done,) = stack.rows("select status from v_actions where user_id = %s", user)
    assert done["status"] == "failed"


def test_a_reply_to_a_tool_is_not_asked_for_again(stack: Stack, models: ModelServer, user: UUID, start: Start) -> None:
    """kill -9 after the reply: the read is repeated, its model is not."""
    models.rounds["responder"] = [[LONG]]
    start(is_open=False)
    run_id = ask(stack, user)
    poll(lambda: stack.rows("select from llm_calls where run_id = %s and role_name = 'Tool'", run_id))
    for process in list(stack._processes):
        stack.stop(process, signal.SIGKILL)
    start()
    assert finish(stack, run_id)["status"] == "COMPLETED"
    assert (models.calls["Summariser"], "Herons, in short." in tool_said(models)) == (1, True)


def test_a_model_that_fails_is_a_result(stack: Stack, models: ModelServer, user: UUID, start: Start) -> None:
    """The provider's words stay in the ledger; the run goes on."""
    models.rounds["responder"] = [[LONG]]
    models.statuses["Summariser"] = 401
    start()
    run_id = ask(stack, user)
    assert finish(stack, run_id)["final_answer"] == "A model answered."
    assert "an operator must correct the key" in tool_said(models) and "on purpose" not in tool_said(models)
    assert ("Tool", 0, "error") in calls(stack, run_id)


def test_a_budget_that_ends_within_a_tool(stack: Stack, models: ModelServer, user: UUID, start: Start) -> None:
    """Analyzer, Assembler and the first round are within it: the tool asks nobody, and rules answer."""
    models.rounds["responder"] = [[LONG]]
    start(MAAS_USER_DAILY_TOKENS=str(3 * 18))
    run_id = ask(stack, user)
    run = finish(stack, run_id)
    assert (run["status"], run["limited"], models.calls["Summariser"]) == ("COMPLETED", "budget", 0)
    assert "What was done for this request before that stays done." in run["final_answer"]
    (read,) = stack.rows("select status from tool_executions where run_id = %s", run_id)
    assert read["status"] == "failed"


@pytest.mark.parametrize(
    ("call", "said"),
    [(("ask_nobody", "{}"), "there is no role 'Nobody'"), (("paint", TEXT), "no image model is configured")],
)
def test_what_cannot_be_asked(
    stack: Stack, models: ModelServer, user: UUID, start: Start, call: tuple[str, str], said: str
) -> None:
    models.rounds["responder"] = [[call]]
    start()
    assert finish(stack, ask(stack, user))["status"] == "COMPLETED"
    assert said in tool_said(models) or "an operator must correct its name" in tool_said(models)


def test_the_built_in_model_answers_no_tool(stack: Stack, models: ModelServer, user: UUID, start: Start) -> None:
    result = maas(
        stack, "tool", "shorten_text", "--args", TEXT, MAAS_TOOLS="tests.asking:TOOLS", TOOLBOX=str(stack.folder)
    )
    assert result.returncode == 1 and "models are asked within runs only" in result.stdout


def test_an_image_is_priced_and_limited(stack: Stack, models: ModelServer, user: UUID, start: Start) -> None:
    """One image at 0.042 dollars; with a budget of 0.04 the next run is answered by rule, and paints nothing."""
    with HTTPServer(threaded=True) as server:
        painter = Painter(server)
        painter.gate.set()
        models.rounds["responder"] = [[("paint", TEXT)]]
        url = server.url_for("/v1")
        server.expect_request("/v1/images/generations").respond_with_handler(painter._answer)
        server.expect_request("/v1/chat/completions").respond_with_handler(models._answer)
        image = {"MAAS_IMAGE_MODEL": "openai:gpt-image-1", "OPENAI_BASE_URL": url}
        start(**image, MAAS_USER_DAILY_DOLLARS="0.04")
        run_id = ask(stack, user)
        run = finish(stack, run_id)
        (drawn,) = stack.rows(
            "select images, price, finish, ms from llm_calls where run_id = %s and images > 0", run_id
        )
        assert (drawn["images"], drawn["price"], drawn["finish"]) == (1, 42_000, "stop") and drawn["ms"] > 0
        assert (run["status"], run["limited"]) == ("COMPLETED", "budget")
        (cost,) = stack.rows("select images, price from v_run_cost where run_id = %s", run_id)
        assert (cost["images"], cost["price"]) == (1, 42_000)
        (spent,) = stack.rows("select price_today from v_cost_user where user_id = %s", user)
        assert spent["price_today"] == 42_000
        second = finish(stack, ask(stack, user))
        assert (second["limited"], painter.asked) == ("budget", 1)
