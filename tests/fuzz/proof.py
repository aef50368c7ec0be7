"""schemathesis, all its checks and phases, against a server that runs: as a process of its own, with our hooks."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NONE: Mapping[str, str] = {}
TIMEOUT_S = 30  # a request that hangs; a shorter limit would say how busy a machine is
ENDLESS = "/v1/users/{id}/events"  # a stream whose end schemathesis would wait for
CONFIG = ROOT / "tests" / "fuzz" / "schemathesis.toml"


def prove(
    url: str,
    folder: Path,
    seed: int,
    examples: int,
    seconds: int | None = None,
    headers: Mapping[str, str] = NONE,
    words: Mapping[str, str] = NONE,
) -> tuple[int, str]:
    """Exit status and report. The same seed sends the same requests; `seconds` repeats until they are over.

    `headers` say who calls; `words` go into the environment of the hooks.
    """
    named = [f"--header={name}: {value}" for name, value in headers.items()]
    command = [
        str(Path(sys.executable).with_name("schemathesis")),
        "--config-file",
        str(CONFIG),
        "run",
        f"{url}/openapi.json",
        "--checks=all",
        f"--seed={seed}",
        f"--max-examples={examples}",
        f"--request-timeout={TIMEOUT_S}",
        f"--max-response-time={TIMEOUT_S}",
        "--no-color",
        f"--exclude-path={ENDLESS}",
        *named,
        *([f"--max-time={seconds}"] if seconds else []),
    ]
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "SCHEMATHESIS_HOOKS": "tests.fuzz.hooks",
        **words,
    }
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    return done.returncode, done.stdout + done.stderr
