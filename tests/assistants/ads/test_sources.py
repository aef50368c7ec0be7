"""Which ad brought a lead: forms, UTM marks of the CRM, and dialogues that began with a tap on an ad."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from maas.assistants.ads.sync_queue import SyncQueue
from maas.settings import load_settings
from tests.assistants.ads.shop import NOW, Shop
from tests.standins.running import Running, standin

KEY = "evolutionkey0123456789"
LID = "119876543210987@lid"
NUMBER = "77015551122"


@pytest.fixture(scope="module")
def whatsapp_server() -> Iterator[Running]:
    with standin("evolution", {"api_key": KEY, "instances": {"main": {"chats": {}, "messages": {}}}}) as running:
        yield running


@pytest.fixture
def whatsapp(whatsapp_server: Running) -> Running:
    whatsapp_server.reset()
    return whatsapp_server


@pytest.fixture
def business(shop: Shop, crm: Running, whatsapp: Running) -> Shop:
    """Connected to all three services, with nothing in its tables; the CRM has no lead."""
    crm.merge({"leads": {"5001": {"is_deleted": True}}})
    shop.add("whatsapp_integration", user_account_id=shop.account, instance="main")
    return shop


async def sync(business: Shop, facebook: Running, whatsapp: Running) -> tuple[dict[str, int], list[str]]:
    """What was stored, by kind, and what failed."""
    settings = load_settings(fb_base_url=facebook.url, evolution_base_url=whatsapp.url, evolution_api_key=KEY)
    counts: dict[str, int] = {}

    def report(kind: str, rows: int) -> None:
        counts[kind] = counts.get(kind, 0) + rows

    queue = SyncQueue(business.deps.db, settings)
    try:
        return counts, await queue.run_all(business.user, None, report, print)
    finally:
        await queue.close()


def write(whatsapp: Running, jid: str, *messages: dict[str, Any]) -> None:
    """Messages of a chat, the oldest first."""
    start = int(NOW.timestamp()) - 3600
    stored = [{"id": f"{jid}{n}", "text": "Сколько стоит?", "at": start + n} | one for n, one in enumerate(messages)]
    instance = {"chats": {jid: {"name": "Айгуль", "updated_at": NOW.isoformat()}}, "messages": {jid: stored}}
    whatsapp.merge({"instances": {"main": instance}})


def leads(business: Shop) -> list[dict[str, Any]]:
    return business.rows(
        "select l.name, l.phone_digits, l.crm_lead_id, l.source_ad_fb_id, l.messages_in, l.is_engaged, c.title "
        "from leads l left join user_creatives c on c.id = l.source_creative_id where l.user_id = %s "
        "order by l.created_at, l.id",
        business.user,
    )


def crm_lead(number: int, phone: str | None = None, **more: Any) -> dict[str, Any]:
    at = int(NOW.timestamp()) - 7200 + number
    lead = {"name": f"Лид {number}", "price": 0, "status_id": 11, "pipeline_id": 1, "created_at": at, "updated_at": at}
    return {
        "leads": {str(number): lead | ({"contact_id": number} if phone else {}) | more},
        "contacts": {str(number): {"name": "Клиент", "phone": phone}} if phone else {},
    }


async def test_creatives_of_ads_are_stored_and_have_figures(
    business: Shop, facebook: Running, whatsapp: Running
) -> None:
    """By the name at Facebook, else that of the ad; two ads with one creative are one."""
    facebook.merge(
        {
            "creatives": {"71": {"name": "Балкон за неделю", "video_id": "7001"}},
            "ads": {"124": {"adset_id": "113", "name": "Повтор", "status": "ACTIVE", "creative_id": "71"}},
        }
    )
    for _ in range(2):
        _, failures = await sync(business, facebook, whatsapp)
        assert failures == []
    query = "select title, media_type, fb_creative_id, fb_video_id from user_creatives where user_id = %s order by 1"
    assert business.rows(query, business.user) == [
        {"title": "Балкон за неделю", "media_type": "video", "fb_creative_id": "71", "fb_video_id": "7001"},
        {"title": "Фото", "media_type": "image", "fb_creative_id": "72", "fb_video_id": None},
    ]
    report = await business.data("getROIReport")
    assert {one["name"]: one["spend"] for one in report["creatives"]} == {"Балкон за неделю": 30, "Фото": 60}


async def test_a_dialogue_that_an_ad_began_is_a_lead_of_its_creative(
    business: Shop, facebook: Running, whatsapp: Running
) -> None:
    write(whatsapp, f"{NUMBER}@s.whatsapp.net", {"ad": "121"}, {"is_outgoing": True}, {"ad": "122"})
    await sync(business, facebook, whatsapp)
    counts, _ = await sync(business, facebook, whatsapp)
    (lead,) = leads(business)
    assert (lead["phone_digits"], lead["title"], lead["source_ad_fb_id"]) == (NUMBER, "Видео", "121")
    assert (lead["name"], lead["messages_in"], lead["is_engaged"]) == ("Айгуль", 2, True)
    assert "leads with a creative" not in counts, "it was found by the first sync"


@pytest.mark.parametrize("is_in_crm_first", [True, False])
async def test_a_lead_of_the_crm_is_the_person_who_tapped_an_ad(
    business: Shop, facebook: Running, crm: Running, whatsapp: Running, is_in_crm_first: bool
) -> None:
    """Once, whichever service was read first."""
    if not is_in_crm_first:
        write(whatsapp, LID, {"ad": "121", "number": NUMBER})
        await sync(business, facebook, whatsapp)
    crm.merge(crm_lead(6001, "8 (701) 555-11-22"))
    write(whatsapp, LID, {"ad": "121", "number": NUMBER}, {"number": NUMBER})
    await sync(business, facebook, whatsapp)
    (lead,) = leads(business)
    assert (lead["crm_lead_id"], lead["title"], lead["messages_in"]) == ("6001", "Видео", 2)


async def test_any_phone_of_a_contact_is_the_persons(
    business: Shop, facebook: Running, crm: Running, whatsapp: Running
) -> None:
    """Whichever service was read first, and also when the number comes to a known lead later."""
    old, new = business.lead(days_ago=0.01, phone="+7 701 555 11 22"), "77015551133"
    for number, phone in ((6001, "8 (701) 555-11-22"), (6002, "+7 701 555 11 33"), (6003, None)):
        lead = crm_lead(number, "+7 727 2" + str(number) * 2)
        lead["contacts"][str(number)]["phone"] = phone
        lead["contacts"][str(number)]["other_phone"] = "+7 727 26" + str(number)
        crm.merge(lead)
    for jid in (f"{NUMBER}@s.whatsapp.net", f"{new}@s.whatsapp.net", "77015551144@s.whatsapp.net"):
        write(whatsapp, jid, {}, {})
        await sync(business, facebook, whatsapp)
    crm.merge(
        {
            "contacts": {"6003": {"phone": "+7 701 555 11 44"}},
            "leads": {"6003": {"updated_at": int(NOW.timestamp())}},
        }
    )
    await sync(business, facebook, whatsapp)
    query = "select id, crm_lead_id, messages_in from leads where user_id = %s order by crm_lead_id"
    found = business.rows(query, business.user)
    assert [(one["crm_lead_id"], one["messages_in"]) for one in found] == [("6001", 2), ("6002", 2), ("6003", 2)]
    assert found[0]["id"] == old


async def test_a_lead_that_the_crm_deletes_is_none(
    business: Shop, facebook: Running, crm: Running, whatsapp: Running
) -> None:
    """Its dialogue goes to the person's other lead; who filled in a form is a lead still; what comes back counts."""
    business.lead(fb_lead_id="f1", phone="+7 701 555 11 33")
    for number, phone in ((6001, NUMBER), (6002, NUMBER), (6003, "77015551133"), (6004, None)):
        crm.merge(crm_lead(number, phone, status_id=142, price=900))
    write(whatsapp, f"{NUMBER}@s.whatsapp.net", {}, {})
    await sync(business, facebook, whatsapp)
    query = (
        "select crm_lead_id, fb_lead_id, messages_in, revenue, is_qualified from leads where user_id = %s order by 1"
    )
    assert [tuple(one.values()) for one in business.rows(query, business.user)] == [
        ("6001", None, 2, 900, True),
        ("6002", None, 0, 900, True),
        ("6003", "f1", 0, 900, True),
        ("6004", None, 0, 900, True),
    ]
    at = int(NOW.timestamp())
    deleted = {str(one): {"is_deleted": True, "updated_at": at} for one in (6001, 6003, 6004)}
    crm.merge({"leads": deleted})
    counts, failures = await sync(business, facebook, whatsapp)
    assert (counts["deleted leads"], failures) == (3, [])
    assert [tuple(one.values()) for one in business.rows(query, business.user)] == [
        ("6002", None, 2, 900, True),
        (None, "f1", 0, 0, False),
    ]
    crm.merge({"leads": {"6004": {"is_deleted": False}}})
    await sync(business, facebook, whatsapp)
    assert [one["crm_lead_id"] for one in business.rows(query, business.user)] == ["6002", "6004", None]


