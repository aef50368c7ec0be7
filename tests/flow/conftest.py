"""The whole product, started once a module; every test is another user."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from tests.http_server import HTTPServer
from tests.model_server import ModelServer
from tests.provider import Provider
from tests.stack import Stack


@pytest.fixture(scope="module")
def settings() -> dict[str, str]:
    """The settings of the stack of a module: the built-in model alone, unless the module says otherwise."""
    return {}


@pytest.fixture(scope="module")
def stack(fresh_database: str, settings: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """Server and orchestrator."""
    with Stack(fresh_database, tmp_path_factory.mktemp("stack"), **settings) as running:
        running.start_server()
        running.start_orchestrator()
        yield running


@pytest.fixture
def bare(database: str, tmp_path: Path) -> Iterator[Stack]:
    """A server on a database of the test, without an orchestrator: requests are taken and wait."""
    with Stack(database, tmp_path) as running:
        running.start_server()
        yield running


@pytest.fixture(scope="module")
def models() -> Iterator[ModelServer]:
    """Models that a test makes say what it wants."""
    with HTTPServer(threaded=True) as server:
        models = ModelServer(server)
        yield models
        models.close()


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    """A provider of models, which the stack of a module uses that has its settings."""
    with HTTPServer(threaded=True) as http:
        yield Provider(http)


@pytest.fixture
def user() -> UUID:
    return uuid4()
