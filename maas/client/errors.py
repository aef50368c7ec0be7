"""The errors of the Python client: one class for each way in which a program can react."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shared.errors import MaasError


class ClientError(MaasError):
    """Base class: `code` for programs, `message` for people, `status` of the HTTP reply or None."""

    def __init__(
        self, code: str, message: str, details: Mapping[str, Any] | None = None, status: int | None = None
    ) -> None:
        super().__init__(code, message, details)
        self.status = status

    @property
    def retry_after(self) -> float | None:
        """Seconds to wait before the next attempt; None if the server names none."""
        seconds = (self.details or {}).get("retry_after")
        return None if seconds is None else float(seconds)


class InvalidRequest(ClientError):
    """The request is wrong as it is. Sending it again fails again, except with the code `in_use`."""


class Unauthenticated(ClientError):
    """The key is missing or not valid."""


class Forbidden(ClientError):
    """The key is valid, but lacks the scope for this."""


class NotFound(ClientError):
    """The object does not exist, or this key may not see it."""


class RateLimited(ClientError):
    """Too many requests; this one was not carried out."""


class Unavailable(ClientError):
    """The server or database did not answer. Whether the request was carried out is unknown."""


class RunFailed(ClientError):
    """The request was accepted and ended without an answer; details: request_id."""


class TimedOut(ClientError):
    """There is no answer yet; `wait` continues with the request_id of the details."""


_KINDS: Mapping[int, type[ClientError]] = {
    401: Unauthenticated, 403: Forbidden, 404: NotFound, 429: RateLimited,
    502: Unavailable, 503: Unavailable, 504: Unavailable,
}  # fmt: skip


def error_of(status: int, body: object, retry_after: str | None) -> ClientError:
    """The error of an HTTP reply. A proxy may have written the body, so it can be anything."""
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict):
        error = {"code": f"http_{status}", "message": f"the reply was HTTP {status}; is this the url of MaaS?"}
    details = dict(error.get("details") or {})
    if retry_after is not None and retry_after.isdecimal():
        details.setdefault("retry_after", int(retry_after))
    kind = _KINDS.get(status, InvalidRequest if 400 <= status < 500 else ClientError)
    return kind(str(error.get("code")), str(error.get("message")), details or None, status)