@pytest.mark.parametrize("known", [{"number": NUMBER}, {"sender": NUMBER}])
async def test_an_address_of_the_kind_lid_has_the_number_that_whatsapp_tells(
    business: Shop, facebook: Running, whatsapp: Running, known: dict[str, str]
) -> None:
    lead = business.lead(phone="8 701 555 11 22")
    write(whatsapp, LID, known, {"is_outgoing": True, "sender": "77770000000"}, known)
    await sync(business, facebook, whatsapp)
    (chat,) = business.rows("select number, lead_id from whatsapp_chats where user_id = %s", business.user)
    assert chat == {"number": NUMBER, "lead_id": lead}
    assert business.rows("select messages_in from leads where id = %s", lead) == [{"messages_in": 2}]


async def test_the_digits_of_the_kind_lid_are_no_number(business: Shop, facebook: Running, whatsapp: Running) -> None:
    """Who wrote because of an ad, but tells no number, is not made a lead: the CRM may have the person already."""
    write(whatsapp, LID, {"ad": "121"}, {"is_outgoing": True, "sender": NUMBER})
    await sync(business, facebook, whatsapp)
    query = "select number, lead_id, source_ad_fb_id from whatsapp_chats where user_id = %s"
    assert business.rows(query, business.user) == [{"number": None, "lead_id": None, "source_ad_fb_id": "121"}]
    assert leads(business) == []


