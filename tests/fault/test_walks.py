"""The two walks through the code of docs/concepts.md: short, and by files that a request really calls."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

from tests.fault.test_dialogues import settings
from tests.model_server import ModelServer
from tests.polling import poll
from tests.programs import ROOT, Process
from tests.stack import Stack

MOST = 20, 14


def walks() -> list[list[str]]:
    """The files that each walk names."""
    text = (ROOT / "docs/concepts.md").read_text(encoding="utf-8")
    chapter = text.partition("## Two walks through the code")[2].partition("\n## ")[0]
    return [
        sorted(set(re.findall(r"`([\w/]+\.(?:py|sql))`", part)))
        for part in chapter.partition("From a tool call to its approval")[::2]
    ]


def called_by(processes: list[Process], folder: Path, act: Callable[[], None]) -> set[str]:
    """The files of the checkout whose functions these processes call meanwhile."""
    for process in processes:
        os.kill(process.pid, signal.SIGUSR1)
    time.sleep(0.5)  # the handlers run when the event loops wake
    act()
    for process in processes:
        os.kill(process.pid, signal.SIGUSR2)
    files = [folder / str(process.pid) for process in processes]
    poll(lambda: all(file.exists() for file in files), what="processes say what they called")
    lines = [Path(line) for file in files for line in file.read_text().splitlines()]
    for file in files:
        file.unlink()
    return {str(path.relative_to(ROOT)) for path in lines if path.is_relative_to(ROOT)}


def test_the_walks_are_short_and_true(stack: Stack, models: ModelServer, user: UUID, tmp_path: Path) -> None:
    to_memory, to_approval = walks()
    assert (len(to_memory), len(to_approval)) <= MOST and len(to_approval) <= MOST[1]
    definition = json.dumps({"toolset": ["box"], "default_mode": "plan"})
    stack.rows("insert into assistants (name, role_name, definition) values ('clerk', 'Mentor', %s)", definition)
    stack.is_forking = False  # a forked process would not import the tracer
    traced = {"TRACED_FILES": str(tmp_path), "PYTHONPATH": f"{ROOT / 'tests/tracer'}:{ROOT}"}
    server = stack.start_server(**traced)
    orchestrator = stack.start_orchestrator(**settings(stack, models) | {"MAAS_TOOLS": "tests.toolbox:TOOLS"} | traced)

    def ask() -> None:
        run = stack.ask(user, "My cat is called Comet. What is it called?")
        assert stack.answer(run)["status"] == "COMPLETED"
        stack.wait_archived(run)

    def approve() -> None:
        models.rounds["responder"] = [[("write_line", '{"text": "one"}')]]
        run = stack.ask(user, "Write it down.", assistant="clerk")
        assert stack.answer(run)["status"] == "COMPLETED"
        (action,) = stack.client.get("/v1/actions", params={"user_id": str(user)}).json()["results"]
        decision = {"user_id": str(user), "fingerprint": action["fingerprint"]}
        reply = stack.client.post(f"/v1/actions/{action['id']}/approve", json=decision)
        assert reply.status_code == 200, reply.text
        stack.wait_archived(UUID(reply.json()["action_run_id"]))

    for walk, act in ((to_memory, ask), (to_approval, approve)):
        called = called_by([server, orchestrator], tmp_path, act)
        assert [path for path in walk if path.endswith(".py") and path not in called] == []
        assert all((ROOT / path).is_file() for path in walk)
