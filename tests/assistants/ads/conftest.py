"""A user who advertises, with stand-ins for Facebook and the CRM."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

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
from tests.assistants.ads.shop import AMOCRM, FACEBOOK, NOW, Connection, Shop
from tests.standins.running import Running, standin


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
