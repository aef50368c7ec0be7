"""The Postgres that a process uses: the one of DATABASE_URL, or the embedded one, which `acquire()` starts.

    process -- connection --> supervisor -- parent of --> postgres
    process -- connection -->     (one for each data folder)

The server runs as long as a connection is open; the kernel closes those of a process that is killed. A supervisor
that is killed takes the server with it; the processes that still live start the next one, on the same port.

| file                | is about                                                             |
|---------------------|----------------------------------------------------------------------|
| `installation`      | the folder of the data, the user that owns it, the Postgres programs |
| `supervisor_socket` | both ends of the connections to the supervisor                       |
| `supervisor`        | the process that runs the server                                     |
| `cluster`           | the files of the database, its server processes and their logs       |
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self
from urllib.parse import quote

from shared.errors import Backoff, MaasError
from shared.postgres.cluster import DATABASE, USER
from shared.postgres.installation import DataDir, choose_data_dir, find_binaries
from shared.postgres.supervisor_socket import ServerInfo, SupervisorConnection, connect_supervisor

if TYPE_CHECKING:
    from pydantic import SecretStr

READY_TIMEOUT_S = 120.0
BUSY_TIMEOUT_S = 30.0
FIRST_BACKOFF_S, MAX_BACKOFF_S = 0.1, 10.0
_ROOT = Path(__file__).resolve().parents[2]
_ENVIRONMENT = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PYTHONHOME")


@dataclass(frozen=True, slots=True)
class PostgresUrls:
    """URLs for queries and for LISTEN; the second is a direct connection, not through a pooler."""

    query: str
    listen: str


class DatabaseSettings(Protocol):
    """Where the database is; without `database_url` it is the embedded one on the folder `data_dir`."""

    @property
    def database_url(self) -> SecretStr | None:
        """The address of a server of one's own; None: the embedded one."""
        ...

    @property
    def listen_database_url(self) -> SecretStr | None:
        """A direct connection for LISTEN; None: `database_url`."""
        ...

    @property
    def data_dir(self) -> Path | None:
        """The folder of the embedded server; None: the default."""
        ...


@contextmanager
def find_postgres(settings: DatabaseSettings, on_note: Callable[[str], None]) -> Iterator[PostgresUrls]:
    """Return the database of the settings; an embedded server runs at least as long as this context.

    Raises MaasError as `acquire` does.
    """
    if settings.database_url is not None:
        url = settings.database_url.get_secret_value()
        listen = settings.listen_database_url.get_secret_value() if settings.listen_database_url else url
        yield PostgresUrls(url, listen)
        return
    with acquire(settings.data_dir, on_note=on_note) as server:
        yield PostgresUrls(server.dsn, server.dsn)


def acquire(
    data_dir: Path | None = None,
    *,
    bin_dir: Path | None = None,
    on_note: Callable[[str], None] = lambda note: print(note, file=sys.stderr),
) -> EmbeddedPostgres:
    """Start the embedded Postgres on a folder, or use the one that already runs there.

    `data_dir`: the folder of the data; None is `.maas` in the current folder. `bin_dir`: programs other than those of
    the wheel. `on_note` gets a sentence, from any thread, about an unexpected event.
    Blocks until the server accepts connections: some tenths of a second, about 2 s the first time. The server ends
    about 1 s after the last process that acquired it. A forked child must call `acquire` itself.
    Raises MaasError: data_dir_unreachable, data_dir_not_writable, data_dir_version, data_dir_busy,
    no_unprivileged_user, unknown_user, postgres_missing, postgres_unreachable, postgres_unusable,
    postgres_init_failed, postgres_start_failed.
    """
    return EmbeddedPostgres(choose_data_dir(data_dir, on_note), bin_dir, on_note)


