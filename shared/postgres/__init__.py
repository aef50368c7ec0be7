"""The embedded Postgres: `acquire()` gives an address that works as long as the caller lives."""

from shared.postgres.embedded import EmbeddedPostgres, acquire

__all__ = ["EmbeddedPostgres", "acquire"]
