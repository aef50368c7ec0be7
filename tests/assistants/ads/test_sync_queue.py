"""Connections are synced by themselves: each by one process at a time, and one of each user."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from typing import Any
from uuid import UUID

import pytest

from maas.assistants.ads.sync_queue import SyncQueue, keep_syncing
from maas.engine.stages import Deps
from shared.errors import MaasError
from tests.assistants.ads.shop import CRM_TOKEN, Connection, Shop
from tests.polling import apoll
from tests.standins.running import Running


@pytest.fixture(autouse=True)
def alone(shop_connection: Connection) -> Iterator[None]:
    """The connections of a test are the only ones."""
    yield
    shop_connection.execute("delete from user_accounts")


@pytest.fixture
async def queue(shop_deps: Deps) -> AsyncIterator[SyncQueue]:
    opened = SyncQueue(shop_deps.db, shop_deps.settings)
    yield opened
    await opened.close()


@contextmanager
def other_shop(shop: Shop, crm: Running) -> Iterator[Shop]:
    """Another user with an ad account."""
    other = Shop(shop._connection, shop.deps, shop.vendors, crm)
    other.connect()
    yield other


def syncs(shop: Shop) -> dict[str, dict[str, Any]]:
    """The syncs of a user, by service."""
    found = shop.rows("select * from ads_syncs where user_id = %s", shop.user)
    return {one["service"]: one for one in found}


def passed(shop: Shop, minutes: int) -> None:
    """Let time pass since the syncs of a user began."""
    shop.rows(
        "update ads_syncs set begun_at = begun_at - interval '1 minute' * %s where user_id = %s returning 1",
        minutes,
        shop.user,
    )


async def run(queue: SyncQueue, sync_id: UUID | None = None) -> list[str]:
    claimed = await queue.claim(sync_id)
    assert claimed is not None
    return await queue.run(claimed, lambda *_: None)


async def test_of_one_user_one_connection_is_read_by_one_process(shop: Shop, queue: SyncQueue) -> None:
    """However many processes claim at the same moment."""
    claims = [one for one in await asyncio.gather(*(queue.claim() for _ in range(4))) if one is not None]
    assert [one["user_id"] for one in claims] == [shop.user]
    assert await queue.claim() is None
    await queue.run(claims[0], lambda *_: None)
    assert await run(queue) == [] and await queue.claim() is None
    found = syncs(shop)
    assert {name: (one["failures"], one["owner"], one["error"]) for name, one in found.items()} == {
        "Facebook": (0, None, None),
        "amoCRM": (0, None, None),
    }
    assert shop.rows("select 1 from ad_accounts where user_id = %s and synced_at is not null", shop.user)


async def test_many_accounts_of_one_user_delay_nobody(shop: Shop, crm: Running, queue: SyncQueue) -> None:
    for number in (2, 3, 9):
        shop.connect(number)
    with other_shop(shop, crm) as other:
        first, second = await queue.claim(), await queue.claim()
        assert first is not None and second is not None
        assert {first["user_id"], second["user_id"]} == {shop.user, other.user}
        await queue.run(second, lambda *_: None)
        await queue.run(first, lambda *_: None)
        passed(other, 100)
        third = await queue.claim()
        assert third is not None and third["user_id"] == other.user, "it has waited longer"


async def test_an_interval_later_it_is_due_again(shop: Shop, queue: SyncQueue) -> None:
    """Of the connection, else of the setting; 0 is never."""
    shop.rows("delete from ads_syncs where user_id = %s and service = 'amoCRM' returning 1", shop.user)
    assert await run(queue) == []
    passed(shop, 59)
    assert await queue.claim() is None
    passed(shop, 1)
    assert await run(queue) == []
    for minutes, is_due in ((5, True), (0, False)):
        shop.rows("update ads_syncs set interval_min = %s where user_id = %s returning 1", minutes, shop.user)
        passed(shop, 6)
        claimed = await queue.claim()
        assert (claimed is not None) == is_due
        if claimed is not None:
            await queue.run(claimed, lambda *_: None)


async def test_what_fails_is_tried_again_soon_and_says_why(shop: Shop, crm: Running, queue: SyncQueue) -> None:
    """In results of tools, too, once the data is old; no token stands there."""
    crm.fault("status", path="/leads", status=401, message=f"bad {CRM_TOKEN}", times=99)
    shop.lead(1)
    crm_sync = syncs(shop)["amoCRM"]["id"]
    (failed,) = await run(queue, crm_sync)
    assert failed.startswith("amoCRM: amoCRM does not accept the access token") and CRM_TOKEN not in failed
    assert (syncs(shop)["amoCRM"]["error"], syncs(shop)["amoCRM"]["failures"]) == (failed, 1)
    assert failed in (await shop.data("getLeads"))["stale"]
    assert await run(queue, syncs(shop)["Facebook"]["id"]) == []
    assert await queue.claim() is None
    passed(shop, 2)
    assert await run(queue) == [failed] and syncs(shop)["amoCRM"]["failures"] == 2
    passed(shop, 3)
    assert await queue.claim() is None
    crm.clear_faults()
    passed(shop, 1)
    assert await run(queue) == []
    assert (syncs(shop)["amoCRM"]["error"], syncs(shop)["amoCRM"]["failures"]) == (None, 0)
    assert "stale" not in await shop.data("getLeads")


async def test_a_lost_process_loses_its_claim(shop: Shop, queue: SyncQueue, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next one takes over when the lease ends; what the first one says then is too late."""
    lost = await queue.claim()
    assert lost is not None
    passed(shop, 3)
    assert await queue.claim() is None
    shop.rows("update ads_syncs set lease_until = maas_now() - interval '1 s' where id = %s returning 1", lost["id"])
    taken = await queue.claim(lost["id"])
    assert taken is not None and taken["owner"] != lost["owner"]
    monkeypatch.setattr("maas.assistants.ads.sync_queue.RENEWAL_INTERVAL_S", 0.0)
    with pytest.raises(MaasError, match="has taken this sync over"):
        await queue.run(lost, lambda *_: None)
    (row,) = shop.rows("select owner, failures from ads_syncs where id = %s", lost["id"])
    assert (row["owner"], row["failures"]) == (taken["owner"], 2)


