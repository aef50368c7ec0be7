"""What the server writes: into files of limited size, its last lines kept at hand. Standard library only."""

from __future__ import annotations

import logging
import os
from collections import deque
from logging.handlers import RotatingFileHandler
from pathlib import Path

log = logging.getLogger("supervisor")
server_log = logging.getLogger("postgres")


class ServerLog:
    """The reading end of a server's output. `tail` holds its last lines."""

    def __init__(self) -> None:
        self.tail: deque[str] = deque(maxlen=12)
        self._rest = b""
        self.reading, self.writing = os.pipe()
        os.set_blocking(self.reading, False)

    def fileno(self) -> int:
        return self.reading

    def started(self) -> None:
        """The server has its own copy of the writing end."""
        os.close(self.writing)

    def drain(self) -> bool:
        """Copy what is there; False at the end."""
        while True:
            try:
                data = os.read(self.reading, 65536)
            except BlockingIOError:
                return True
            if not data:
                return False
            *lines, self._rest = (self._rest + data).split(b"\n")
            for line in lines:
                text = line.decode(errors="replace")
                self.tail.append(text)
                server_log.info("%s", text)

    def close(self) -> None:
        """Stop reading. A process that still writes gets an error that Postgres ignores."""
        os.close(self.reading)


def log_to(folder: Path) -> None:
    """Write both logs into `folder`; a full disk loses lines, never the server. Raises OSError when it cannot begin."""
    folder.mkdir(exist_ok=True)
    logging.raiseExceptions = False
    for logger, name, size, form in (
        (server_log, "server.log", 5_000_000, "%(message)s"),
        (log, "supervisor.log", 500_000, "%(asctime)s [%(process)d] %(levelname)s %(message)s"),
    ):
        handler = RotatingFileHandler(folder / name, maxBytes=size, backupCount=2, encoding="utf-8")
        handler.setFormatter(logging.Formatter(form))
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
