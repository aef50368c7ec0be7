"""The fixtures of tests of the whole product, for those of one plugin."""

from __future__ import annotations

from tests.flow.conftest import models, settings, stack, user

__all__ = ["models", "settings", "stack", "user"]
