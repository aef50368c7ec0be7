"""MaaS: the client for programs that wait."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any, Protocol, Self, TypeVar

from maas.clients import address
from maas.clients.address import RETRIES, TIMEOUT
from maas.clients.calls import Call, Plan, Reply
from maas.clients.errors import MaaSError
from maas.clients.following import Following
from maas.clients.requests import Mode
from maas.clients.results import Event
from maas.clients.rows import refuse
from maas.clients.sync_http import Http
from maas.clients.users import UserId, Users
from maas.clients.verbs import Verbs

T = TypeVar("T")


class Line(Protocol):
    """What calls go over."""

    def send(self, call: Call) -> Reply:
        """Raises MaaSError."""
        ...

    def close(self) -> None: ...


class MaaS(Verbs):
    """Memory for an assistant, over HTTP; with `dsn` instead of `url` by SQL, where there are ask, submit and wait.

    `url` and `api_key` are MAAS_URL and MAAS_API_KEY if not given, `timeout` seconds for a reply, `retries` attempts
    after the first where a reply was lost. Raises MaaSError of many kinds.
    """

    def __init__(
        self, url: str | None = None, api_key: str | None = None, *, dsn: str | None = None, timeout: float = TIMEOUT,
        retries: int = RETRIES,
    ) -> None:  # fmt: skip
        self.users = Users()
        self._retries = retries
        self._line: Line
        if dsn is None:
            self._line = Http(address.find_url(url), api_key, timeout, retries)
        else:
            from maas.clients.sync_rows import Rows  # drivers take longer to load than all the rest

            self._line = Rows(address.check_dsn(dsn, url), retries)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give connections back."""
        self._line.close()

    def stream(
        self, query: str, *, user_id: UserId, assistant: str = "mentor", conversation_id: UserId | None = None,
        mode: Mode | None = None, metadata: Mapping[str, Any] | None = None, attachment_ids: Sequence[UserId] = (),
    ) -> Iterator[Event]:  # fmt: skip
        """Ask, and follow the answer as it comes: `event.text` is the next piece of it. Raises RunFailed."""
        request_id = self.submit(
            query, user_id=user_id, assistant=assistant, conversation_id=conversation_id, mode=mode,
            metadata=metadata, attachment_ids=attachment_ids,
        )  # fmt: skip
        yield from self.follow(request_id)

    def follow(self, request_id: UserId, *, last_event_id: str = "") -> Iterator[Event]:
        """The events of a run from its start, or from behind one, until `done`; goes on where a connection broke.

        Who stops reading cancels nothing. Raises RunFailed, NotFound, Unavailable.
        """
        following = Following(str(request_id), self._retries, last_event_id)
        if not isinstance(self._line, Http):
            raise refuse(following.call)
        yield from self._line.follow(following)

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
