"""A process's connection to the supervisor: while it is open, the server runs."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import weakref
from dataclasses import dataclass
from pathlib import Path

from shared.errors import MaasError
from shared.postgres.door import BYE, STATE
from shared.postgres.place import Place


@dataclass(frozen=True, slots=True)
class Server:
    """What the supervisor says about the server, at every start of it. `pid` and `supervisor` are process ids."""

    port: int
    password: str
    socket_dir: str
    pid: int
    supervisor: int
    major: int


class Line:
    """An open connection. A forked child's copy is closed at once: it must not keep the server alive for its parent."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._buffer = b""
        _open.add(self)

    def read(self, patience: float | None) -> Server | None:
        """The next news of the server; None when the supervisor is gone.

        `patience` in seconds, None for ever. Raises TimeoutError, and MaasError with what went wrong over there.
        """
        while b"\n" not in self._buffer:
            try:
                self._connection.settimeout(patience)
                data = self._connection.recv(65536)
            except TimeoutError:
                raise
            except OSError:
                data = b""
            if not data:
                return None
            self._buffer += data
        said, _, self._buffer = self._buffer.partition(b"\n")
        answer = json.loads(said)
        if "error" in answer:
            raise MaasError(answer["error"]["code"], answer["error"]["message"])
        return Server(**answer)

    def say_bye(self) -> bool:
        """Ask to hear the end of the server; False when there is nobody to ask."""
        try:
            self._connection.send(BYE)
        except OSError:
            return False
        return True

    def hang_up(self) -> None:
        """End the connection, also for a thread that reads from it."""
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        self.drop()

    def drop(self) -> None:
        """Close this process's copy."""
        _open.discard(self)
        self._connection.close()


def knock(place: Place, patience: float) -> Line | None:
    """A line to the supervisor of this place, if there is one. `patience` in seconds."""
    try:
        state = json.loads((place.home / STATE).read_text())
        door = Path(state["door"])
        # The file may be a copy of another folder's, the folder of the door a trap.
        if state["home"] != str(place.home) or door.parent.lstat().st_uid != place.account.uid:
            return None
    except (OSError, ValueError, KeyError):
        return None
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.settimeout(patience)
        connection.connect(str(door))
    except OSError:
        connection.close()
        return None
    return Line(connection)


_open: weakref.WeakSet[Line] = weakref.WeakSet()


def _drop_all() -> None:
    for line in list(_open):
        line.drop()


os.register_at_fork(after_in_child=_drop_all)
