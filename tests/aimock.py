"""aimock, a protocol server for OpenAI, Gemini and Anthropic that we did not write, as a process of its own."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any, Self

import httpx2

from shared.process import dies_with_parent
from tests.polling import poll

FOLDER = Path(__file__).resolve().parent / "contract"
PROGRAM = FOLDER / "node_modules" / "@copilotkit" / "aimock" / "dist" / "cli.js"
NEWEST_NEEDED = (20, 15)
_LISTENING = re.compile(r"listening on (http://\S+)")


def missing() -> str | None:
    """Why aimock cannot run here; None when it can."""
    node = shutil.which("node")
    if node is None:
        return "aimock needs Node 20.15 or newer, and there is no node"
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    if tuple(map(int, version.removeprefix("v").split(".")[:2])) < NEWEST_NEEDED:
        return f"aimock needs Node 20.15 or newer, and this is {version}"
    return None if PROGRAM.exists() else "aimock is not installed: run `npm ci` in tests/contract"


class Aimock:
    """One server; every request must match a fixture, the first that does answers.

    `folder` takes the log and the fixture that the server wants to see at its start. Use as a context manager.
    """

    def __init__(self, folder: Path) -> None:
        self.url = ""
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._control = httpx2.Client(trust_env=False, verify=False, timeout=10)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def openai_url(self) -> str:
        """What OPENAI_BASE_URL should be."""
        return f"{self.url}/v1"

    @property
    def gemini_url(self) -> str:
        """What GEMINI_BASE_URL should be."""
        return self.url

    @property
    def anthropic_url(self) -> str:
        """What ANTHROPIC_BASE_URL should be."""
        return self.url

    def settings(self, model: str = "openai:gpt-4o") -> dict[str, str]:
        """Environment of a process of ours that asks this server in every role."""
        return {
            "MAAS_MODEL": model,
            "MAAS_RETRY_DELAY": "0.05",
            "OPENAI_API_KEY": "sk-aimock-0123456789",
            "OPENAI_BASE_URL": self.openai_url,
            "GEMINI_API_KEY": "sk-aimock-0123456789",
            "GEMINI_BASE_URL": self.gemini_url,
            "ANTHROPIC_API_KEY": "sk-aimock-0123456789",
            "ANTHROPIC_BASE_URL": self.anthropic_url,
        }

    def start(self) -> None:
        """Start on a free port and wait until it listens."""
        log = self._folder / "aimock.log"
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                self._command(), stdout=output, stderr=subprocess.STDOUT, preexec_fn=dies_with_parent(signal.SIGTERM)
            )
        process = self._process
        poll(lambda: process.poll() is not None or _LISTENING.search(log.read_text()), what="aimock listens")
        found = _LISTENING.search(log.read_text())
        assert found is not None, log.read_text()
        self.url = found[1]

    def stop(self) -> None:
        """End the process."""
        self._control.close()
        if self._process is not None:
            self._process.terminate()
            self._process.wait(10)
            self._process = None

    def fixtures(self, *entries: dict[str, Any]) -> None:
        """Add fixtures `{"match": {...}, "response": {...}}`; earlier ones win."""
        answer = self._control.post(f"{self.url}/__aimock/fixtures", json={"fixtures": list(entries)})
        assert answer.status_code == 200, answer.text

    def say(self, text: str, *, to: str | None = None, model: str | None = None, **response: Any) -> None:
        """Answer `text` to user messages that contain `to`, from `model`; None means any."""
        match = {key: value for key, value in (("userMessage", to), ("model", model)) if value is not None}
        self.fixtures({"match": match, "response": {"content": text} | response})

    def fail(self, status: int, message: str = "on purpose", *, times: int = 1, **response: Any) -> None:
        """Answer the next `times` requests with an error; fixtures that are added later answer the others."""
        error = {"error": {"message": message, "type": "test"}, "status": status} | response
        self.fixtures(*({"match": {"sequenceIndex": number}, "response": error} for number in range(times)))

    def reset(self) -> None:
        """Forget fixtures, counters and journal."""
        self._control.post(f"{self.url}/__aimock/reset").raise_for_status()

    def journal(self) -> list[dict[str, Any]]:
        """Requests since the last reset, oldest first: method, path, headers, body (in OpenAI's form), response."""
        answer = self._control.get(f"{self.url}/__aimock/journal")
        answer.raise_for_status()
        entries: list[dict[str, Any]] = answer.json()
        return entries

    def _command(self) -> list[str]:
        first = {"fixtures": [{"match": {"userMessage": "Are you there?"}, "response": {"content": "Yes."}}]}
        (self._folder / "first.json").write_text(json.dumps(first))
        options = ["-p", "0", "-f", str(self._folder / "first.json"), "--strict", "--validate-on-load"]
        return [shutil.which("node") or "node", str(PROGRAM), *options]


class EchoingAimock(Aimock):
    """Needs no fixtures: each role is a model name, and its reply repeats the marks in what it was asked."""

    def settings(self, model: str = "") -> dict[str, str]:
        """Environment of a process of ours that asks this server in every role."""
        roles = ("analyzer", "assembler", "responder", "archivist")
        return super().settings() | {f"MAAS_{role.upper()}_MODEL": f"openai:{role}" for role in roles}

    def _command(self) -> list[str]:
        return [shutil.which("node") or "node", str(FOLDER / "echo.mjs")]
