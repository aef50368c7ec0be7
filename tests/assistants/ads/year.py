"""The year of the invented agency in the product: synced from stand-ins, set up as a person does, then synced again."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from decimal import Decimal
from uuid import UUID, uuid4

import psycopg
from psycopg.rows import dict_row

from maas.assistants.ads.account import read_account
from maas.assistants.ads.connections import crm_secret, facebook_secret
from maas.assistants.ads.set_up import choose_stages, list_directions, set_rate
from maas.assistants.ads.sync_queue import SyncQueue
from maas.assistants.ads.toolset import make_tools
from maas.assistants.ads.vendors import Vendors
from maas.engine.stages import Deps
from maas.settings import Settings, load_settings
from maas.tools.tool import Toolset
from shared.db import Database, open_database
from tests.assistants.ads.shop import NOW, Connection, Shop
from tests.assistants.ads.truth import Truth, adsets_of
from tests.demo import services
from tests.demo.agency import ACCOUNTS, BUSINESS, INSTANCE, QUALIFYING, Agency, invent
from tests.standins.running import Running, standin

DOLLARS = Decimal("0.002")  # for a tenge
TARGET_CPL, TARGET_QCPL = Decimal(40), Decimal(120)
DIRECTIONS = {"act_20260": ("Кухни", "Шкафы", "Гардеробные"), "act_20261": ("Küchen",)}


@dataclass(frozen=True, slots=True)
class Year:
    """The agency, what is true of it, and where the product has it."""

    agency: Agency
    truth: Truth
    dsn: str
    settings: Settings
    user: UUID
    account: UUID
    facebook: Running
    whatsapp: Running


@contextmanager
def loaded_year(dsn: str) -> Iterator[Year]:
    """The database of a module, whose clock stands still, holds the year from here on."""
    agency = invent(NOW)
    with ExitStack() as stack:
        facebook = stack.enter_context(standin("facebook", services.facebook(agency, is_early=True)))
        crm = stack.enter_context(standin("amocrm", services.amocrm(agency, is_early=True)))
        whatsapp = stack.enter_context(standin("evolution", services.evolution(agency)))
        connection = stack.enter_context(psycopg.connect(dsn, autocommit=True, row_factory=dict_row))
        settings = load_settings(
            fb_base_url=facebook.url, evolution_base_url=whatsapp.url, evolution_api_key=services.WHATSAPP_KEY
        )
        truth = Truth(connection)
        truth.fill(agency)
        user = uuid4()
        account = _connect(connection, user, crm.url)
        year = Year(agency, truth, dsn, settings, user, account, facebook, whatsapp)
        asyncio.run(_fill(year, crm))
        yield year


def as_worker(dsn: str) -> str:
    return f"{dsn}{'&' if '?' in dsn else '?'}role=maas_worker"


def _connect(connection: Connection, user: UUID, crm_url: str) -> UUID:
    """Write the rows that `maas ads connect` writes."""
    rows = connection.execute(
        "insert into user_accounts (user_id, name, is_default) values (%s, %s, true) returning id", (user, BUSINESS)
    ).fetchall()
    account = UUID(str(rows[0]["id"]))
    for number, one in enumerate(ACCOUNTS):
        connection.execute(
            "insert into ad_accounts (user_id, user_account_id, fb_id, name, currency, timezone, created_at) "
            "values (%s, %s, %s, %s, %s, %s, now() + make_interval(secs => %s))",
            (user, account, one.id, one.name, one.currency, one.zone, number),
        )
    connection.execute(
        "insert into crm_integration (user_id, user_account_id, base_url) values (%s, %s, %s)", (user, account, crm_url)
    )
    connection.execute(
        "insert into whatsapp_integration (user_id, user_account_id, instance) values (%s, %s, %s)",
        (user, account, INSTANCE),
    )
    secrets = {facebook_secret(one.id): services.TOKEN for one in ACCOUNTS} | {crm_secret(account): services.CRM_TOKEN}
    for name, value in secrets.items():
        connection.execute("select maas_set_secret(%s, %s, %s, 'test')", (user, name, value))
    return account


async def _fill(year: Year, crm: Running) -> None:
    async with open_database(as_worker(year.dsn), 4, "test") as db:
        await _sync(db, year, 366)
        await _set_up(db, year)
        later = services.facebook(year.agency)
        year.facebook.merge({name: later[name] for name in ("days", "ads")})
        late = services.amocrm(year.agency)
        crm.merge({name: late[name] for name in ("leads", "contacts")})
        await _sync(db, year, None)


async def _sync(db: Database, year: Year, days: int | None) -> None:
    queue = SyncQueue(db, year.settings, days)
    try:
        failures = await queue.run_all(year.user, None, lambda *_: None, print)
        assert failures == [], failures
    finally:
        await queue.close()


async def _set_up(db: Database, year: Year) -> None:
    """What a person decides once: the stages, the directions and the rate of dollars alone."""
    for fb_id, names in DIRECTIONS.items():
        account = await read_account(db, year.user, fb_id)
        assert account is not None
        for name in names:
            await list_directions(db, account, adsets_of(name), name, (TARGET_CPL, TARGET_QCPL))
        if account.currency == "USD":
            await choose_stages(db, account, [str(QUALIFYING)])
            await set_rate(db, account, DOLLARS, None)


class YearShop(Shop):
    """The tools of the user who has the year."""

    def __init__(self, year: Year, connection: Connection, deps: Deps, vendors: Vendors) -> None:
        self.user, self.account, self.ad_account = year.user, year.account, None
        self.deps, self.vendors, self._connection = deps, vendors, connection
        self.tools = Toolset(make_tools(deps, vendors))
