"""The whole product, started once a module; every test is another user."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import dict_row

from maas.assistants.ads.vendors import Vendors
from maas.builtin_model import BuiltinModel
from maas.engine.stages import Deps, RoleModels
from maas.settings import load_settings
from shared.db import Database, open_database
from shared.postgres import EmbeddedPostgres
from tests.databases import copy_of
from tests.http_server import HTTPServer
from tests.model_server import ModelServer
from tests.shop import AMOCRM, FACEBOOK, NOW, Connection, Shop
from tests.stack import Stack
from tests.standins.running import Running, standin


@pytest.fixture(scope="module")
def fresh_database(postgres: EmbeddedPostgres, template: str) -> Iterator[str]:
    """DSN of a database of this module."""
    with copy_of(template, postgres.dsn) as dsn:
        yield dsn


@pytest.fixture(scope="module")
def stack(fresh_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """Server and orchestrator with the built-in model."""
    with Stack(fresh_database, tmp_path_factory.mktemp("stack")) as running:
        running.start_server()
        running.start_orchestrator()
        yield running


@pytest.fixture(scope="module")
def models() -> Iterator[ModelServer]:
    """Models that a test makes say what it wants."""
    with HTTPServer(threaded=True) as server:
        models = ModelServer(server)
        yield models
        models.close()


@pytest.fixture
def user() -> UUID:
    return uuid4()


@pytest.fixture(scope="module")
def facebook_server() -> Iterator[Running]:
    with standin("facebook", FACEBOOK) as running:
        yield running


@pytest.fixture(scope="module")
def crm_server() -> Iterator[Running]:
    with standin("amocrm", AMOCRM) as running:
        yield running


@pytest.fixture
def facebook(facebook_server: Running) -> Running:
    facebook_server.reset()
    return facebook_server


@pytest.fixture
def crm(crm_server: Running) -> Running:
    crm_server.reset()
    return crm_server


@pytest.fixture(scope="module")
def shop_database(fresh_database: str) -> str:
    """DSN of the database of this module, whose clock stands still."""
    with psycopg.connect(fresh_database, autocommit=True) as connection:
        name = sql.Identifier(str(conninfo_to_dict(fresh_database)["dbname"]))
        connection.execute(sql.SQL("alter database {} set maas.now = {}").format(name, NOW.isoformat()))
    return fresh_database


@pytest.fixture
def shop_connection(shop_database: str) -> Iterator[Connection]:
    with psycopg.connect(shop_database, autocommit=True, row_factory=dict_row) as connection:
        yield connection


@pytest.fixture
async def shop_db(shop_database: str) -> AsyncIterator[Database]:
    """As the role of orchestrators."""
    separator = "&" if "?" in shop_database else "?"
    async with open_database(f"{shop_database}{separator}role=maas_worker", 4, "test") as db:
        yield db


@pytest.fixture
def shop_deps(shop_db: Database, facebook: Running) -> Deps:
    return Deps(shop_db, load_settings(fb_base_url=facebook.url), RoleModels({}, BuiltinModel()))


@pytest.fixture
async def vendors(shop_deps: Deps) -> AsyncIterator[Vendors]:
    opened = Vendors(shop_deps.settings)
    yield opened
    await opened.close()


@pytest.fixture
def bare(shop_connection: Connection, shop_deps: Deps, vendors: Vendors, crm: Running) -> Shop:
    """An account without an ad account, connected to nothing."""
    return Shop(shop_connection, shop_deps, vendors, crm)


@pytest.fixture
def shop(bare: Shop) -> Shop:
    """An account with an ad account at Facebook in USD, and a CRM."""
    bare.connect()
    bare.connect_crm()
    return bare
