"""The queries of this folder by name, as attributes. `queries.pyi` has the types of their rows and arguments."""

from __future__ import annotations

from maas.named_queries import query_named
from shared.query import Untyped


def __getattr__(name: str) -> Untyped:
    query = globals()[name] = query_named(name)
    return query
