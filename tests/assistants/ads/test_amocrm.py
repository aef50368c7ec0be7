"""The client of amoCRM at its stand-in: pages that nothing falls out of, phones of contacts, stages, empty lists."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from maas.assistants.ads.clients.amocrm import _LEADS, AmoCrmClient, CrmLead, Stage
from shared.bounded_http import MAX_VENDOR_REPLY_BYTES, open_bounded
from shared.vendors import VendorError
from tests.standins.running import Running, standin
from tests.vendors import AMOCRM, LIMITS, PHONE, amocrm


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    with standin("amocrm", AMOCRM) as running:
        yield running


@pytest.fixture
def vendor(running: Running) -> Running:
    running.reset()
    return running


@pytest.fixture
async def client(vendor: Running) -> AsyncIterator[AmoCrmClient]:
    async with open_bounded(MAX_VENDOR_REPLY_BYTES) as http:
        yield amocrm(http, vendor.url)


def at(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


async def pages(client: AmoCrmClient, since: datetime | None = None) -> list[list[int]]:
    return [[lead.crm_id for lead in page] async for page in client.leads(since)]


async def failure(coroutine: Any) -> VendorError:
    with pytest.raises(VendorError) as caught:
        await coroutine
    return caught.value


def leads(number: int, same_second: int = 1) -> dict[str, Any]:
    """So many leads, `same_second` of them updated in each second."""
    usual = {"name": "Дом", "status_id": 11, "pipeline_id": 1, "created_at": 1, "contact_id": 501}
    return {str(one): usual | {"updated_at": 1_763_000_000 + one // same_second} for one in range(1000, 1000 + number)}


async def test_leads(client: AmoCrmClient) -> None:
    """The oldest update comes first; a name and a price may be null; a contact may have no phone."""
    (page,) = [page async for page in client.leads(None)]
    assert [lead.crm_id for lead in page] == [102, 103, 101]
    assert page[2] == CrmLead(101, "Дом", 1, 11, Decimal(1_500_000), PHONE, at(1_763_000_000), at(1_763_500_300), False)
    assert [(lead.name, lead.price, lead.phone) for lead in page[:2]] == [
        ("Баня", Decimal(0), None),
        ("", Decimal(0), None),
    ]
    assert await pages(client, at(1_763_500_200)) == [[103, 101]]


async def test_no_leads(vendor: Running, client: AmoCrmClient) -> None:
    """An empty list is 204 without a body."""
    assert await pages(client, at(1_900_000_000)) == []
    vendor.merge({"pipelines": None, "contacts": None})
    assert await client.stages() == []
    assert [lead.phone for lead in [lead async for page in client.leads(None) for lead in page]] == [None] * 3


@pytest.mark.parametrize("same_second", [1, 7, 1000])
async def test_many_pages(vendor: Running, client: AmoCrmClient, same_second: int) -> None:
    """Also where more leads than a page holds were changed in one second, as by an import."""
    vendor.merge({"leads": leads(700, same_second)})
    found = await pages(client)
    assert len(found) >= 3 and all(len(page) <= 250 for page in found)
    assert sorted(id_ for page in found for id_ in page) == sorted([101, 102, 103, *range(1000, 1700)])


async def test_a_lead_that_changes_meanwhile_hides_no_other(vendor: Running, client: AmoCrmClient) -> None:
    """Pages that are counted on alone would lose as many leads as were changed."""
    vendor.merge({"leads": leads(600)})
    found: list[int] = []
    async for page in client.leads(None):
        found += [lead.crm_id for lead in page]
        if len(found) == 250:
            vendor.merge({"leads": {str(one): {"updated_at": 1_763_900_000} for one in found[:20]}})
    assert set(found) == {101, 102, 103, *range(1000, 1600)}
    assert len(found) == 603 + 20  # those come again as they are now


async def test_phones_are_read_in_few_requests(vendor: Running, client: AmoCrmClient) -> None:
    contacts = {str(one): {"phone": f"+7900{one:07}"} for one in range(2000, 2200)}
    new = leads(200)
    for one, lead in zip(contacts, new.values(), strict=True):
        lead["contact_id"] = int(one)
    vendor.merge({"contacts": contacts, "leads": new})
    phones = {lead.phone async for page in client.leads(None) for lead in page}
    assert {one["phone"] for one in contacts.values()} < phones
    assert len(vendor.journal(path="/contacts")) == 2


async def test_all_phones_of_all_contacts(vendor: Running, client: AmoCrmClient) -> None:
    """Those of the main contact come first, each once."""
    lead = {"name": "Дом", "status_id": 11, "pipeline_id": 1, "created_at": 1, "updated_at": 1_763_900_000}
    vendor.merge(
        {
            "contacts": {"601": {"phone": "+7 701 000-00-01", "other_phone": "+7 727 000-00-01"}},
            "leads": {"104": lead | {"contact_id": 601}},
        }
    )
    ((found,),) = [page async for page in client.leads(at(1_763_900_000))]
    assert (found.phone, found.other_phones) == ("+7 727 000-00-01", ("+7 701 000-00-01",))


async def test_deleted_leads(vendor: Running, client: AmoCrmClient) -> None:
    assert await client.deleted_leads(None) == []
    deleted = {one: lead | {"is_deleted": True} for one, lead in leads(300).items()}
    vendor.merge({"leads": deleted})
    assert sorted(await client.deleted_leads(None)) == list(range(1000, 1300))
    assert sorted(await client.deleted_leads(at(1_763_000_000 + 1290))) == list(range(1290, 1300))
    assert await pages(client) == [[102, 103, 101]]


async def test_pages_without_an_end(vendor: Running, client: AmoCrmClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("maas.assistants.ads.clients.amocrm.MAX_PAGES", 5)
    vendor.merge({"is_endless": True, "contacts": None})
    with pytest.raises(VendorError, match="has no end"):
        await pages(client)
    vendor.merge({"leads": {"101": {"is_deleted": True}}})
    with pytest.raises(VendorError, match="has no end"):
        await client.deleted_leads(None)


async def test_lead(client: AmoCrmClient) -> None:
    lead = await client.lead(101)
    assert lead is not None and (lead.name, lead.phone) == ("Дом", PHONE)
    assert await client.lead(999) is None


async def test_no_such_lead_by_status(vendor: Running, client: AmoCrmClient) -> None:
    vendor.fault("status", status=404)
    assert await client.lead(101) is None
    vendor.fault("status", status=401)
    assert (await failure(client.lead(101))).code == "unauthorized"


async def test_stages(client: AmoCrmClient) -> None:
    assert await client.stages() == [
        Stage(1, "Продажи", 11, "Новая", 10),
        Stage(1, "Продажи", 12, "Замер", 20),
        Stage(1, "Продажи", 142, "Успех", 10000),
        Stage(2, "Повторные", 21, "Звонок", 10),
        Stage(2, "Повторные", 142, "Успех", 10000),
    ]


async def test_moving_a_lead(vendor: Running, client: AmoCrmClient) -> None:
    await client.set_stage(101, 12)
    await client.set_stage(102, 21, 2)
    moved = [await client.lead(101), await client.lead(102)]
    assert [(lead.status_id, lead.pipeline_id) for lead in moved if lead] == [(12, 1), (21, 2)]
    assert [one["body"] for one in vendor.journal("PATCH")] == [{"status_id": 12}, {"status_id": 21, "pipeline_id": 2}]


@pytest.mark.parametrize(
    ("change", "code", "word"),
    [
        ((999, 12, None), "not_found", ""),
        ((101, 21, None), "invalid", "status_id"),
        ((101, 11, 9), "invalid", "pipeline"),
    ],
)
async def test_refused_moves(
    vendor: Running, client: AmoCrmClient, change: tuple[int, int, int | None], code: str, word: str
) -> None:
    error = await failure(client.set_stage(*change))
    assert (error.code, error.is_outcome_unknown) == (code, False) and word in error.message
    assert vendor.state()["leads"] == AMOCRM["leads"]


async def test_wrong_token(vendor: Running) -> None:
    async with open_bounded(MAX_VENDOR_REPLY_BYTES) as http:
        error = await failure(AmoCrmClient(http, vendor.url, "another-token", LIMITS).stages())
    assert error.code == "unauthorized" and "another-token" not in error.message


@pytest.mark.parametrize(
    "lead",
    [
        {"id": 1},
        {"id": "../1"},
        {"id": 101, "status_id": 1, "pipeline_id": 1, "created_at": 1, "updated_at": "soon"},
        {"id": 101, "status_id": 1, "pipeline_id": 1, "created_at": 1, "updated_at": 10**30},
        {"id": 101, "status_id": 1, "pipeline_id": 1, "created_at": 1, "updated_at": 1, "price": "NaN"},
    ],
)
def test_bad_leads(lead: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="validation error"):
        _LEADS({"_embedded": {"leads": [lead]}})
