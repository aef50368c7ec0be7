"""Failures: the root error with a code and a message, problems of invalid data, and pauses between attempts."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pydantic import ValidationError

_PREFIX = "Value error, "  # which pydantic puts before the messages of our own validators


class MaasError(Exception):
    """A failure that a client or an operator can act on; `message` says what to do next."""

    def __init__(self, code: str, message: str, details: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = details

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


class Advice(MaasError):
    """What a check of `maas doctor` raises if all works and could be improved."""


class Problem(NamedTuple):
    """One validation error: the path of the field, empty for the whole value; a message; pydantic's error type."""

    path: tuple[str | int, ...]
    message: str
    kind: str

    @property
    def field(self) -> str:
        """The path of the field, joined by dots."""
        return ".".join(map(str, self.path))

    def __str__(self) -> str:
        return f"{self.field}: {self.message}" if self.path else self.message


def problems_of(error: ValidationError) -> tuple[Problem, ...]:
    """Return the errors that pydantic found, at least one, with messages for people."""
    errors = error.errors(include_url=False, include_context=False, include_input=False)
    return tuple(Problem(one["loc"], one["msg"].removeprefix(_PREFIX), one["type"]) for one in errors)


class Backoff:
    """Growing pauses between attempts, in seconds: `first_s`, then twice that and so on, `max_s` at most.

    `spread` gives the factor of each pause, so that many processes do not retry at the same moment; 1 means none.
    """

    def __init__(
        self, first_s: float, max_s: float, spread: Callable[[], float] = lambda: 0.5 + random.random()
    ) -> None:
        self.first_s, self.max_s = first_s, max_s
        self._spread = spread
        self._pause_s = first_s

    def next_s(self) -> float:
        """Return the pause before the next attempt, and double the one after it."""
        pause_s, self._pause_s = self._pause_s, min(self._pause_s * 2, self.max_s)
        return pause_s * self._spread()

    def reset(self) -> None:
        """Begin with the first pause again, after a success."""
        self._pause_s = self.first_s
