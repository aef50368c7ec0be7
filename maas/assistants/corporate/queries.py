"""The queries of this folder by name, as attributes. `queries.pyi` has the types of their rows and arguments."""

from __future__ import annotations

from shared.query import Untyped, query_named


def __getattr__(name: str) -> Untyped:
    query = globals()[name] = query_named(name)
    return query
