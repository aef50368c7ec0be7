"""The product's weights with signals left out, and built up one by one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields, replace

from maas.memory.ranking import WEIGHTS, Weights

UNUSED = ("meaning", "preferred")  # where there are no vectors and no time is preferred they are always 0
SIGNALS = tuple(one.name for one in fields(Weights) if one.name not in UNUSED)
PRODUCT = "the product"


def without(signal: str) -> str:
    """How the weights without a signal are called."""
    return f"without {signal}"


def weightings() -> Mapping[str, Weights]:
    """By name: the product's weights; those without each signal; the first signal alone, then one more at a time."""
    found = {PRODUCT: WEIGHTS} | {without(name): replace(WEIGHTS, **{name: 0.0}) for name in SIGNALS}
    kept = asdict(WEIGHTS) | dict.fromkeys(SIGNALS, 0.0)
    for name in SIGNALS:
        kept[name] = getattr(WEIGHTS, name)
        found[f"{name} alone" if name == SIGNALS[0] else f"+ {name}"] = Weights(**kept)
    return found
