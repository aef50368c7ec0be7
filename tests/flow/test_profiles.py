"""How much an assistant remembers is part of its definition; statuses and logs are the same for all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from uuid import UUID

import pytest

from tests.http_server import HTTPServer
from tests.model_server import ModelServer
from tests.stack import Stack


@pytest.fixture
def asked(database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Stack, ModelServer]]:
    with HTTPServer(threaded=True) as server, Stack(database, tmp_path_factory.mktemp("stack")) as stack:
        models = ModelServer(server)
        stack.start_server()
        stack.start_orchestrator(**models.settings())
        yield stack, models
        models.close()


@pytest.mark.parametrize(
    ("memory", "called", "shown", "records"),
    [
        ("full", {"analyzer": 2, "assembler": 2, "responder": 2, "archivist": 2}, True, 2),
        ("light", {"responder": 2}, True, 2),
        ("off", {"responder": 2}, False, 0),
    ],
)
def test_a_profile(
    asked: tuple[Stack, ModelServer], user: UUID, memory: str, called: dict[str, int], shown: bool, records: int
) -> None:
    stack, models = asked
    insert = "insert into assistants (name, role_name, definition) values ('clerk', 'Mentor', %s)"
    stack.rows(insert, json.dumps({"memory": memory}))
    for query in ("My sister Alma moved to Lisbon.", "Where does my sister Alma live?"):
        run = stack.ask(user, query, assistant="clerk")
        stack.wait_archived(run)
        state = stack.answer(run)
        assert (state["status"], state["degraded"]) == ("COMPLETED", [])
        assert state["archive_status"] == "ARCHIVED"
    assert dict(models.calls) == called
    (row,) = stack.rows("select draft_context, final_context_payload as payload from pipeline_runs where id = %s", run)
    assert ("moved to Lisbon" in row["draft_context"]) is shown
    if memory == "light":  # the model that condenses for `full` answers with nothing
        assert "moved to Lisbon" in row["payload"]
    found = stack.rows("select from lsm_storage where user_id = %s and not is_provisional", user)
    assert len(found) == records
    logs = stack.rows("select archived_at from raw_logs where user_id = %s", user)
    assert len(logs) == 4 and all(log["archived_at"] for log in logs)
