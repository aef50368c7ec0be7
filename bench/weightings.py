"""The product's weights with signals left out, and built up one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, replace

from maas.memory.ranking import WEIGHTS, Weights

UNUSED = ("preferred",)  # where no time is preferred it is always 0
SIGNALS = tuple(one.name for one in fields(Weights) if one.name not in UNUSED)
WORD_SIGNALS = tuple(one for one in SIGNALS if not one.startswith("meaning"))  # all there are without vectors
PRODUCT = "the product"


def without(signal: str) -> str:
    """How the weights without a signal are called."""
    return f"without {signal}"


def weightings(signals: Sequence[str]) -> Mapping[str, Weights]:
    """By name: the product's weights; those without each of these signals; the first alone, then one more at a time."""
    found = {PRODUCT: WEIGHTS} | {without(name): replace(WEIGHTS, **{name: 0.0}) for name in signals}
    kept = asdict(WEIGHTS) | dict.fromkeys(signals, 0.0)
    for name in signals:
        kept[name] = getattr(WEIGHTS, name)
        found[f"{name} alone" if name == signals[0] else f"+ {name}"] = Weights(**kept)
    return found
