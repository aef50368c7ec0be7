"""Calls over HTTP, for programs that wait."""

from __future__ import annotations

import time
from collections.abc import Iterator

import httpx2
from tenacity import Retrying

from maas.clients import address
from maas.clients.calls import Call, Reply
from maas.clients.errors import MaaSError, RateLimited, Unavailable
from maas.clients.following import Following, left
from maas.clients.results import Event
from maas.clients.retrying import lost, policy, read


class Http:
    """Calls over HTTP, sent again where they may be lost. Threads may share it."""

    def __init__(self, url: str, api_key: str | None, timeout: float, retries: int) -> None:
        self._url, self._timeout, self._retries = url, timeout, retries
        self.client = httpx2.Client(base_url=url, headers=address.headers(api_key), timeout=timeout)

    def send(self, call: Call) -> Reply:
        for attempt in Retrying(**policy(self._retries)):
            with attempt:
                try:
                    response = self.client.request(**address.request_of(call, self._timeout))
                except httpx2.TransportError as error:
                    raise lost(error, self._url) from error
                return read(call, response, attempt.retry_state.attempt_number)
        raise AssertionError("tenacity returns or raises")

    def follow(self, following: Following) -> Iterator[Event]:
        while not following.is_over:
            try:
                request = address.request_of(following.call, self._timeout)
                with self.client.sse(**request) as source:
                    if not source.response.is_success:
                        source.response.read()
                    following.begin(source.response)
                    for one in source:
                        yield following.hear(one)
                error: MaaSError = left(following.run_id)
            except httpx2.TransportError as cause:
                error = lost(cause, self._url)
            except (Unavailable, RateLimited) as cause:
                error = cause
            if not following.is_over:
                time.sleep(following.pause(error))

    def close(self) -> None:
        self.client.close()
