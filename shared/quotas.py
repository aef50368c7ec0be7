"""Quotas: the error of a statement that would exceed what is kept of one user."""

from __future__ import annotations

import json
from typing import Any

import asyncpg

from shared.errors import MaasError


class QuotaExceeded(MaasError, asyncpg.PostgresError):  # type: ignore[misc]
    """A user would have more than a quota allows; nothing was changed. asyncpg raises it for the SQLSTATE MQ001.

    `details` has the `name` of the setting, the `quota`, and what is `used` together with what was refused.
    """

    sqlstate = "MQ001"
    detail: str | None = None  # set by asyncpg

    def __init__(self, message: str) -> None:
        super().__init__("quota_exceeded", message)

    @property
    def details(self) -> dict[str, Any] | None:
        """Which quota it is, its limit, and what is used, as the database reports them."""
        return json.loads(self.detail) if self.detail else None

    @details.setter
    def details(self, _: object) -> None:
        """Ignored: MaasError sets it before asyncpg sets `detail`."""
