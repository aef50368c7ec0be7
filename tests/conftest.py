"""What every test may use: a real Postgres, a fresh migrated database in it, and an environment without secrets."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import certifi
import hypothesis
import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo
from psycopg.rows import DictRow, dict_row

from maas.plugins import sql_folders
from maas.settings import SUBJECTS
from shared.db import Database, open_database
from shared.migrate import migrate
from shared.postgres import EmbeddedPostgres, acquire
from tests.databases import copy_of
from tests.programs import SETTINGS
from tests.skips import pytest_collectreport, pytest_runtest_logreport, pytest_sessionfinish, pytest_terminal_summary
from tests.sql.engine import Engine

__all__ = ["pytest_collectreport", "pytest_runtest_logreport", "pytest_sessionfinish", "pytest_terminal_summary"]

ROOT = Path(__file__).resolve().parent.parent
GARBAGE_THRESHOLD = 10_000  # new containers between two collections, as in the product; Python's own is 700
SQL_FOLDER = ROOT / "sql"
TEMPLATE = "maas_template"
UNNEEDED = ("fsync", "full_page_writes")
PRIVATE = ("DATABASE_URL", "LISTEN_DATABASE_URL")
PRIVATE_PREFIXES = (
    "MAAS_",
    "OPENAI_",
    "GEMINI_",
    "ANTHROPIC_",
    "FB_",
    "AMOCRM_",
    "EVOLUTION_",
    "CORPORATE_",
    "LIGHTRAG_",
    "OLLAMA_",
)


# A machine that is busy with three test processes says nothing about the speed of an example.
hypothesis.settings.register_profile(
    "maas", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow], database=None
)
hypothesis.settings.load_profile("maas")


def pytest_configure(config: pytest.Config) -> None:
    """Programs that tests start must be stoppable by Ctrl-C, even where a script runs the tests in the background.

    HTTP clients read one certificate instead of all those of the world, which takes 30 ms of CPU a client.
    Nothing that collecting makes is garbage: looking for it took half of the time.
    """
    gc.disable()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.update(SETTINGS)
    if config.getoption("markexpr") != "live":
        os.environ["SSL_CERT_FILE"] = _one_certificate()


def pytest_collection_finish() -> None:
    """Leave modules and tests out of garbage collection; they stay to the end."""
    gc.freeze()
    gc.set_threshold(GARBAGE_THRESHOLD)
    gc.enable()


def _one_certificate() -> str:
    """Return the name of a file that holds the first certificate of certifi."""
    end = "-----END CERTIFICATE-----\n"
    first, _, _ = Path(certifi.where()).read_text().partition(end)
    path = Path(tempfile.gettempdir()) / "maas-test-certificate.pem"
    if not path.exists():
        path.write_text(first + end)
    return str(path)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--pg-bin", metavar="DIR", help="run the embedded server with the Postgres programs in DIR")


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees the developer's keys, addresses or `.env`."""
    for name in list(os.environ):
        if name not in SETTINGS and (name in PRIVATE or name.startswith(PRIVATE_PREFIXES)):
            monkeypatch.delenv(name)
    for kind in SUBJECTS.values():
        monkeypatch.setitem(kind.model_config, "env_file", None)


@pytest.fixture(scope="session")
def pg_bin(request: pytest.FixtureRequest) -> Path | None:
    """The programs named by --pg-bin; None means those of the wheel."""
    named = request.config.getoption("--pg-bin")
    return Path(named).resolve() if named else None


@pytest.fixture(scope="session")
def reachable_tmp() -> Iterator[Path]:
    """A folder of this session that the unprivileged user of the server can enter; in memory where that is ample."""
    memory = Path("/dev/shm")
    ample = memory.is_dir() and shutil.disk_usage(memory).free > 4 << 30
    folder = Path(tempfile.mkdtemp(prefix="maas-test-", dir=memory if ample else "/var/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def postgres(reachable_tmp: Path, pg_bin: Path | None) -> Iterator[EmbeddedPostgres]:
    """One server for the whole session; it survives no loss of power, which would cost a fifth of each database."""
    server = acquire(reachable_tmp / "server", bin_dir=pg_bin)
    with psycopg.connect(server.dsn, autocommit=True) as admin:
        for name in UNNEEDED:
            admin.execute(sql.SQL("alter system set {} = off").format(sql.Identifier(name)))
        admin.execute("select pg_reload_conf()")
    yield server
    server.close(wait=True)


@pytest.fixture(scope="session")
def template(postgres: EmbeddedPostgres) -> str:
    """Name of the migrated and seeded database that each test gets a copy of."""
    with psycopg.connect(postgres.dsn, autocommit=True) as admin:
        admin.execute(sql.SQL("create database {}").format(sql.Identifier(TEMPLATE)))
    dsn = make_conninfo(postgres.dsn, dbname=TEMPLATE)
    migrate(dsn, SQL_FOLDER, sql_folders())
    _seed(dsn)
    return TEMPLATE


def _seed(dsn: str) -> None:
    """The rows that `maas up` writes before it serves."""
    from maas.prompting.prompts import seed_prompts

    seed_prompts(dsn)


@pytest.fixture
def database(postgres: EmbeddedPostgres, template: str) -> Iterator[str]:
    """DSN of a database of its own, migrated and seeded; gone after the test, open connections or not."""
    with copy_of(template, postgres.dsn) as dsn:
        yield dsn


@pytest.fixture(scope="module")
def fresh_database(postgres: EmbeddedPostgres, template: str) -> Iterator[str]:
    """DSN of a database of all tests of a module."""
    with copy_of(template, postgres.dsn) as dsn:
        yield dsn


@pytest.fixture
def connection(database: str) -> Iterator[psycopg.Connection[DictRow]]:
    """An open connection to `database`: autocommit, rows as dictionaries."""
    with psycopg.connect(database, autocommit=True, row_factory=dict_row) as connection:
        yield connection


@pytest.fixture
def engine(connection: psycopg.Connection[DictRow]) -> Engine:
    """The engine, as it claims and finishes runs of `database`."""
    return Engine(connection)


@pytest.fixture
async def db(database: str) -> AsyncIterator[Database]:
    """A pool of two connections to `database`."""
    async with open_database(database, 2, "test") as db:
        yield db