class EmbeddedPostgres:
    """A running server, kept alive by this process; made by `acquire`."""

    def __init__(self, folder: DataDir, bin_dir: Path | None, on_note: Callable[[str], None]) -> None:
        self._folder, self._bin_dir, self._on_note = folder, bin_dir, on_note
        self._closed = False
        self._closing = threading.Event()
        self._connection, self._server = _connect(folder, bin_dir, on_note)
        if bin_dir is not None and self._server.major != find_binaries(bin_dir, folder.account, on_note).major:
            self._connection.shut_down()
            raise MaasError(
                "data_dir_version",
                f"Postgres {self._server.major} already runs on {folder.data_dir}, not the one in {bin_dir}; set "
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
        """The folder that holds all data of this server."""
        return self._folder.data_dir

    @property
    def pid(self) -> int:
        """Process id of the server; another one after a restart."""
        return self._server.pid

    @property
    def supervisor_pid(self) -> int:
        """Process id of the supervisor; another one after a crash."""
        return self._server.supervisor

    def close(self, *, wait: bool = False) -> None:
        """Give the server up; with `wait` return only after it has ended, unless others use it. Idempotent."""
        if self._closed:
            return
        self._closed = True
        self._closing.set()
        if wait and self._connection.wait_for_end():
            self._watcher.join(READY_TIMEOUT_S)
        self._connection.shut_down()
        self._watcher.join(1)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _watch(self) -> None:
        """Follow the messages of the supervisor; if it dies, start the next one."""
        backoff = Backoff(FIRST_BACKOFF_S, MAX_BACKOFF_S, spread=lambda: 1.0)
        while True:
            try:
                server = self._connection.read(None)
                if server is not None:
                    self._learn(server)
                    backoff.reset()
                    continue
                if self._closed:
                    return
                connection, server = _connect(self._folder, self._bin_dir, self._on_note)
            except MaasError as error:
                if self._closed:
                    return
                wait_s = backoff.next_s()
                self._note(
                    f"Postgres has stopped and does not start again; next attempt in {wait_s:.1f} s: {error.message}"
                )
                self._closing.wait(wait_s)
                continue
            self._connection.drop()
            self._connection = connection
            self._learn(server)
            if self._closed:
                connection.shut_down()

    def _note(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):  # a closed stderr must not end the watch
            self._on_note(text)

    def _learn(self, server: ServerInfo) -> None:
        before, self._server = self._server, server
        if server.port != before.port:
            self._note(f"another program took port {before.port}; Postgres is now at {server.port}: restart maas")


def _connect(
    folder: DataDir, bin_dir: Path | None, on_note: Callable[[str], None]
) -> tuple[SupervisorConnection, ServerInfo]:
    """Connect to the supervisor, start it if there is none, and wait until the server accepts connections."""
    deadline = time.monotonic() + BUSY_TIMEOUT_S
    while time.monotonic() < deadline:
        connection = connect_supervisor(folder, READY_TIMEOUT_S)
        if connection is None:
            if not _spawn(folder, bin_dir, on_note):
                time.sleep(0.05)
            continue
        try:
            server = connection.read(READY_TIMEOUT_S)
        except TimeoutError:
            connection.drop()
            raise MaasError(
                "postgres_start_failed",
                f"Postgres did not take connections within {READY_TIMEOUT_S:.0f} s; read "
                f"{folder.home / 'log' / 'server.log'}, fix what it reports and start again",
            ) from None
        except BaseException:
            connection.drop()
            raise
        if server is not None:
            return connection, server
        connection.drop()
    raise MaasError(
        "data_dir_busy",
        f"another process has locked {folder.home}; stop it, or set MAAS_DATA_DIR to another "
        f"folder (its log: {folder.home / 'log' / 'supervisor.log'})",
    )


def _spawn(folder: DataDir, bin_dir: Path | None, on_note: Callable[[str], None]) -> bool:
    """Start a supervisor; False if another one holds the folder. Raises MaasError."""
    binaries = find_binaries(bin_dir, folder.account, on_note)
    command = [
        sys.executable,
        "-P",
        "-S",
        "-m",
        "shared.postgres.supervisor",
        "--home",
        str(folder.home),
        "--bin-dir",
        str(binaries.folder),
        "--major",
        str(binaries.major),
    ]
    if folder.account.switch:
        command += ["--uid", str(folder.account.uid), "--gid", str(folder.account.gid)]
    done = subprocess.run(
        command,
        cwd="/",
        env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ} | {"PYTHONPATH": str(_ROOT)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
        errors="replace",
    )
    try:
        result = json.loads(done.stderr.strip().splitlines()[-1])
    except (IndexError, ValueError):
        raise MaasError(
            "postgres_start_failed",
            f"the supervisor of Postgres failed to start; start again or report this: {done.stderr.strip()}",
        ) from None
    if "code" in result:
        raise MaasError(result["code"], result["message"])
    return bool(result["state"] == "listening")
