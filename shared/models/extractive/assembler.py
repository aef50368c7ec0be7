"""The Assembler's answer by rules: the lines that fit, most important first."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from shared import tokens

_HALF_ENTITY = re.compile("&[a-z]{0,3}$")


def answer(inputs: Mapping[str, Any]) -> str:
    """Keep of `memory` (escaped lines, most important first) what fits into `max_tokens`."""
    return condense(inputs["memory"], int(inputs["max_tokens"]))


def condense(memory: Sequence[str], max_tokens: int) -> str:
    """Join the lines that fit into `max_tokens`, in their order; a line is cut only when it is the first."""
    whole = "\n".join(memory)
    if len(whole.encode()) <= max_tokens or tokens.count(whole) <= max_tokens:
        return whole
    kept: list[str] = []
    room = max_tokens
    for line in memory:
        cost = tokens.count(line) + 1
        if cost <= room:
            kept.append(line)
            room -= cost
        elif not kept:
            return _HALF_ENTITY.sub("", tokens.fit(line, max_tokens))
    return "\n".join(kept)
