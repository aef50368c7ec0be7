"""`maas ads sync`: what the services have is stored once, and each service is read on from where the last one ended."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4
from zoneinfo import ZoneInfo

import pytest

from tests.assistants.ads.marketer import CRM_TOKEN, FACEBOOK, JID, OTHER_JID, TOKEN, WHATSAPP_KEY, Marketer, marketer
from tests.polling import poll
from tests.stack import ROOT, maas
from tests.standins.running import Running, standin

VIDEO = {"video_views": 900, "p25": 600, "p50": 400, "p75": 200, "p95": 90}


def now() -> datetime:
    return datetime.now(UTC)


def today() -> date:
    """The day in the zone of the account."""
    return datetime.now(ZoneInfo("Asia/Almaty")).date()


def stamp(**ago: float) -> int:
    return int((now() - timedelta(**ago)).timestamp())


def day(days_ago: int, spend: str = "20.00", leads: int = 10) -> dict[str, Any]:
    figures = {"spend": spend, "impressions": 4000, "clicks": 80, "leads": leads} | VIDEO
    return {(today() - timedelta(days=days_ago)).isoformat(): figures}


def lead(number: int, status: int = 11, changed: int = 100) -> dict[str, Any]:
    return {
        "name": f"Лид {number}",
        "price": 500,
        "status_id": status,
        "pipeline_id": 1,
        "contact_id": number,
        "created_at": stamp(hours=200),
        "updated_at": stamp(hours=changed),
    }


def amocrm(count: int) -> dict[str, Any]:
    statuses = {"11": {"name": "Новый", "sort": 10}, "12": {"name": "Замер", "sort": 20}}
    return {
        "tokens": [CRM_TOKEN],
        "pipelines": {"1": {"name": "Продажи", "sort": 1, "statuses": statuses}},
        "leads": {str(number): lead(number, changed=1000 - number % 900) for number in range(1, count + 1)},
        "contacts": {str(n): {"name": f"Клиент {n}", "phone": f"+7701{n:07}"} for n in range(1, count + 1)},
    }


def message(number: int, hours_ago: float, *, is_outgoing: bool = False) -> dict[str, Any]:
    text = f"Сообщение {number}"
    return {"id": f"m{number}", "text": text, "at": stamp(hours=hours_ago), "is_outgoing": is_outgoing}


@pytest.fixture
def crm() -> Iterator[Running]:
    with standin("amocrm", amocrm(3)) as running:
        yield running


@pytest.fixture
def business(database: str, tmp_path: Path, crm: Running) -> Iterator[Marketer]:
    """Connected to all three services; a direction whose ad set spends, and a creative that its ad shows."""
    days = {"121": day(2) | day(1) | day(40)}
    with marketer(database, tmp_path, FACEBOOK | {"today": today().isoformat(), "days": days}) as one:
        one.direction(key_stage_ids=["12"])
        one.creative()
        chats = {JID: {"name": "Айгуль", "updated_at": (now() - timedelta(hours=1)).isoformat()}}
        messages = {JID: [message(2, 1), message(1, 2, is_outgoing=True)]}
        one.whatsapp.merge({"instances": {"main": {"chats": chats, "messages": messages}}})
        add = ("--fb", "act_1", "--token-env", "FB", "--crm", crm.url, "--crm-token-env", "CRM", "--whatsapp", "main")
        words = ("ads", "connect", "--user", str(one.user), "--name", "Кухни", *add, "--no-sync")
        added = maas(one.stack, *words, **environment(one), FB=TOKEN, CRM=CRM_TOKEN)
        assert added.returncode == 0, added.stderr
        yield one


def environment(business: Marketer) -> dict[str, str]:
    return {
        "FB_BASE_URL": business.facebook.url,
        "FB_API_VERSION": "v24.0",
        "EVOLUTION_BASE_URL": business.whatsapp.url,
        "EVOLUTION_API_KEY": WHATSAPP_KEY,
    }


def sync(business: Marketer, *more: str) -> subprocess.CompletedProcess[str]:
    return maas(business.stack, "ads", "sync", "--user", str(business.user), *more, **environment(business))


def syncs(business: Marketer, *more: str) -> str:
    listed = maas(business.stack, "ads", "syncs", *more, **environment(business) | {"MAAS_ADS_SYNC_INTERVAL": "0"})
    assert listed.returncode == 0, listed.stderr
    return " ".join(listed.stdout.split())


def rows(business: Marketer, columns: str, table: str, order: str = "1") -> list[dict[str, Any]]:
    query = f"select {columns} from {table} where user_id = %s order by {order}"
    return business.stack.rows(query, business.user)


def everything(business: Marketer) -> dict[str, list[dict[str, Any]]]:
    names = (
        "campaigns",
        "adsets",
        "ads",
        "ad_creative_mapping",
        "adset_metrics_history",
        "creative_metrics_history",
        "direction_metrics_daily",
        "crm_stages",
        "leads",
        "whatsapp_messages",
        "whatsapp_chats",
    )
    return {name: rows(business, f"{name}::text as row", name) for name in names}


def test_everything_is_stored_once(business: Marketer, crm: Running) -> None:
    synced = sync(business)
    assert (synced.returncode, synced.stdout) == (
        0,
        "ad sets 1, ads 1, days of ad sets 3, days of ads 3, stages 2, leads 3, messages 2\n",
    ), synced.stderr
    stored = everything(business)
    counts = {name: len(found) for name, found in stored.items()}
    assert counts == {
        "campaigns": 1,
        "adsets": 1,
        "ads": 1,
        "ad_creative_mapping": 1,
        "adset_metrics_history": 3,
        "creative_metrics_history": 3,
        "direction_metrics_daily": 3,
        "crm_stages": 2,
        "leads": 3,
        "whatsapp_messages": 2,
        "whatsapp_chats": 1,
    }
    (first, *_) = rows(business, "day, spend, leads, video_views, p95", "creative_metrics_history", "day desc")
    assert (first["day"], first["spend"], first["leads"]) == (today() - timedelta(days=1), 20, 10)
    assert (first["video_views"], first["p95"]) == (900, 90)
    (chat,) = rows(business, "name, messages_in, messages_out, synced_to", "whatsapp_chats")
    assert (chat["name"], chat["messages_in"], chat["messages_out"]) == ("Айгуль", 1, 1)
    (account,) = rows(business, "synced_from, synced_to", "ad_accounts")
    ends = (today() - timedelta(days=364), today() - timedelta(days=1))
    assert (account["synced_from"], account["synced_to"]) == ends
    (state,) = rows(business, "status, checked_at, synced_from", "whatsapp_integration")
    assert timedelta(days=365) <= now() - state["synced_from"] < timedelta(days=366)
    assert state["status"] == "open" and state["checked_at"] is not None
    again = sync(business)
    assert again.returncode == 0 and everything(business) == stored
    for service in (business.facebook, crm):
        assert service.journal("POST") == service.journal("PATCH") == []
    assert business.sent() == []


def test_a_second_sync_reads_what_is_new(business: Marketer, crm: Running) -> None:
    """Figures that Facebook restates, leads that have moved, dialogues with new messages; nothing older."""
    assert sync(business).returncode == 0
    business.facebook.merge({"days": {"121": day(2, "25.00", 12)}})
    crm.merge({"leads": {"2": lead(2, status=142, changed=1), "4": lead(4, status=12, changed=1)}})
    newer = [message(3, 0.1), message(2, 1), message(1, 2, is_outgoing=True)]
    chats = {JID: {"name": "Айгуль", "updated_at": now().isoformat()}}
    business.whatsapp.merge({"instances": {"main": {"chats": chats, "messages": {JID: newer}}}})
    synced = sync(business)
    assert synced.returncode == 0, synced.stderr
    days = {row["day"]: row["spend"] for row in rows(business, "day, spend", "direction_metrics_daily")}
    assert days[today() - timedelta(days=2)] == 25 and days[today() - timedelta(days=40)] == 20
    asked = [one["params"]["time_range"] for one in business.facebook.journal("GET", "insights")[-2:]]
    assert all((today() - timedelta(days=28)).isoformat() in one for one in asked), asked
    leads = {row["crm_lead_id"]: row for row in rows(business, "*", "leads")}
    assert (leads["2"]["revenue"], leads["2"]["is_qualified"], leads["2"]["stage_id"]) == (500, True, "142")
    assert (leads["4"]["reached_key_stage"], leads["1"]["reached_key_stage"]) == (True, False)
    assert "filter[updated_at][from]" in str(crm.journal("GET", "/leads")[-1]["params"])
    assert len(rows(business, "id", "whatsapp_messages")) == 3


def test_a_lead_of_another_source_is_linked_by_its_phone(business: Marketer) -> None:
    mine = business.add("leads", user_account_id=business.account, fb_lead_id="f1", phone="+7 701 000-00-02")
    assert sync(business).returncode == 0
    found = {row["crm_lead_id"]: row["id"] for row in rows(business, "id, crm_lead_id", "leads")}
    assert found["2"] == mine and len(found) == 3


def test_a_service_that_fails_stops_no_other(business: Marketer, crm: Running) -> None:
    """It is named without its token; the next sync reads what is missing."""
    crm.fault("status", path="/leads", status=401, message=f"bad {CRM_TOKEN}", times=99)
    failed = sync(business)
    assert failed.returncode == 1 and "Кухни, amoCRM: amoCRM does not accept the access token" in failed.stderr
    assert CRM_TOKEN not in failed.stderr + failed.stdout and "Traceback" not in failed.stderr
    assert rows(business, "id", "leads") == [] and len(rows(business, "id", "whatsapp_messages")) == 2
    crm.clear_faults()
    assert sync(business).returncode == 0 and len(rows(business, "id", "leads")) == 3


def test_a_service_without_its_token_is_named(business: Marketer) -> None:
    deleted = business.stack.rows("delete from user_secrets where name like 'facebook%' returning name")
    assert len(deleted) == 1
    failed = sync(business)
    assert failed.returncode == 1 and "Кухни, Facebook: its token is missing" in failed.stderr
    assert rows(business, "id", "adsets") == [] and len(rows(business, "id", "leads")) == 3


def test_doctor_says_what_lacks_a_token_or_is_old(business: Marketer) -> None:
    """By service, with the users; no names, and no tokens."""

    def doctor() -> str:
        return " ".join(maas(business.stack, "doctor", **environment(business)).stdout.split())

    line = "note ad accounts: Facebook 1{}; WhatsApp 1{}; amoCRM 1{}; maas ads syncs shows all"
    old, no_token = ", 1 not synced within a day", ", 1 without a token"
    page = doctor()
    assert line.format(old, old, old) in page and f"users: {business.user}" in page, page
    assert sync(business).returncode == 0
    page = doctor()
    assert "ok ad accounts: Facebook 1; WhatsApp 1; amoCRM 1 ok" in page, page
    assert len(re.findall(r"(Facebook act_1|amoCRM|WhatsApp) \d+ s ago never by hand alone", syncs(business))) == 3
    listed = syncs(business, "--user", str(business.user), "--every", "30")
    assert len(re.findall(r"ago 30 min in 29 min|30 min in 30 min", listed)) == 3 and CRM_TOKEN not in listed, listed
    business.stack.rows("update ads_syncs set error = 'amoCRM: it is closed' where service = 'amoCRM' returning id")
    assert "amoCRM 1, 1 with a last sync that failed (amoCRM: it is closed)" in doctor()
    business.stack.rows("update ads_syncs set error = null returning id")
    business.stack.rows("update crm_integration set synced_at = now() - interval '25 hours' returning synced_at")
    business.stack.rows("delete from user_secrets where name like 'facebook%' returning name")
    page = doctor()
    assert line.format(no_token, "", old) in page and "Кухни" not in page and CRM_TOKEN not in page, page


def test_limits_of_rate_are_waited_for(business: Marketer, crm: Running) -> None:
    crm.fault("status", path="/leads", status=429, retry_after=1, times=2)
    assert sync(business).returncode == 0 and len(rows(business, "id", "leads")) == 3


@pytest.mark.parametrize("account", ["act_9", "act_77", str(UUID(int=1)), "Кухни"])
def test_an_unknown_account_is_one_error(business: Marketer, account: str) -> None:
    asked = len(business.facebook.journal())
    refused = sync(business, "--account", account)
    assert refused.returncode == 1 and "there is no such account" in refused.stderr
    assert len(business.facebook.journal()) == asked


def test_another_user_syncs_nothing(business: Marketer) -> None:
    words = ("ads", "sync", "--user", str(uuid4()), "--account", str(business.account))
    refused = maas(business.stack, *words, **environment(business))
    assert refused.returncode == 1 and rows(business, "id", "leads") == []


def test_killed_in_the_middle_it_goes_on_without_doubles(business: Marketer, crm: Running) -> None:
    """A dialogue and 2,000 leads; the leads that were stored are not asked for again."""
    crm.merge(amocrm(2000) | {"max_page": 50})
    words = [sys.executable, "-c", "from main import cli; cli()", "ads", "sync", "--user", str(business.user)]
    variables = {**os.environ, "DATABASE_URL": business.stack.dsn, **environment(business)}
    program = subprocess.Popen(words, cwd=ROOT, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    poll(lambda: len(rows(business, "id", "leads")) >= 250, 30, "some leads are stored")
    program.send_signal(signal.SIGKILL)
    program.wait()
    business.stack.rows("update ads_syncs set lease_until = now() where owner is not null returning id")
    stored = len(rows(business, "id", "leads"))
    pages = len(crm.journal("GET", "/api/v4/leads"))
    assert 250 <= stored < 2000, "it was killed too late"
    assert sync(business).returncode == 0
    leads = rows(business, "crm_lead_id", "leads")
    assert len(leads) == len({row["crm_lead_id"] for row in leads}) == 2000
    assert len(crm.journal("GET", "/api/v4/leads")) - pages <= 40 - stored // 50 + 3
    assert len(rows(business, "id", "whatsapp_messages")) == 2


def test_a_chat_that_is_older_than_the_first_sync_is_left_out(business: Marketer) -> None:
    old = {OTHER_JID: {"name": "Старый", "updated_at": (now() - timedelta(days=60)).isoformat()}}
    messages = {OTHER_JID: [message(9, 24 * 60)]}
    business.whatsapp.merge({"instances": {"main": {"chats": old, "messages": messages}}})
    assert sync(business, "--days", "30").returncode == 0
    assert [row["jid"] for row in rows(business, "jid", "whatsapp_chats")] == [JID]
    assert len(rows(business, "day", "adset_metrics_history")) == 2
    for days, stored in (("20", 29), ("60", 59)):
        assert sync(business, "--days", days).returncode == 0
        assert rows(business, "synced_from", "ad_accounts") == [{"synced_from": today() - timedelta(days=stored)}]


def test_days_can_be_read_again(business: Marketer) -> None:
    assert sync(business).returncode == 0
    business.facebook.merge({"days": {"121": day(40, "1.00", 1)}})
    assert sync(business).returncode == 0 and sync(business, "--days", "0").returncode == 2
    query = {"day": today() - timedelta(days=40), "spend": 20}
    assert query in rows(business, "day, spend", "adset_metrics_history")
    assert sync(business, "--days", "60").returncode == 0
    assert query | {"spend": 1} in rows(business, "day, spend", "adset_metrics_history")


def test_no_export_holds_it_and_erasing_deletes_it(business: Marketer) -> None:
    """Business data and tokens are no memory of the user."""
    assert sync(business).returncode == 0
    exported = maas(business.stack, "export", str(business.user)).stdout
    assert exported and not [one for one in ("Лид", "77010000001", "Сообщение", TOKEN, CRM_TOKEN) if one in exported]
    erased = maas(business.stack, "erase", str(business.user), "--yes")
    assert erased.returncode == 0, erased.stderr
    tables = business.stack.rows(
        "select c.relname as name from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'user_id' "
        "where c.relnamespace = 'maas'::regnamespace and c.relkind = 'r' and c.relname <> 'audit'"
    )
    assert {"user_accounts", "ad_accounts", "crm_integration", "user_secrets"} <= {one["name"] for one in tables}
    for one in tables:
        assert business.stack.rows(f"select from {one['name']} where user_id = %s", business.user) == [], one["name"]