async def test_an_orchestrator_does_it_in_the_background(shop: Shop, shop_deps: Deps) -> None:
    syncing = asyncio.create_task(keep_syncing(shop_deps))
    try:
        query = (
            "select count(*) from v_ads_connections where user_id = %s and synced_at is not null having count(*) = 2"
        )
        await apoll(lambda: shop.rows(query, shop.user), what="both services are read")
    finally:
        syncing.cancel()
        with suppress(asyncio.CancelledError):
            await syncing
    assert len(shop.rows("select from leads where user_id = %s", shop.user)) == 1


async def test_a_process_that_is_stopped_gives_its_claim_back(shop: Shop, crm: Running, queue: SyncQueue) -> None:
    """So that a restart does not make it wait for the end of a lease."""
    crm.fault("hang", path="/leads", times=9)
    claimed = await queue.claim(syncs(shop)["amoCRM"]["id"])
    assert claimed is not None
    running = asyncio.create_task(queue.run(claimed, lambda *_: None))
    await apoll(lambda: crm.journal("GET", "/leads"), what="amoCRM is asked")
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    left = syncs(shop)["amoCRM"]
    assert (left["owner"], left["failures"], left["begun_at"]) == (None, 0, None)
    assert await queue.claim(claimed["id"]) is not None


async def test_old_data_is_said_to_be_old(shop: Shop) -> None:
    """By every tool that reads it, and without a token, too, which brings nothing new."""
    shop.add("whatsapp_integration", user_account_id=shop.account, instance="main")
    direction = shop.direction()
    creatives = [str(shop.creative(title, direction=direction)) for title in ("Лето", "Зима")]
    lead = shop.lead(1)
    shop.message(lead)
    (chat,) = shop.rows("select id from whatsapp_chats where user_id = %s", shop.user)
    one, creative, dialog = {"lead_id": str(lead)}, {"creative_id": creatives[0]}, {"dialog_id": str(chat["id"])}
    of_direction = {"direction_id": str(direction)}
    wanted: list[tuple[str, dict[str, Any]]] = [
        *((name, {}) for name in ("getLeads", "getFunnelStats", "getSalesQuality", "getDialogs", "getDirections")),
        *((name, {}) for name in ("getCreatives", "getTopCreatives", "getWorstCreatives", "getROIReport")),
        *((name, creative) for name in ("getCreativeDetails", "getCreativeMetrics")),
        ("compareCreatives", {"creative_ids": creatives}),
        ("getLeadDetails", one),
        ("getDialogMessages", dialog),
        ("searchDialogSummaries", {"query": "кухня"}),
        ("getDirectionDetails", of_direction),
    ]
    for table in ("ad_accounts", "crm_integration", "whatsapp_integration"):
        old = f"update {table} set synced_at = maas_now() - interval '2 days' where user_id = %s returning 1"
        shop.rows(old, shop.user)
    assert [name for name, arguments in wanted if "stale" not in await shop.data(name, arguments)] == []
    assert "synced_at" not in await shop.data("getDirectionMetrics", of_direction)
    shop.rows("delete from user_secrets where user_id = %s returning 1", shop.user)
    wanted.append(("getDirectionMetrics", of_direction))
    assert [name for name, arguments in wanted if "stale" not in await shop.data(name, arguments)] == []


async def test_what_is_connected_no_longer_is_not_claimed(shop: Shop, queue: SyncQueue) -> None:
    for _ in range(2):
        shop.add("whatsapp_integration", user_account_id=shop.account, instance="main")
        assert "WhatsApp" in syncs(shop)
        shop.rows("delete from whatsapp_integration where user_id = %s returning 1", shop.user)
        shop.rows("delete from crm_integration where user_id = %s returning 1", shop.user)
        assert list(syncs(shop)) == ["Facebook"]
