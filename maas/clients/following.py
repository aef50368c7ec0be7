"""A run that is followed, however often the connection breaks: where it goes on, and when it is over."""

from __future__ import annotations

from dataclasses import dataclass

import httpx2

from maas.clients.calls import Call
from maas.clients.errors import MaaSError, RateLimited, RunFailed, Unavailable
from maas.clients.results import Event
from maas.clients.retrying import FIRST, MOST, read

SILENCE = 60.0  # seconds; a server says every 15 that it is still there


@dataclass(slots=True)
class Following:
    """`last` is the id of the last event, `failures` the connections since then that brought nothing."""

    run_id: str
    retries: int
    last: str = ""
    failures: int = 0
    is_over: bool = False

    @property
    def call(self) -> Call:
        headers = {"last-event-id": self.last} if self.last else {}
        return Call(method="GET", path=f"/v1/runs/{self.run_id}/events", headers=headers, waits=SILENCE)

    def begin(self, response: httpx2.Response) -> None:
        """What its head says; 204: there is nothing after `last`. Raises MaaSError, for whose sake it must be read."""
        self.is_over = response.status_code == 204
        if not response.is_success:
            read(self.call, response, 1)

    def hear(self, one: httpx2.ServerSentEvent) -> Event:
        """Raises RunFailed at the end of a run without an answer."""
        event = Event.parse(one.id, one.event, one.data)
        self.last, self.failures = event.id, 0
        if event.type == "error":
            code, message = event.data.get("code"), event.data.get("message")
            raise RunFailed(str(code or "failed"), str(message or "the request failed"), {"request_id": self.run_id})
        self.is_over = event.type == "done"
        return event

    def pause(self, error: MaaSError) -> float:
        """Seconds after which to connect again. Raises the error when that was tried often enough, or is no use."""
        self.failures += 1
        if not isinstance(error, Unavailable | RateLimited) or self.failures > self.retries:
            raise error
        told = (error.details or {}).get("retry_after")
        return max(float(told or 0), min(FIRST * 2.0**self.failures, MOST))


def left(run_id: str) -> Unavailable:
    """The error of a server that ended the stream before the run did, as one that stops does."""
    return Unavailable("left", f"the server left before run {run_id} ended")
