"""What clients of services share: the error of a failed request, and requests themselves in `service`."""

from __future__ import annotations

from typing import Literal, NamedTuple

from shared.errors import MaasError

ErrorCode = Literal[
    "unreachable",
    "timeout",
    "unauthorized",
    "forbidden",
    "not_found",
    "rate_limited",
    "invalid",
    "too_large",
    "unavailable",
    "bad_reply",
    "conflict",
]


class Vendor(NamedTuple):
    """A vendor: its key in logs and errors, and its name for people."""

    key: str
    name: str


class VendorError(MaasError):
    """A failed request to a vendor; `message` is for a model or a person and holds no secret.

    `vendor` is the vendor's key. `retry_after` is the wait in seconds that the vendor asks for, None if it names none.
    `is_outcome_unknown`: the request was a write that may have arrived and been carried out.
    """

    def __init__(
        self,
        vendor: str,
        code: ErrorCode,
        message: str,
        retry_after: float | None = None,
        is_outcome_unknown: bool = False,
    ) -> None:
        super().__init__(code, message)
        self.vendor = vendor
        self.retry_after = retry_after
        self.is_outcome_unknown = is_outcome_unknown
