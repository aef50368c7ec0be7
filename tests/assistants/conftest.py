"""The fixtures of tests of the whole product, for those of one plugin."""

from __future__ import annotations

from tests.flow.conftest import fresh_database, models, settings, stack, user

__all__ = ["fresh_database", "models", "settings", "stack", "user"]
