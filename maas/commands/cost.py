"""What model calls cost, for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def dollars(price: int | None) -> str:
    """A price in millionths of a dollar; `?` when nobody knows it."""
    return "?" if price is None else f"${price / 1_000_000:.6f}"


def tokens(call: Mapping[str, Any]) -> str:
    """Tokens in and out, and how many of those in were cached."""
    cached = f" ({call['tokens_cached']} cached)" if call.get("tokens_cached") else ""
    return f"{call['tokens_in']}/{call['tokens_out']}{cached}"
