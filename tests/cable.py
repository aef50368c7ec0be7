"""A connection to Postgres that can be cut."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from urllib.parse import urlsplit


class Cable:
    """Passes bytes between a client and Postgres until it is cut: then it keeps them.

    Mended, it goes on; or it passes new connections only, as where a firewall between has forgotten the old ones.
    """

    def __init__(self, dsn: str, port: int = 0) -> None:
        parts = urlsplit(dsn)
        self._target = (parts.hostname, parts.port)
        self._is_whole = threading.Event()
        self._is_whole.set()
        self._age = 0
        self.kept = 0  # pieces that have not arrived while it was cut
        self._sockets: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", port))
        port = self._listener.getsockname()[1]
        self.dsn = dsn.replace(f"{parts.hostname}:{parts.port}", f"127.0.0.1:{port}")
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        self._is_whole.clear()

    def mend(self, is_forgotten: bool = False) -> None:
        self._age += is_forgotten
        self._is_whole.set()

    def close(self) -> None:
        self.mend()
        for one in (self._listener, *self._sockets):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._target)
                self._sockets += [client, server]
                for source, sink in ((client, server), (server, client)):
                    threading.Thread(target=self._pass, args=(source, sink, self._age), daemon=True).start()

    def _pass(self, source: socket.socket, sink: socket.socket, age: int) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                self.kept += not self._is_whole.is_set()
                self._is_whole.wait()
                if age == self._age:
                    sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
