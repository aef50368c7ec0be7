"""Stop: followers of a cancelled run get that event at once, and nothing of the run afterwards."""

from __future__ import annotations

from uuid import UUID

import pytest

from maas.engine.events import EventLog, EventType
from maas.engine.run import LostRun
from shared.db import open_database
from tests.model_server import ModelServer
from tests.polling import poll
from tests.sse import followed
from tests.stack import Stack


@pytest.mark.parametrize(("role", "status"), [("analyzer", "ANALYZING"), ("responder", "RESPONDING")])
async def test_stop(stack: Stack, models: ModelServer, user: UUID, role: str, status: str) -> None:
    """Before the first word and while words flow: FAILED, `cancelled`; the user's next run is answered."""
    models.hold(role)
    stack.start_server()
    stack.start_orchestrator(**models.settings())
    run_id, later = stack.ask(user, "Tell me everything."), stack.ask(user, "Or rather this.")
    async with open_database(stack.dsn, 2, "test") as db:
        log = EventLog(db)
        with followed(stack, run_id) as events:
            while next(events).data["status"] != status:
                pass
            poll(lambda: models.calls[role] == 1)
            said = ["Once upon ", "a time"] if role == "responder" else []
            for delta in said:
                await log.add(run_id, 1, EventType.TEXT, {"delta": delta})
                assert next(events).data["delta"] == delta
            assert stack.client.post(f"/v1/runs/{run_id}/cancel").status_code == 202
            rest = list(events)
        assert [one.type for one in rest] == ["status", "error"]
        assert (rest[0].data["status"], rest[1].data["code"]) == ("FAILED", "cancelled")
        with pytest.raises(LostRun):
            await log.add(run_id, 1, EventType.TEXT, {"delta": "there was"})
    models.release(role)
    assert stack.answer(later)["status"] == "COMPLETED"
