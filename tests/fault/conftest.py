"""A database and a folder for processes that will be killed, and a model that can be held."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from shared.postgres import EmbeddedPostgres
from tests.agency import Agency
from tests.databases import copy_of, empty
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


@pytest.fixture(scope="module")
def lasting_stack(
    postgres: EmbeddedPostgres, template: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stack]:
    """Of all tests of a module that are other users with other assistants; its orchestrator goes on between them."""
    with copy_of(template, postgres.dsn) as dsn, Stack(dsn, tmp_path_factory.mktemp("stack")) as stack:
        yield stack


@pytest.fixture(scope="module")
def model_host() -> Iterator[HTTPServer]:
    """The address of models that the orchestrator of `lasting_stack` asks; each test has a `ModelServer` there."""
    with HTTPServer(threaded=True) as server:
        yield server


@pytest.fixture
def emptied_stack(lasting_stack: Stack) -> Stack:
    """`lasting_stack` without rows and files of earlier tests; an orchestrator that still has a run of theirs ends."""
    lasting_stack.kill(keeping=not lasting_stack.rows("select from pipeline_runs where queue_state < 2"))
    for path in lasting_stack.folder.iterdir():
        if path.suffix != ".log":
            path.unlink()
    empty(lasting_stack.dsn)
    return lasting_stack


@pytest.fixture
def lasting_models(emptied_stack: Stack, model_host: HTTPServer) -> Iterator[ModelServer]:
    """The models of one test, where the orchestrator of `emptied_stack` asks."""
    model_host.clear()
    models = ModelServer(model_host)
    yield models
    models.close()


@pytest.fixture
def agency(emptied_stack: Stack, lasting_models: ModelServer, user: UUID) -> Agency:
    """An assistant of this test alone."""
    return Agency(emptied_stack, lasting_models, user, f"desk-{user.hex}")
