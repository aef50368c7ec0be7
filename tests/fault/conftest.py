"""A database and a folder for processes that will be killed, and a model that can be held."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from tests.http_server import HTTPServer
from tests.model_server import ModelServer
from tests.stack import Stack


@pytest.fixture
def stack(database: str, tmp_path: Path) -> Iterator[Stack]:
    """No process yet; the test starts what it will break."""
    with Stack(database, tmp_path) as stack:
        yield stack


@pytest.fixture
def models() -> Iterator[ModelServer]:
    """Threaded: a role that is held must not hold the others."""
    with HTTPServer(threaded=True) as server:
        models = ModelServer(server)
        yield models
        models.close()


@pytest.fixture
def user() -> UUID:
    return uuid4()
