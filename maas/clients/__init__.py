"""The Python client: MaaS and AsyncMaaS, and what they return and raise."""

from maas.clients.asynchronous import AsyncMaaS
from maas.clients.errors import (
    Forbidden,
    InvalidRequest,
    MaaSError,
    NotFound,
    RateLimited,
    RunFailed,
    TimedOut,
    Unauthenticated,
    Unavailable,
)
from maas.clients.results import (
    Added,
    AddedMemory,
    Answer,
    Change,
    Context,
    Deleted,
    Event,
    Memories,
    Memory,
    Source,
)
from maas.clients.synchronous import MaaS

__all__ = [
    "Added",
    "AddedMemory",
    "Answer",
    "AsyncMaaS",
    "Change",
    "Context",
    "Deleted",
    "Event",
    "Forbidden",
    "InvalidRequest",
    "MaaS",
    "MaaSError",
    "Memories",
    "Memory",
    "NotFound",
    "RateLimited",
    "RunFailed",
    "Source",
    "TimedOut",
    "Unauthenticated",
    "Unavailable",
]
