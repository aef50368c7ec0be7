"""Programs of the checkout as processes of their own, forked from one process that has imported them already.

An import of the whole product costs 0.7 s of CPU, and the tests start some 700 programs. A forked program
executes the same file with its own arguments, environment, folder and standard streams, and ends with its status.
"""

from __future__ import annotations

import array
import atexit
import gc
import importlib
import json
import os
import pkgutil
import runpy
import select
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, Any

from pydantic import BaseModel

from shared.errors import MaasError

ROOT = Path(__file__).resolve().parent.parent
MAAS = Path(sys.executable).parent / "maas"
PACKAGES = ("maas", "workers", "shared")
SETTINGS = {"MAAS_EMBEDDING_MODEL": "none", "MAAS_MODEL_PROFILE": "cloud"}  # of programs that do not set their own
RARELY_NEEDED = ("shared.models.anthropic", "shared.models.e5.model")  # slow, or with threads
NEEDED_LATER = (  # what libraries import when they are first used
    "anyio._backends._asyncio",
    "anyio.streams.stapled",
    "h11",
    "httpcore2",
    "openai.resources.chat.chat",
    "openai.resources.embeddings",
    "openai.resources.images",
    "rich.progress",
    "typer.main",
    "uvicorn.lifespan.off",
    "uvicorn.lifespan.on",
    "uvicorn.loops.auto",
    "uvicorn.protocols.http.auto",
    "uvicorn.protocols.websockets.auto",
    "websockets.server",
)
HEADER_BYTES = 8
STATUS_BYTES = 4
_ordering = threading.Lock()


class Program:
    """A running program; the names are those of `subprocess.Popen`."""

    def __init__(
        self,
        path: Path,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        folder: Path,
        streams: Sequence[int],
    ) -> None:
        self.returncode: int | None = None
        self._status, theirs = socket.socketpair()
        with theirs:
            order = {"argv": [str(path), *arguments], "environment": dict(environment), "folder": str(folder)}
            with _ordering:
                _send(_parent()[0], json.dumps(order).encode(), [theirs.fileno(), *streams])
        self.pid = int.from_bytes(_receive(self._status, STATUS_BYTES), signed=True)

    def poll(self) -> int | None:
        """The exit status (a signal as its negative number), or None while the program runs."""
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait at most `timeout` seconds for the exit status. Raises subprocess.TimeoutExpired."""
        if self.returncode is None:
            if not select.select([self._status], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0)
            self.returncode = int.from_bytes(_receive(self._status, STATUS_BYTES), signed=True)
            self._status.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the program has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


Process = Program | subprocess.Popen[bytes]


def start(
    path: Path,
    *arguments: str,
    environment: Mapping[str, str],
    folder: Path,
    output: IO[bytes],
    errors: IO[bytes] | None = None,
    text: str = "",
) -> Program:
    """Start a Python file of the checkout; `text` is its standard input."""
    with tempfile.TemporaryFile() as given:
        given.write(text.encode())
        given.seek(0)
        streams = [given.fileno(), output.fileno(), (errors or output).fileno()]
        return Program(path, arguments, environment, folder, streams)


def run_maas(
    *words: str, environment: Mapping[str, str], folder: Path, text: str = "", timeout_s: float = 60
) -> subprocess.CompletedProcess[str]:
    """Run one command of `maas` to its end. Raises subprocess.TimeoutExpired."""
    return run(MAAS, *words, environment=environment, folder=folder, text=text, timeout_s=timeout_s)


def run(
    path: Path, *words: str, environment: Mapping[str, str], folder: Path, text: str = "", timeout_s: float = 60
) -> subprocess.CompletedProcess[str]:
    """Run a Python file of the checkout to its end. Raises subprocess.TimeoutExpired."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        program = start(path, *words, environment=environment, folder=folder, output=output, errors=errors, text=text)
        try:
            program.wait(timeout_s)
        finally:
            program.kill()
        for stream in (output, errors):
            stream.seek(0)
        return subprocess.CompletedProcess(words, program.wait(), output.read().decode(), errors.read().decode())


@cache
def _parent() -> tuple[socket.socket, subprocess.Popen[bytes]]:
    """The process of this test process that programs are forked from, and the socket for orders to it."""
    ours, theirs = socket.socketpair()
    with theirs:
        command = [sys.executable, "-m", "tests.programs", str(theirs.fileno())]
        return ours, subprocess.Popen(command, cwd=ROOT, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)


