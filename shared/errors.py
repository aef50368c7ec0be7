"""One root error: a machine code for programs and a sentence for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pydantic import ValidationError

_PREFIX = "Value error, "  # of pydantic, before the words of our own checks


class MaasError(Exception):
    """A failure that a client or an operator can act on; `message` says what to do next."""

    def __init__(self, code: str, message: str, details: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = details

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


class Problem(NamedTuple):
    """What is wrong with data from outside: the way to the field, empty for the whole; words; pydantic's type."""

    path: tuple[str | int, ...]
    words: str
    kind: str

    @property
    def field(self) -> str:
        """The way to the field, with dots."""
        return ".".join(map(str, self.path))

    def __str__(self) -> str:
        return f"{self.field}: {self.words}" if self.path else self.words


def problems_of(error: ValidationError) -> tuple[Problem, ...]:
    """What pydantic found, in the words that a person reads; at least one."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    return tuple(Problem(one["loc"], one["msg"].removeprefix(_PREFIX), one["type"]) for one in found)
