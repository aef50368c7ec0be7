"""MaaS: memory as a service for LLM assistants. `from maas import MaaS` is its Python client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from maas.client import AsyncMaaS, ClientError, MaaS

__all__ = ["AsyncMaaS", "ClientError", "MaaS"]


def __getattr__(name: str) -> Any:
    """Import the client on first use: servers and workers import this package without it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from maas import client

    return getattr(client, name)
