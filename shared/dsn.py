"""Which Postgres: the one that DATABASE_URL names, or the embedded one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from shared.settings import Settings


@dataclass(frozen=True, slots=True)
class Addresses:
    """URLs for queries and for LISTEN; the second must be a direct connection."""

    query: str
    listen: str


@contextmanager
def find_postgres(settings: Settings, on_note: Callable[[str], None]) -> Iterator[Addresses]:
    """The database's addresses; the embedded server lives at least as long as this context. Raises MaasError."""
    if settings.database_url is not None:
        url = settings.database_url.get_secret_value()
        listen = settings.listen_database_url.get_secret_value() if settings.listen_database_url else url
        yield Addresses(url, listen)
        return
    from shared.postgres import acquire

    with acquire(settings.data_dir, on_note=on_note) as server:
        yield Addresses(server.dsn, server.dsn)