@pytest.mark.parametrize(
    ("utm", "title"),
    [
        ({"utm_source": "facebook", "utm_content": "122"}, "Фото"),
        ({"utm_campaign": "122", "utm_content": "ВИДЕО "}, "Фото"),
        ({"utm_content": " видео"}, "Видео"),
        ({"utm_content": "999"}, None),
        ({"utm_content": ["122"]}, None),
        ({"utm_content": "Двойник"}, None),
    ],
)
async def test_utm_marks_of_the_crm_name_the_ad(
    business: Shop, facebook: Running, crm: Running, whatsapp: Running, utm: dict[str, Any], title: str | None
) -> None:
    """By its id, else by its name if no other ad has it."""
    twins = {one: {"adset_id": "111", "name": "Двойник", "status": "ACTIVE", "creative_id": "71"} for one in "78"}
    facebook.merge({"ads": twins})
    crm.merge(crm_lead(6001, utm=utm))
    await sync(business, facebook, whatsapp)
    assert [one["title"] for one in leads(business)] == [title]


async def test_the_currency_of_the_crm_is_read(
    business: Shop, facebook: Running, crm: Running, whatsapp: Running
) -> None:
    crm.merge({"currency": "KZT"})
    await sync(business, facebook, whatsapp)
    assert business.rows("select currency from crm_integration where user_id = %s", business.user) == [
        {"currency": "KZT"}
    ]


