"""What goes wrong, as a client sees it: one class for each thing that a program does about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shared.errors import MaasError


class MaaSError(MaasError):
    """`code` for programs, `message` for people, `status` of the HTTP reply where there was one."""

    def __init__(
        self, code: str, message: str, details: Mapping[str, Any] | None = None, status: int | None = None
    ) -> None:
        super().__init__(code, message, details)
        self.status = status


class InvalidRequest(MaaSError):
    """The request cannot be done as it is; the same again is refused again, but for `in_use`."""


class Unauthenticated(MaaSError):
    """No key, or one that is not valid."""


class Forbidden(MaaSError):
    """The key is valid and does not allow this."""


class NotFound(MaaSError):
    """It is not there, or not for this key."""


class RateLimited(MaaSError):
    """Too much at once: the request was not done."""

    @property
    def retry_after(self) -> float | None:
        """Seconds to wait, where the server says so."""
        seconds = (self.details or {}).get("retry_after")
        return None if seconds is None else float(seconds)


class Unavailable(MaaSError):
    """Nobody answered, or nobody who could; whether the request was done is not known."""


class RunFailed(MaaSError):
    """The request was taken and has no answer; details: request_id."""


class TimedOut(MaaSError):
    """There is no answer yet, there may be one later: `wait` with the request_id of the details."""


_KINDS: Mapping[int, type[MaaSError]] = {
    401: Unauthenticated, 403: Forbidden, 404: NotFound, 429: RateLimited,
    502: Unavailable, 503: Unavailable, 504: Unavailable,
}  # fmt: skip


def error_of(status: int, body: object, retry_after: str | None) -> MaaSError:
    """The error of a reply; what stands between may have written it in its own words."""
    told = body.get("error") if isinstance(body, dict) else None
    if not isinstance(told, dict):
        told = {"code": f"http_{status}", "message": f"the reply was HTTP {status}; is this the url of MaaS?"}
    details = dict(told.get("details") or {})
    if retry_after is not None and retry_after.isdecimal():
        details.setdefault("retry_after", int(retry_after))
    kind = _KINDS.get(status, InvalidRequest if 400 <= status < 500 else MaaSError)
    return kind(str(told.get("code")), str(told.get("message")), details or None, status)
