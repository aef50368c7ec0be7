"""Starts a stand-in as a program of its own, and talks to its control."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import httpx2

from tests.polling import poll
from tests.programs import ROOT, start

Kind = Literal["facebook", "amocrm", "evolution", "telegram", "lightrag"]
MODULES: dict[Kind, str] = {
    "facebook": "tests.assistants.ads.standins.facebook",
    "amocrm": "tests.assistants.ads.standins.amocrm",
    "evolution": "tests.assistants.ads.standins.evolution",
    "telegram": "tests.channels.telegram.standins.telegram",
    "lightrag": "tests.assistants.corporate.standins.lightrag",
}
END_S = 5


class Running:
    """A running stand-in at `url`."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._control = httpx2.Client(base_url=f"{url}/__control", timeout=10)

    def journal(self, method: str = "", path: str = "") -> list[dict[str, Any]]:
        """The requests so far, all or those of a method and with `path` in their path."""
        entries: list[dict[str, Any]] = self._control.get("/journal").raise_for_status().json()
        return [one for one in entries if method in ("", one["method"]) and path in one["path"]]

    def fault(self, kind: str, **options: Any) -> None:
        """Order a fault; the options are those of `server.Fault`."""
        self._control.post("/faults", json=[{"kind": kind} | options]).raise_for_status()

    def clear_faults(self) -> None:
        """Drop the faults that are left."""
        self._control.post("/faults", json=[]).raise_for_status()

    def state(self) -> dict[str, Any]:
        state: dict[str, Any] = self._control.get("/state").raise_for_status().json()
        return state

    def merge(self, patch: dict[str, Any]) -> None:
        """Change the state by a JSON merge patch."""
        self._control.post("/state", json=patch).raise_for_status()

    def reset(self) -> None:
        """Go back to the fixture, without journal and faults."""
        self._control.post("/reset").raise_for_status()

    def close(self) -> None:
        self._control.close()


@contextmanager
def standin(kind: Kind, fixture: dict[str, Any] | Path | None = None, port: int = 0) -> Iterator[Running]:
    """Run a stand-in with a fixture, a value or a JSON file, until the end of the context."""
    with (
        tempfile.TemporaryDirectory() as folder,
        tempfile.TemporaryFile() as output,
        tempfile.TemporaryFile() as errors,
    ):
        file = Path(folder) / "fixture.json" if isinstance(fixture, dict) else fixture
        if isinstance(fixture, dict) and file:
            file.write_text(json.dumps(fixture, ensure_ascii=False))
        arguments = ["--port", str(port), *(["--fixture", str(file)] if file else [])]
        environment = {"PYTHONPATH": str(ROOT), "PATH": os.environ.get("PATH", "")}
        path = ROOT / f"{MODULES[kind].replace('.', '/')}.py"
        program = start(path, *arguments, environment=environment, folder=ROOT, output=output, errors=errors)

        def url() -> str:
            line = os.pread(output.fileno(), 200, 0)  # the program writes at the offset that it shares with us
            assert line or program.poll() is None, os.pread(errors.fileno(), 10_000, 0).decode()
            return line.decode().strip() if line.endswith(b"\n") else ""

        try:
            running = Running(poll(url, 30.0, f"the stand-in for {kind} starts"))
            try:
                yield running
            finally:
                running.close()
        finally:
            program.kill()
            program.wait(END_S)
