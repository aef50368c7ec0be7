"""The fixtures of tests that break the product, for those of one plugin; they share a stack."""

from __future__ import annotations

import pytest

from tests.fault.conftest import emptied_stack, lasting_models, lasting_stack, model_host, user
from tests.model_server import ModelServer
from tests.stack import Stack

__all__ = ["emptied_stack", "lasting_models", "lasting_stack", "model_host", "user"]


@pytest.fixture
def stack(emptied_stack: Stack) -> Stack:
    return emptied_stack


@pytest.fixture
def models(lasting_models: ModelServer) -> ModelServer:
    return lasting_models
