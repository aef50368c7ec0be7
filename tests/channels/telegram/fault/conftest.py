"""The fixtures of tests that break the product, for those of one plugin."""

from __future__ import annotations

from tests.fault.conftest import models, stack, user

__all__ = ["models", "stack", "user"]
