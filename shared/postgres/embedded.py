"""The embedded Postgres: `acquire()` gives an address that works as long as the caller lives.

    process -- line --> supervisor -- parent of --> postgres
    process -- line -->     (one a data folder)

The line is the whole protocol: while one is open the server runs, and a process that is killed has none.
A supervisor that is killed takes the server with it; every process that still lives starts the next one, which
listens on the same port.

| file         | is about                                                                  |
|--------------|---------------------------------------------------------------------------|
| `place`      | the folder, and the user that owns it                                     |
| `binaries`   | the programs                                                              |
| `line`       | this process's connection to the supervisor                               |
| `supervisor` | the process at the other end, with its `door`, the `cluster`, `process`, `log` |
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote

from shared.errors import MaasError
from shared.postgres.binaries import find_binaries
from shared.postgres.cluster import DATABASE, USER
from shared.postgres.line import Line, Server, knock
from shared.postgres.place import Place, choose_place

READY_PATIENCE = 120.0
BUSY_PATIENCE = 30.0
_ROOT = Path(__file__).resolve().parents[2]
_KEPT = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PYTHONHOME")


def acquire(
    data_dir: Path | None = None,
    *,
    bin_dir: Path | None = None,
    on_note: Callable[[str], None] = lambda note: print(note, file=sys.stderr),
) -> EmbeddedPostgres:
    """Start the embedded Postgres on a folder, or share the one that runs there.

    `data_dir`: where the data lies, `.maas` in the current folder when None. `bin_dir`: programs other than the
    wheel's. `on_note` gets a sentence, from any thread, when something happened that nobody asked for.
    Blocks until the server takes connections: some tenths of a second, about 2 s the first time. The server ends about
    1 s after the last process that acquired it. A forked child has no claim of its own: it calls `acquire` again.
    Raises MaasError: data_dir_unreachable, data_dir_not_writable, data_dir_version, data_dir_busy,
    no_unprivileged_user, unknown_user, postgres_missing, postgres_unreachable, postgres_unusable,
    postgres_init_failed, postgres_start_failed.
    """
    return EmbeddedPostgres(choose_place(data_dir, on_note), bin_dir, on_note)


class EmbeddedPostgres:
    """A running server and this process's claim on it; made by `acquire`."""

    def __init__(self, place: Place, bin_dir: Path | None, on_note: Callable[[str], None]) -> None:
        self._place, self._bin_dir, self._on_note = place, bin_dir, on_note
        self._closed = False
        self._pause = threading.Event()
        self._line, self._server = _enter(place, bin_dir, on_note)
        if bin_dir is not None and self._server.major != find_binaries(bin_dir, place.account, on_note).major:
            self._line.hang_up()
            raise MaasError(
                "data_dir_version",
                f"Postgres {self._server.major} already runs on {place.data_dir}, not the one in {bin_dir}; set "
                "MAAS_DATA_DIR to another folder or stop the processes that use this one",
            )
        self._watcher = threading.Thread(target=self._watch, name="postgres-watch", daemon=True)
        self._watcher.start()

    @property
    def dsn(self) -> str:
        """URL over TCP on 127.0.0.1, with the password."""
        return f"postgresql://{USER}:{quote(self._server.password)}@127.0.0.1:{self._server.port}/{DATABASE}"

    @property
    def socket_dsn(self) -> str:
        """URL over the unix socket, for the server's own user and root only."""
        return (
            f"postgresql://{USER}@/{DATABASE}?host={quote(self._server.socket_dir, safe='')}&port={self._server.port}"
        )

    @property
    def data_dir(self) -> Path:
        """The folder that holds everything of this server."""
        return self._place.data_dir

    @property
    def pid(self) -> int:
        """Process id of the server; another one after a restart."""
        return self._server.pid

    @property
    def supervisor_pid(self) -> int:
        """Process id of the supervisor; another one after its death."""
        return self._server.supervisor

    def close(self, *, wait: bool = False) -> None:
        """Give the server up; with `wait` return only when it has ended, unless others use it. Idempotent."""
        if self._closed:
            return
        self._closed = True
        self._pause.set()
        if wait and self._line.say_bye():
            self._watcher.join(READY_PATIENCE)
        self._line.hang_up()
        self._watcher.join(1)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _watch(self) -> None:
        """Follow the news. When the supervisor dies under a living process, start the next one."""
        delay = 0.1
        while True:
            try:
                server = self._line.read(None)
                if server is not None:
                    self._learn(server)
                    delay = 0.1
                    continue
                if self._closed:
                    return
                line, server = _enter(self._place, self._bin_dir, self._on_note)
            except MaasError as error:
                if self._closed:
                    return
                self._note(f"Postgres is gone and does not start again; next attempt in {delay:.1f} s: {error.message}")
                self._pause.wait(delay)
                delay = min(10.0, 2 * delay)
                continue
            self._line.drop()
            self._line = line
            self._learn(server)
            if self._closed:
                line.hang_up()

    def _note(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):  # a closed stderr must not end the watch
            self._on_note(text)

    def _learn(self, server: Server) -> None:
        before, self._server = self._server, server
        if server.port != before.port:
            self._note(f"another program took port {before.port}; Postgres is now at {server.port}: restart maas")


def _enter(place: Place, bin_dir: Path | None, on_note: Callable[[str], None]) -> tuple[Line, Server]:
    """Reach the supervisor, started if need be, and wait until the server takes connections."""
    deadline = time.monotonic() + BUSY_PATIENCE
    while time.monotonic() < deadline:
        line = knock(place, READY_PATIENCE)
        if line is None:
            if not _spawn(place, bin_dir, on_note):
                time.sleep(0.05)
            continue
        try:
            server = line.read(READY_PATIENCE)
        except TimeoutError:
            line.drop()
            raise MaasError(
                "postgres_start_failed",
                f"Postgres did not take connections within {READY_PATIENCE:.0f} s; read "
                f"{place.home / 'log' / 'server.log'}, correct what it says and start again",
            ) from None
        except BaseException:
            line.drop()
            raise
        if server is not None:
            return line, server
        line.drop()
    raise MaasError(
        "data_dir_busy",
        f"another process holds {place.home} and does not let others in; stop it, or set MAAS_DATA_DIR to another "
        f"folder (its log: {place.home / 'log' / 'supervisor.log'})",
    )


def _spawn(place: Place, bin_dir: Path | None, on_note: Callable[[str], None]) -> bool:
    """Start a supervisor; False when another one holds the place. Raises MaasError."""
    binaries = find_binaries(bin_dir, place.account, on_note)
    command = [
        sys.executable, "-P", "-S", "-m", "shared.postgres.supervisor",
        "--home", str(place.home), "--bin-dir", str(binaries.folder), "--major", str(binaries.major),
    ]  # fmt: skip
    if place.account.switch:
        command += ["--uid", str(place.account.uid), "--gid", str(place.account.gid)]
    done = subprocess.run(
        command,
        cwd="/",
        env={name: os.environ[name] for name in _KEPT if name in os.environ} | {"PYTHONPATH": str(_ROOT)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
        errors="replace",
    )
    try:
        answer = json.loads(done.stderr.strip().splitlines()[-1])
    except (IndexError, ValueError):
        raise MaasError(
            "postgres_start_failed",
            f"the supervisor of Postgres ended before it began; start again or report this: {done.stderr.strip()}",
        ) from None
    if "code" in answer:
        raise MaasError(answer["code"], answer["message"])
    return bool(answer["state"] == "listening")