async def test_what_is_known_of_a_lead_stays(
    business: Shop, facebook: Running, crm: Running, whatsapp: Running
) -> None:
    """Neither a mark nor a dialogue changes the creative that another system has given."""
    mine = business.creative("Из таблицы", "70")
    business.lead(crm_lead_id="6001", source_creative_id=mine)
    crm.merge(crm_lead(6001, utm={"utm_content": "122"}))
    await sync(business, facebook, whatsapp)
    assert [one["title"] for one in leads(business)] == ["Из таблицы"]


async def test_results_say_when_their_tables_were_filled(
    business: Shop, facebook: Running, crm: Running, whatsapp: Running
) -> None:
    """A service that never was read to the end, or not within a day, is said in words."""
    crm.fault("status", path="/leads", status=400, times=9)
    await sync(business, facebook, whatsapp)
    data = await business.data("getSalesQuality")
    assert data["synced_at"]["crm"] is None and "the tables of crm" in data["stale"]
    crm.clear_faults()
    await sync(business, facebook, whatsapp)
    for name in ("getSalesQuality", "getTopCreatives", "getROIReport"):
        data = await business.data(name)
        assert "stale" not in data or "crm" not in data["stale"], name
        assert data["synced_at"]["crm"] == "2026-11-20T17:00+05:00", name
    query = "update crm_integration set synced_at = synced_at - interval '25 h' where user_id = %s returning 1"
    business.rows(query, business.user)
    assert "the tables of crm were not filled within a day" in (await business.data("getTopCreatives"))["stale"]


def form_lead(fb_id: str, phone: str, days_ago: float = 2) -> dict[str, Any]:
    answers = [{"name": "phone_number", "values": [phone]}, {"name": "full_name", "values": ["Болат"]}]
    return {"id": fb_id, "created_time": (NOW - timedelta(days=days_ago)).isoformat(), "field_data": answers}


async def test_forms_of_facebook_bring_leads(
    business: Shop, facebook: Running, crm: Running, whatsapp: Running
) -> None:
    """Whom the CRM has is one lead with that, whichever was read first; who fills in again is a lead again."""
    crm.merge(crm_lead(1, "8 701 000 00 01"))
    forms = {"121": [form_lead("f1", "+77010000001"), form_lead("f2", "+77010000002")]}
    facebook.merge({"forms": forms})
    counts, failed = await sync(business, facebook, whatsapp)
    assert (counts["leads by forms"], failed) == (2, [])
    crm.merge(crm_lead(2, "701 000 00 02"))
    again = [*forms["121"], form_lead("f3", "+77010000002", 0.6)]
    facebook.merge({"forms": {"121": again, "122": [form_lead("f4", "", 0.5)]}})
    for _ in range(2):
        assert (await sync(business, facebook, whatsapp))[1] == []
    query = "select fb_lead_id, crm_lead_id, source_ad_fb_id, source_creative_id is not null as has_creative from leads"
    stored = business.rows(f"{query} where user_id = %s order by 1", business.user)
    assert [tuple(row.values()) for row in stored] == [
        ("f1", "1", "121", True),
        ("f2", None, "121", True),
        ("f3", "2", "121", True),
        ("f4", None, "122", True),
    ]


async def test_forms_without_the_permission_stop_nothing_else(
    business: Shop, facebook: Running, crm: Running, whatsapp: Running
) -> None:
    facebook.merge({"forms_are_forbidden": True})
    crm.merge(crm_lead(1))
    _, (failed,) = await sync(business, facebook, whatsapp)
    assert "lead forms of Facebook: " in failed and "leads_retrieval" in failed
    assert len(leads(business)) == 1
