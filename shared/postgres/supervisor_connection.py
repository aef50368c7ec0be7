"""The connection of a process to the supervisor: the server runs as long as one is open."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import weakref
from dataclasses import dataclass
from pathlib import Path

from shared.errors import MaasError
from shared.postgres.data_dir import DataDir
from shared.postgres.supervisor_socket import STATE_FILE, WAIT_FOR_END


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
