"""The Python client: MaaS and AsyncMaaS, the values that they return and the errors that they raise."""

from maas.client.client import AsyncMaaS, MaaS
from maas.client.errors import (
    ClientError,
    Forbidden,
    InvalidRequest,
    NotFound,
    RateLimited,
    RunFailed,
    TimedOut,
    Unauthenticated,
    Unavailable,
)
from maas.client.results import (
    AddedMemory,
    AddResult,
    Answer,
    Change,
    Context,
    DeleteResult,
    Event,
    Memories,
    Memory,
    Source,
)

__all__ = [
    "AddResult",
    "AddedMemory",
    "Answer",
    "AsyncMaaS",
    "Change",
    "ClientError",
    "Context",
    "DeleteResult",
    "Event",
    "Forbidden",
    "InvalidRequest",
    "MaaS",
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
