"""Each provider behind its real SDK, against a protocol server that we did not write."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
from pytest_httpserver import HTTPServer

from shared.models import Model
from shared.models.e5 import is_installed
from tests.aimock import Aimock, missing
from tests.contract.dialects import DIALECTS, Dialect

collect_ignore = [] if is_installed() else ["test_e5.py", "test_meaning.py"]  # elsewhere than on Linux on x86-64


@pytest.fixture(scope="session")
def aimock_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Aimock]:
    if reason := missing():
        pytest.skip(reason)
    with Aimock(tmp_path_factory.mktemp("aimock")) as server:
        yield server


@pytest.fixture
def aimock(aimock_server: Aimock) -> Aimock:
    """Empty: no fixture, no counter, no journal of another test."""
    aimock_server.reset()
    return aimock_server


@pytest.fixture(params=DIALECTS, ids=lambda dialect: dialect.provider)
def dialect(request: pytest.FixtureRequest) -> Dialect:
    found: Dialect = request.param
    return found


@pytest.fixture
async def model(dialect: Dialect, aimock: Aimock) -> AsyncIterator[Model]:
    """The provider's model, asking aimock."""
    opened = dialect.open(aimock.url)
    yield opened
    await opened.close()


@pytest.fixture
async def wired(dialect: Dialect, httpserver: HTTPServer) -> AsyncIterator[Model]:
    """The provider's model, asking `httpserver`."""
    opened = dialect.open(httpserver.url_for("").rstrip("/"))
    yield opened
    await opened.close()
