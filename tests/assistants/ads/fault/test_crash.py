"""The orchestrator dies while Facebook carries out an approved change: nobody repeats it, and the user is informed."""

from __future__ import annotations

import signal
from pathlib import Path
from uuid import uuid4

from tests.assistants.ads.marketer import execute, marketer
from tests.polling import poll


def test_a_change_whose_process_died_is_in_doubt(database: str, tmp_path: Path) -> None:
    with marketer(database, tmp_path) as one:
        first = one.stack.start_orchestrator(**one.settings())
        one.models.rounds["responder"] = [[execute(("pauseCampaign", {"campaign_id": "101"}))]]
        one.ask("Останови кампанию", conversation=uuid4())
        (action,) = one.pending()
        one.facebook.fault("hang", path="/101", method="POST", is_done=True)
        one.stack.rows("select * from maas_decide_action(%s, %s, 'approve', 'sql')", action["id"], one.user)
        poll(one.writes, what="Facebook gets the change")
        one.stack.stop(first, signal.SIGKILL)
        one.stack.start_orchestrator(**one.settings())
        (row,) = one.stack.rows("select action_run_id from v_actions where id = %s", action["id"])
        outcome = one.finish(row["action_run_id"])
        assert len(one.writes()) == 1
        (row,) = one.stack.rows("select status from v_actions where id = %s", action["id"])
        assert row["status"] == "in_doubt" and outcome["status"] == "COMPLETED"
        assert one.facebook.state()["campaigns"]["101"]["status"] == "PAUSED"
