"""The door of the supervisor: a unix socket on which every process that uses the server keeps one connection.

A process that is gone has no connection, however it ended; nothing has to be counted or cleaned. Standard library only.
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
from pathlib import Path
from typing import Any

STATE = "supervisor.json"
BYE = b"bye\n"
_PARENTS = ("/tmp", "/var/tmp", "/dev/shm")


class Door:
    """Who is there. `present` are users of the server, `leaving` only wait for its end."""

    def __init__(self, home: Path) -> None:
        self.folder = socket_folder(home)
        self.present: set[socket.socket] = set()
        self.leaving: set[socket.socket] = set()
        self.empty_since = time.monotonic()
        self._state = home / STATE
        for stale in self.folder.glob("door-*"):
            stale.unlink(missing_ok=True)
        self._path = self.folder / f"door-{os.getpid()}"
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(self._path))
        self.listener.listen(128)
        self.listener.setblocking(False)
        part = self._state.with_suffix(".part")
        part.write_text(json.dumps({"home": str(home), "door": str(self._path), "pid": os.getpid()}))
        part.rename(self._state)

    def accept(self) -> socket.socket | None:
        """Let the next process in."""
        try:
            guest, _ = self.listener.accept()
        except OSError:
            return None
        guest.setblocking(False)
        self.present.add(guest)
        return guest

    def hear(self, guest: socket.socket) -> bool:
        """Read what a guest says; False when it is to be forgotten."""
        try:
            said = guest.recv(64)
        except BlockingIOError:
            return True
        except OSError:
            said = b""
        if said == BYE and self.present - {guest}:
            said = b""
        if said == BYE:
            self.present.discard(guest)
            self.leaving.add(guest)
            return True
        if not said:
            self.dismiss(guest)
        return bool(said)

    def tell(self, message: dict[str, Any], *guests: socket.socket) -> None:
        """One line of JSON to these guests. One that does not read is gone: it fits in any buffer."""
        for guest in guests:
            with contextlib.suppress(OSError):
                guest.send(json.dumps(message).encode() + b"\n")

    def dismiss(self, guest: socket.socket) -> None:
        """Forget a guest."""
        self.present.discard(guest)
        self.leaving.discard(guest)
        guest.close()
        if not self.present:
            self.empty_since = time.monotonic()

    def refresh(self) -> None:
        """Look used: cleaners of /tmp remove what is old."""
        with contextlib.suppress(OSError):
            os.utime(self._path)

    def close(self) -> None:
        """Lock up; everybody inside hears that the line is closed."""
        for path in (self._path, self._state):
            path.unlink(missing_ok=True)
        self.listener.close()
        for guest in [*self.present, *self.leaving]:
            guest.close()
        with contextlib.suppress(OSError):
            self.folder.rmdir()


def socket_folder(home: Path) -> Path:
    """A private folder with a short name: the address of a unix socket holds about 100 bytes. Raises OSError."""
    name = f"maas-{hashlib.sha256(os.fsencode(home)).hexdigest()[:10]}"
    for parent in _PARENTS:
        path = Path(parent, name)
        with contextlib.suppress(OSError):
            path.mkdir(0o700)
            return path
        with contextlib.suppress(OSError):
            found = path.lstat()
            if stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid():
                path.chmod(0o700)
                return path
    return Path(tempfile.mkdtemp(prefix=f"{name}-", dir=_PARENTS[0]))
