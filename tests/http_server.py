"""pytest's HTTP server, which ends at once: the one of the package looks for its end twice a second."""

from __future__ import annotations

import pytest_httpserver

POLL_INTERVAL_S = 0.02


class HTTPServer(pytest_httpserver.HTTPServer):
    """A server in a thread of this process."""

    def thread_target(self) -> None:
        assert self.server is not None
        self.server.serve_forever(poll_interval=POLL_INTERVAL_S)
