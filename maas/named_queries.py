"""The named queries of sql/queries and of all plugins that are installed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from maas.plugins import installed
from shared.query import SQL, Untyped, Value, read_queries


@cache
def query_texts() -> Mapping[str, str]:
    """The text of every query of sql/queries and of such folders of all plugins, by name."""
    found: dict[str, str] = {}
    for folder in (SQL, *(plugin.folder / "sql" for plugin in installed().values())):
        texts = read_queries(folder / "queries")
        if twice := found.keys() & texts.keys():
            raise ValueError(f"two queries are named {min(twice)}")
        found |= texts
    return found


def query_named(name: str) -> Untyped:
    """The query of that name, without types. Raises AttributeError, as modules that have queries as attributes do."""
    if name not in query_texts():
        raise AttributeError(f"no query is named {name}")
    return Value(name, query_texts()[name])
