"""MaaS: memory as a service for LLM assistants. `from maas import MaaS` is its Python client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from maas.clients import AsyncMaaS, MaaS, MaaSError

__all__ = ["AsyncMaaS", "MaaS", "MaaSError"]


def __getattr__(name: str) -> Any:
    """The client is loaded when it is asked for: servers and workers import this package, too."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from maas import clients

    return getattr(clients, name)
