"""Clients of services: advertisements, customers, messages, documents. Here is the error that they share."""

from __future__ import annotations

from typing import Literal

from shared.errors import MaasError

Vendor = Literal["facebook", "amocrm", "evolution", "telegram", "lightrag"]
ErrorCode = Literal[
    "unreachable", "timeout", "unauthorized", "forbidden", "not_found", "rate_limited", "invalid", "unavailable",
    "bad_reply", "conflict",
]  # fmt: skip


class VendorError(MaasError):
    """A failed request to a vendor; `message` is for a model or a person and holds no secret.

    `retry_after` is the wait in seconds that the vendor asks for, None if it names none. `is_outcome_unknown`: the
    request was a write that may have arrived and been carried out.
    """

    def __init__(
        self, vendor: Vendor, code: ErrorCode, message: str, retry_after: float | None = None,
        is_outcome_unknown: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(code, message)
        self.vendor = vendor
        self.retry_after = retry_after
        self.is_outcome_unknown = is_outcome_unknown
