"""A confirmed sticker when the process dies that makes it: it is made, and counted once."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import psycopg
import pytest
from werkzeug import Request, Response

from tests.contract.test_images import OPENAI
from tests.http_server import HTTPServer
from tests.model_server import ModelServer
from tests.pictures import picture
from tests.polling import poll
from tests.stack import Stack

FULL = {"style": "anime", "emotion": "happy", "pose": "hands up"}


class Painter:
    """Draws one picture after another, and keeps whoever asks waiting while `gate` is closed."""

    def __init__(self, server: HTTPServer) -> None:
        self.asked = 0
        self.gate = threading.Event()
        server.expect_request(OPENAI.photo_path).respond_with_handler(self._answer)

    def _answer(self, _: Request) -> Response:
        self.asked += 1
        colour = "red" if self.asked == 1 else "blue"
        self.gate.wait(60)
        return Response(json.dumps(OPENAI.body(picture(colour=colour))), content_type="application/json")


@pytest.fixture
def painted(stack: Stack) -> Iterator[tuple[Painter, ModelServer]]:
    with HTTPServer(threaded=True) as server:
        painter, models = Painter(server), ModelServer(server)
        yield painter, models
        models.close()
        painter.gate.set()


def start(stack: Stack, models: ModelServer) -> None:
    stack.start_orchestrator(**models.settings(), MAAS_IMAGE_MODEL="openai:gpt-image-1")


def confirm(stack: Stack, user: UUID, models: ModelServer) -> UUID:
    models.rounds["responder"] = [[("confirm_and_generate", "{}")]]
    return say_yes(stack, user)


def say_yes(stack: Stack, user: UUID) -> UUID:
    """Of a user who has everything that it takes."""
    keep = "select maas_store_attachment(%s, null, 'image/png', 40, 20, %s) as id"
    photo = stack.rows(keep, user, picture())[0]["id"]
    insert = "insert into assistant_sessions (user_id, assistant, slots, photo) values (%s, 'stickers', %s, %s)"
    stack.rows(insert, user, json.dumps(FULL), photo)
    ask = "insert into pipeline_runs (user_id, user_query, assistant) values (%s, 'Да!', 'stickers') returning id"
    return UUID(str(stack.rows(ask, user)[0]["id"]))


def ending(stack: Stack, run_id: UUID) -> dict[str, Any]:
    poll(
        lambda: stack.rows("select from pipeline_runs where id = %s and queue_state = 2", run_id), 30, "it is finished"
    )
    query = """
        select r.status, r.final_answer, r.attempt, u.total_generations, s.confirmed,
          (select array_agg(a.id::text) from attachments a where a.run_id = r.id) as drawn,
          (select array_agg(distinct e.payload->>'attachment_id') from run_events e
           where e.run_id = r.id and e.type = 'sticker') as shown
        from pipeline_runs r join app_users u using (user_id) join assistant_sessions s using (user_id)
        where r.id = %s"""
    return dict(stack.rows(query, run_id)[0])


def check(state: dict[str, Any], models: ModelServer) -> None:
    assert (state["status"], state["attempt"]) == ("COMPLETED", 2)
    assert (state["total_generations"], state["confirmed"], len(state["drawn"])) == (1, True, 1)
    assert state["final_answer"] == f"Ваш стикер готов: {state['drawn'][0]}" and state["shown"] == state["drawn"]
    assert models.calls["responder"] == 1


def verification(stack: Stack, run_id: UUID) -> dict[str, Any]:
    query = (
        "select result->'verification' as it from tool_executions where run_id = %s and tool = 'confirm_and_generate'"
    )
    return dict(stack.rows(query, run_id)[0]["it"])


def test_killed_while_it_is_drawn(stack: Stack, painted: tuple[Painter, ModelServer], user: UUID) -> None:
    painter, models = painted
    start(stack, models)
    run_id = confirm(stack, user, models)
    poll(lambda: painter.asked == 1, what="it is being drawn")
    stack.kill()
    painter.gate.set()
    start(stack, models)
    state = ending(stack, run_id)
    check(state, models)
    assert painter.asked == 2
    assert verification(stack, run_id) == {"is_stored": True, "attachment_id": state["drawn"][0]}


def test_killed_between_picture_and_answer(stack: Stack, painted: tuple[Painter, ModelServer], user: UUID) -> None:
    """The picture is stored and counted, nobody has seen it: it is shown, and not drawn again."""
    painter, models = painted
    start(stack, models)
    run_id = confirm(stack, user, models)
    poll(lambda: painter.asked == 1, what="it is being drawn")
    with psycopg.connect(stack.dsn) as holder:
        holder.execute("lock table tool_executions in exclusive mode")
        painter.gate.set()
        waits = "select from pg_locks where relation = 'tool_executions'::regclass and not granted"
        poll(lambda: stack.rows(waits), what="the ledger waits")
        assert stack.rows("select from attachments where run_id = %s", run_id)
        stack.kill()
    start(stack, models)
    check(ending(stack, run_id), models)
    assert painter.asked == 1


def test_killed_while_a_button_is_worked_on(stack: Stack, painted: tuple[Painter, ModelServer], user: UUID) -> None:
    """The press is a run like any other: taken over, and done once."""
    painter, models = painted
    start(stack, models)
    asked = say_yes(stack, user)
    offer = '{"buttons": [{"id": "assistant_confirm", "label": "Подтвердить"}]}'
    stack.rows("select maas_add_event(%s, 'buttons', %s)", asked, offer)
    poll(lambda: stack.rows("select from pipeline_runs where id = %s and queue_state = 2", asked), 30, "it is answered")
    pressed = {
        stack.rows("select run_id from maas_press_button(%s, %s, 'assistant_confirm')", asked, user)[0]["run_id"]
        for _ in range(2)
    }
    poll(lambda: painter.asked == 1, what="it is being drawn")
    stack.kill()
    painter.gate.set()
    start(stack, models)
    assert len(pressed) == 1
    state = ending(stack, pressed.pop())
    assert (state["status"], state["attempt"], state["total_generations"], len(state["drawn"])) == (
        "COMPLETED",
        2,
        1,
        1,
    )
    assert models.calls["responder"] == 1
