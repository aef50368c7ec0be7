"""One root error: a machine code for programs and a sentence for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class MaasError(Exception):
    """A failure that a client or an operator can act on; `message` says what to do next."""

    def __init__(self, code: str, message: str, details: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = details

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"