def _send(to: socket.socket, content: bytes, descriptors: Sequence[int]) -> None:
    rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))
    to.sendmsg([len(content).to_bytes(HEADER_BYTES)], [rights])
    to.sendall(content)


def _receive(source: socket.socket, length: int) -> bytes:
    content = b""
    while len(content) < length:
        piece = source.recv(length - len(content))
        assert piece, "the process that programs are forked from has ended"
        content += piece
    return content


@dataclass(slots=True)
class _Order:
    """What a forked process is to execute."""

    argv: list[str]
    environment: dict[str, str]
    folder: str
    streams: list[int]

    def execute(self) -> None:
        """Become the program."""
        for number, stream in enumerate(self.streams):
            os.dup2(stream, number)
        os.closerange(3, 1024)
        os.chdir(self.folder)
        os.environ.clear()
        os.environ.update(self.environment)
        sys.argv = self.argv
        folders = filter(None, self.environment.get("PYTHONPATH", "").split(os.pathsep))
        sys.path[:1] = [str(Path(self.argv[0]).parent), *folders]
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _end(self._status_of_run())

    def _status_of_run(self) -> int:
        try:
            runpy.run_path(self.argv[0], run_name="__main__")
        except SystemExit as end:
            if end.code is None or isinstance(end.code, int):
                return end.code or 0
            print(end.code, file=sys.stderr)
            return 1
        except BaseException as error:
            sys.excepthook(type(error), error, error.__traceback__)
            return 128 + signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1
        return 0


def _end(status: int) -> None:
    """End as Python ends, but leave the memory to the system: freeing it object by object takes 0.1 s of CPU."""
    threading._shutdown()  # type: ignore[attr-defined]  # what Python calls: it ends the threads of executors, too
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(BrokenPipeError):
            stream.flush()
    os._exit(status & 0xFF)


def _serve(control: socket.socket) -> _Order | None:
    """Fork a process for each order; return the order in that process, and None in this one when nobody orders more."""
    woken, wake = os.pipe()
    for end in (woken, wake):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    running: dict[int, int] = {}  # the descriptor of its status, by process
    with selectors.PollSelector() as selector:  # polling has no descriptor that a forked process could close
        selector.register(control, selectors.EVENT_READ)
        selector.register(woken, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj is not control:
                    with suppress(BlockingIOError):
                        os.read(woken, 4096)
                    _report_ended(running)
                    continue
                header, descriptors, _, _ = socket.recv_fds(control, HEADER_BYTES, 4)
                if not header:
                    return None
                order: dict[str, Any] = json.loads(_receive(control, int.from_bytes(header)))
                status, *streams = descriptors
                if (pid := os.fork()) == 0:
                    signal.set_wakeup_fd(-1)
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    control.detach()
                    return _Order(**order, streams=streams)
                running[pid] = status
                os.write(status, pid.to_bytes(STATUS_BYTES, signed=True))
                for stream in streams:
                    os.close(stream)


def _report_ended(running: dict[int, int]) -> None:
    for pid in list(running):
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            descriptor = running.pop(pid)
            with suppress(BrokenPipeError):
                os.write(descriptor, os.waitstatus_to_exitcode(status).to_bytes(STATUS_BYTES, signed=True))
            os.close(descriptor)


def _import_everything() -> None:
    """Import the modules of the product that programs need often; a thread of theirs would be missing in a fork."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    for name in ("main", "server", *NEEDED_LATER):
        importlib.import_module(name)
    for package in PACKAGES:
        for module in pkgutil.walk_packages([str(ROOT / package)], f"{package}."):
            if module.name not in RARELY_NEEDED:
                importlib.import_module(module.name)


def _make_schemas() -> None:
    """Make the schemas of tools' arguments, which take as long as the rest of an orchestrator's start."""
    tools = importlib.import_module("maas.tools.tool")
    models = list(BaseModel.__subclasses__())
    for model in models:
        models += model.__subclasses__()
        if model.__module__.startswith("maas.assistants."):
            with suppress(ValueError, MaasError):  # none that a tool takes
                tools.schema_of(model)


if __name__ == "__main__":
    gc.disable()
    with socket.socket(fileno=int(sys.argv[1])) as orders:
        _import_everything()
        _make_schemas()
        gc.collect()
        gc.freeze()
        gc.enable()
        executed = _serve(orders)
    if executed is not None:
        executed.execute()
