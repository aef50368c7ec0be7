"""The stand-ins as programs: how they start, what their control does, and that a fault hits what it is meant for."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from tests.programs import ROOT
from tests.standins.running import MODULES, standin
from tests.standins.server import merged
from tests.vendors import EVOLUTION, SECRET, SUBJECTS, Subject


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.kind)
def test_program(subject: Subject, tmp_path: Path) -> None:
    """It prints its URL in one line, and SIGTERM ends it."""
    fixture = tmp_path / "fixture.json"
    fixture.write_text(json.dumps(subject.fixture))
    command = [sys.executable, "-m", MODULES[subject.kind], "--port", "0", "--fixture", str(fixture)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as program:
        try:
            assert program.stdout is not None
            url = program.stdout.readline().strip()
            state = httpx2.get(f"{url}/__control/state").json()
        finally:
            program.send_signal(signal.SIGTERM)
        assert state == subject.fixture
        assert program.wait(10) in (0, -signal.SIGTERM) and program.stdout.read() == ""


def test_control() -> None:
    with standin("evolution", EVOLUTION) as running, httpx2.Client(headers={"apikey": SECRET}) as http:
        address = f"{running.url}/instance/connectionState/shop"
        running.fault("status", path="/connectionState", method="GET", status=503, times=2)
        running.fault("status", path="/elsewhere", status=500)
        assert [http.get(address).status_code for _ in range(3)] == [503, 503, 200]
        running.fault("status", times=9)
        running.clear_faults()
        running.merge({"instances": {"shop": {"state": "close"}}})
        assert http.get(address).json()["instance"]["state"] == "close"
        assert [one["status"] for one in running.journal("GET", "/shop")] == [503, 503, 200, 200]
        assert running.journal()[0]["headers"] == {"apikey": SECRET}
        running.reset()
        assert running.state() == EVOLUTION and running.journal() == []


def test_merging() -> None:
    assert merged({"a": {"b": 1, "c": 2}, "d": [1]}, {"a": {"b": None, "e": 3}, "d": [2]}) == {
        "a": {"c": 2, "e": 3},
        "d": [2],
    }
