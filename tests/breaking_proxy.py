"""A proxy before a server that breaks requests on command: a reply is lost, a connection cut, a refusal made up."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal

import httpx2

Fault = Literal["lost", "unsent", "busy", "limited", "cut"]
REFUSALS = {"busy": 503, "limited": 429}


class BreakingProxy(ThreadingHTTPServer):
    """`faults` are suffered by the next requests in this order; `seen` are all requests, as method and path.

    lost: the server does it, the reply never comes. unsent: the server sees nothing. cut: the reply breaks off after
    its first piece. Others: a refusal that asks for a second.
    """

    daemon_threads = True

    def __init__(self, target: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.client = httpx2.Client(base_url=target, timeout=30, trust_env=False, verify=False)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.faults: list[Fault] = []
        self.seen: list[str] = []


@contextmanager
def breaking_proxy(target: str) -> Iterator[BreakingProxy]:
    """A proxy in a thread of its own."""
    with BreakingProxy(target) as proxy, proxy.client:
        thread = threading.Thread(target=proxy.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield proxy
        finally:
            proxy.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: BreakingProxy

    def handle_one_request(self) -> None:
        self.raw_requestline = self.rfile.readline(65537)
        if not self.raw_requestline or not self.parse_request():
            self.close_connection = True
            return
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        self.server.seen.append(f"{self.command} {self.path.partition('?')[0]}")
        fault = self.server.faults.pop(0) if self.server.faults else None
        if fault in REFUSALS:
            self._refuse(REFUSALS[fault])
            return
        self.close_connection = True
        if fault != "unsent":
            self._pass_on(body, fault)

    def _refuse(self, status: int) -> None:
        self.send_response_only(status)
        self.send_header("retry-after", "1")
        self.send_header("content-length", "0")
        self.end_headers()

    def _pass_on(self, body: bytes, fault: Fault | None) -> None:
        headers = {name: value for name, value in self.headers.items() if name.lower() != "host"}
        with self.server.client.stream(self.command, self.path, content=body, headers=headers) as reply:
            if fault == "lost":
                reply.read()
                return
            self.send_response_only(reply.status_code)
            self.send_header("content-type", reply.headers.get("content-type", "application/json"))
            self.send_header("connection", "close")
            if reply.status_code != 204:
                self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            for piece in reply.iter_raw():
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                if fault == "cut":
                    return
            if reply.status_code != 204:
                self.wfile.write(b"0\r\n\r\n")
