"""MaaS: the client for programs that wait."""

from __future__ import annotations

import time
from contextlib import closing
from typing import Protocol, Self, TypeVar

import httpx2
from tenacity import Retrying

from maas.clients import address
from maas.clients.address import RETRIES, TIMEOUT
from maas.clients.calls import Call, Plan, Reply
from maas.clients.errors import MaaSError
from maas.clients.retrying import lost, policy, read
from maas.clients.sync_rows import Rows
from maas.clients.users import Users
from maas.clients.verbs import Verbs

T = TypeVar("T")


class Line(Protocol):
    """What calls go over."""

    def send(self, call: Call) -> Reply:
        """Raises MaaSError."""
        ...

    def close(self) -> None: ...


class Http:
    """Calls over HTTP, repeated where that is safe. Threads may share it."""

    def __init__(self, url: str, api_key: str | None, timeout: float, retries: int) -> None:
        self._url, self._timeout, self._retries = url, timeout, retries
        self.client = httpx2.Client(base_url=url, headers=address.headers(api_key), timeout=timeout)

    def send(self, call: Call) -> Reply:
        for attempt in Retrying(**policy(call, self._retries)):
            with attempt:
                try:
                    response = self.client.request(**address.request_of(call, self._timeout))
                except httpx2.TransportError as error:
                    raise lost(error, self._url) from error
                return read(call, response, attempt.retry_state.attempt_number)
        raise AssertionError("tenacity returns or raises")

    def close(self) -> None:
        self.client.close()


class MaaS(Verbs):
    """Memory for an assistant, over HTTP; with `dsn` instead of `url` by SQL, where there are ask, submit and wait.

    `url` and `api_key` are MAAS_URL and MAAS_API_KEY if not given, `timeout` seconds for a reply, `retries` attempts
    after the first where repeating is safe. Raises MaaSError of many kinds.
    """

    def __init__(
        self, url: str | None = None, api_key: str | None = None, *, dsn: str | None = None, timeout: float = TIMEOUT,
        retries: int = RETRIES,
    ) -> None:  # fmt: skip
        self.users = Users()
        self._line: Line
        if dsn is None:
            self._line = Http(address.find_url(url), api_key, timeout, retries)
        else:
            self._line = Rows(address.check_dsn(dsn, url), retries)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give connections back."""
        self._line.close()

    def carry(self, plan: Plan[T]) -> T:
        """Send what the plan asks for, tell it what came, until it is done."""
        with closing(plan):
            try:
                call = next(plan)
                while True:
                    try:
                        time.sleep(call.pause)
                        reply = self._line.send(call)
                    except MaaSError as error:
                        call = plan.throw(error)
                    else:
                        call = plan.send(reply)
            except StopIteration as done:
                value: T = done.value
                return value
