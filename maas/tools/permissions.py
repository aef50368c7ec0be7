"""What a dialogue may call."""

from __future__ import annotations

from dataclasses import dataclass

from maas.tools.tool import Mode

MAX_CALLS = 30


@dataclass(frozen=True, slots=True)
class Permissions:
    """What a dialogue may call: names of tools, the mode, the number of calls, and fingerprints of approved calls.

    The mode of the `unasked` tools is always `auto`. `nested` are the tools that others may call.
    """

    allowed: frozenset[str]
    mode: Mode = "auto"
    limit: int = MAX_CALLS
    approved: frozenset[str] = frozenset()
    unasked: frozenset[str] = frozenset()
    nested: frozenset[str] = frozenset()
