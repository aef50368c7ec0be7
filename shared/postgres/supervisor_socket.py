"""The unix socket of the supervisor and the connections to it: the server runs as long as one is open.

Every process that uses the server keeps one connection. The kernel closes that of a process that ends, however it ends,
so users need not be counted. Standard library only.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import socket
import stat
import tempfile
import time
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shared.errors import MaasError
from shared.postgres.installation import DataDir

STATE_FILE = "supervisor.json"
WAIT_FOR_END = b"bye\n"  # message of a client that no longer uses the server, but waits for its end
_PARENTS = ("/tmp", "/var/tmp", "/dev/shm")


class SupervisorSocket:
    """The listening socket and its connections: `users` use the server, `leaving` only wait for its end."""

    def __init__(self, home: Path) -> None:
        self.folder = socket_folder(home)
        self.users: set[socket.socket] = set()
        self.leaving: set[socket.socket] = set()
        self.empty_since = time.monotonic()
        self._state = home / STATE_FILE
        for stale in self.folder.glob("socket-*"):
            stale.unlink(missing_ok=True)
        self._path = self.folder / f"socket-{os.getpid()}"
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(self._path))
        self.listener.listen(128)
        self.listener.setblocking(False)
        part = self._state.with_suffix(".part")
        part.write_text(json.dumps({"home": str(home), "socket": str(self._path), "pid": os.getpid()}))
        part.rename(self._state)

    def accept(self) -> socket.socket | None:
        """Accept the next connection; None if there is none."""
        try:
            connection, _ = self.listener.accept()
        except OSError:
            return None
        connection.setblocking(False)
        self.users.add(connection)
        return connection

    def read(self, connection: socket.socket) -> bool:
        """Read a message; return False if the connection was closed."""
        try:
            message = connection.recv(64)
        except BlockingIOError:
            return True
        except OSError:
            message = b""
        if message == WAIT_FOR_END and not self.users - {connection}:
            self.users.discard(connection)
            self.leaving.add(connection)
            return True
        if not message or message == WAIT_FOR_END:  # while others use the server there is no end to wait for
            self.drop(connection)
            return False
        return True

    def send(self, message: dict[str, Any], *connections: socket.socket) -> None:
        """Send one line of JSON, which fits into any buffer; connections that fail are ignored."""
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.send(json.dumps(message).encode() + b"\n")

    def drop(self, connection: socket.socket) -> None:
        """Close a connection."""
        self.users.discard(connection)
        self.leaving.discard(connection)
        connection.close()
        if not self.users:
            self.empty_since = time.monotonic()

    def refresh(self) -> None:
        """Update the time of the socket file, because old files in /tmp may be removed."""
        with contextlib.suppress(OSError):
            os.utime(self._path)

    def close(self) -> None:
        """Remove the socket and close all connections."""
        for path in (self._path, self._state):
            path.unlink(missing_ok=True)
        self.listener.close()
        for connection in [*self.users, *self.leaving]:
            connection.close()
        with contextlib.suppress(OSError):
            self.folder.rmdir()


def socket_folder(home: Path) -> Path:
    """Create a private folder with a short name, because the path of a unix socket has at most about 100 bytes.

    Raises OSError.
    """
    name = f"maas-{hashlib.sha256(os.fsencode(home)).hexdigest()[:10]}"
    for parent in _PARENTS:
        path = Path(parent, name)
        with contextlib.suppress(OSError):
            path.mkdir(0o700)
            return path
        with contextlib.suppress(OSError):
            status = path.lstat()
            if stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid():
                path.chmod(0o700)
                return path
    return Path(tempfile.mkdtemp(prefix=f"{name}-", dir=_PARENTS[0]))


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """What the supervisor sends at every start of the server. `pid` and `supervisor` are process ids."""

    port: int
    password: str
    socket_dir: str
    pid: int
    supervisor: int
    major: int


class SupervisorConnection:
    """An open connection. The copy of a forked child is closed at once, so that it does not keep the server alive."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._buffer = b""
        _open.add(self)

    def read(self, timeout_s: float | None) -> ServerInfo | None:
        """Return the next message about the server; None if the supervisor has ended.

        `timeout_s` None waits without limit. Raises TimeoutError, and MaasError for an error of the supervisor.
        """
        while b"\n" not in self._buffer:
            try:
                self._connection.settimeout(timeout_s)
                data = self._connection.recv(65536)
            except TimeoutError:
                raise
            except OSError:
                data = b""
            if not data:
                return None
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        message = json.loads(line)
        if "error" in message:
            raise MaasError(message["error"]["code"], message["error"]["message"])
        return ServerInfo(**message)

    def wait_for_end(self) -> bool:
        """Give the server up but keep the connection until it has ended; False if the supervisor is gone."""
        try:
            self._connection.send(WAIT_FOR_END)
        except OSError:
            return False
        return True

    def shut_down(self) -> None:
        """End the connection, also for a thread that reads from it."""
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        self.drop()

    def drop(self) -> None:
        """Close this process's copy of the connection."""
        _open.discard(self)
        self._connection.close()


def connect_supervisor(data_dir: DataDir, timeout_s: float) -> SupervisorConnection | None:
    """Connect to the supervisor of this folder; None if there is none."""
    try:
        state = json.loads((data_dir.home / STATE_FILE).read_text())
        path = Path(state["socket"])
        # The file may be a copy from another folder, and the folder of the socket may belong to another user.
        if state["home"] != str(data_dir.home) or path.parent.lstat().st_uid != data_dir.account.uid:
            return None
    except (OSError, ValueError, KeyError):
        return None
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.settimeout(timeout_s)
        connection.connect(str(path))
    except OSError:
        connection.close()
        return None
    return SupervisorConnection(connection)


_open: weakref.WeakSet[SupervisorConnection] = weakref.WeakSet()


def _drop_all() -> None:
    for connection in list(_open):
        connection.drop()


os.register_at_fork(after_in_child=_drop_all)
