"""Programs that run frameworks: each process answers a line of JSON with another, as tests/frameworks/cases says."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
from pathlib import Path
from typing import Any, Self

from shared.process import dies_with_parent
from tests.aimock import FOLDER as NODE_FOLDER
from tests.aimock import missing as missing_node
from tests.skips import NOT_TO_BE_HAD

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = ROOT / ".venv-frameworks"
AI_SDK = "ai_sdk"
OPENAI_NODE = "openai_node"
MEM0_NODE = "mem0_node"
IN_NODE = (AI_SDK, OPENAI_NODE, MEM0_NODE)
A2A = "a2a"
LITELLM = "litellm"
MEM0 = "mem0"
START_S = 60  # the first import compiles some hundred files
CASE_S = 30
OFFLINE = {
    "LANGSMITH_TRACING": "false",
    "LITELLM_LOCAL_MODEL_COST_MAP": "true",  # otherwise it is downloaded at the import
    "MEM0_TELEMETRY": "false",
    "NO_PROXY": "127.0.0.1",
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
}


def missing(framework: str) -> str | None:
    """Why a framework cannot run here; None when it can."""
    if framework in IN_NODE:
        return missing_node()
    if (ENVIRONMENT / "made").exists():
        return None
    if (ENVIRONMENT / "left-out").exists():
        return f"{NOT_TO_BE_HAD}: requirements-frameworks.lock could not be installed"
    return "the frameworks are not installed: make .venv-frameworks/made"


class Framework:
    """A running program; `log` takes what the framework prints. Use as a context manager."""

    def __init__(self, name: str, log: Path) -> None:
        self.name = name
        python = str(ENVIRONMENT / "bin" / "python")
        command = (
            ["node", str(NODE_FOLDER / f"{name}.mjs")]
            if name in IN_NODE
            else [python, "-m", f"tests.frameworks.ask_{name}"]
        )
        self._log = log
        with log.open("wb") as errors:
            self._process = subprocess.Popen(
                command,
                cwd=ROOT,
                env={key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
                | OFFLINE
                | {"LLM_USER_PATH": str(log.parent), "MEM0_DIR": str(log.parent / "mem0")},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                bufsize=0,
                preexec_fn=dies_with_parent(signal.SIGKILL),
            )
        self._is_ready = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._process:  # closes the pipes and waits
            self._process.kill()

    def run(self, case: str, url: str, model: str, text: str) -> dict[str, Any]:
        """What a case gives: {result}, or {error, status}."""
        if not self._is_ready:
            assert self._line(START_S) == "ready"
            self._is_ready = True
        asked = {"case": case, "url": url, "model": model, "text": text}
        assert self._process.stdin is not None
        self._process.stdin.write(f"{json.dumps(asked)}\n".encode())
        outcome: dict[str, Any] = json.loads(self._line(CASE_S))
        return outcome

    def _line(self, seconds: float) -> str:
        output = self._process.stdout
        assert output is not None
        assert select.select([output], [], [], seconds)[0], f"{self.name}: no answer in {seconds} s\n{self._words()}"
        line = output.readline()
        assert line, f"{self.name} has ended\n{self._words()}"
        return line.decode().strip()

    def _words(self) -> str:
        return self._log.read_text(errors="replace")[-3000:]
