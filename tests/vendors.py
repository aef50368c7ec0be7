"""Clients of vendors at their stand-ins, for the tests of all of them: what to read, what to write, short limits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import httpx2

from maas.assistants.ads.clients.amocrm import AmoCrmClient
from maas.assistants.ads.clients.evolution import EvolutionClient
from maas.assistants.ads.clients.facebook import FacebookClient
from shared.vendors.service import Limits
from tests.standins.running import Kind

SECRET = "EAAB0123456789abcdefghijkl"
PHONE = "+7 912 345-67-89"
LIMITS = Limits(max_bytes=200_000, first_pause_s=0.01, max_pause_s=0.2)  # the usual times, but for pauses
SHORT = Limits(connect_s=5, read_s=0.4, total_s=0.8)  # of requests that get no answer
FACEBOOK: dict[str, Any] = {
    "tokens": {SECRET: ["act_1", "act_2"]},
    "today": "2026-11-20",
    "accounts": {
        "act_1": {"name": "Стройка", "currency": "USD", "timezone_name": "Europe/Moscow", "account_status": 1},
        "act_2": {
            "name": "Йены", "currency": "JPY", "timezone_name": "Asia/Tokyo", "account_status": 1, "disable_reason": 3,
        },
        "act_3": {"name": "Чужой", "currency": "USD", "timezone_name": "UTC", "account_status": 1},
    },
    "campaigns": {
        "11": {"account_id": "act_1", "name": "Заявки", "status": "ACTIVE", "objective": "OUTCOME_LEADS"},
        "12": {"account_id": "act_1", "name": "Охват", "status": "PAUSED", "daily_budget": 9000},
        "13": {"account_id": "act_1", "name": "Удалена", "status": "DELETED"},
        "19": {"account_id": "act_3", "name": "Чужая", "status": "ACTIVE"},
    },
    "adsets": {
        "21": {
            "campaign_id": "11", "name": "Москва", "status": "ACTIVE", "daily_budget": 5000,
            "targeting": {"geo_locations": {"countries": ["RU"]}}, "optimization_goal": "LEAD_GENERATION",
            "billing_event": "IMPRESSIONS", "promoted_object": {"page_id": "777"},
        },
        "22": {"campaign_id": "12", "name": "Все", "status": "ACTIVE"},
    },
    "creatives": {"41": {"account_id": "act_1", "name": "Дом"}, "49": {"account_id": "act_3", "name": "Чужой"}},
    "ads": {
        "31": {"adset_id": "21", "name": "Дом у леса", "status": "ACTIVE", "creative_id": "41"},
        "32": {"adset_id": "21", "name": "Дом у реки", "status": "PAUSED", "creative_id": "41"},
        "33": {"adset_id": "22", "name": "Без креатива", "status": "ACTIVE"},
    },
    "days": {
        "31": {
            "2026-11-18": {
                "spend": "10.10", "impressions": 1000, "clicks": 30, "leads": 3, "video_views": 400, "p25": 200,
                "p50": 100, "p75": 50, "p95": 20,
            },
            "2026-11-19": {"spend": "5.05", "impressions": 500, "clicks": 10, "leads": 1},
        },
        "32": {"2026-11-18": {"spend": "1.00", "impressions": 100, "clicks": 1}},
        "33": {"2026-11-19": {"spend": "2.00", "impressions": 50}},
    },
}  # fmt: skip


AMOCRM: dict[str, Any] = {
    "tokens": [SECRET],
    "now": 1_763_600_000,
    "pipelines": {
        "2": {
            "name": "Повторные", "sort": 20,
            "statuses": {"21": {"name": "Звонок", "sort": 10}, "142": {"name": "Успех", "sort": 10000}},
        },
        "1": {
            "name": "Продажи", "sort": 10,
            "statuses": {
                "12": {"name": "Замер", "sort": 20}, "11": {"name": "Новая", "sort": 10},
                "142": {"name": "Успех", "sort": 10000},
            },
        },
    },
    "contacts": {"501": {"name": "Анна", "phone": PHONE}, "502": {"name": "Без телефона"}},
    "leads": {
        "101": {
            "name": "Дом", "price": 1_500_000, "status_id": 11, "pipeline_id": 1, "created_at": 1_763_000_000,
            "updated_at": 1_763_500_300, "contact_id": 501,
        },
        "102": {
            "name": "Баня", "status_id": 12, "pipeline_id": 1, "created_at": 1_763_000_100, "updated_at": 1_763_500_100,
            "contact_id": 502,
        },
        "103": {
            "name": None, "price": None, "status_id": 21, "pipeline_id": 2, "created_at": 1_763_000_200,
            "updated_at": 1_763_500_200,
        },
    },
}  # fmt: skip
JID = "79123456789@s.whatsapp.net"
EVOLUTION: dict[str, Any] = {
    "api_key": SECRET,
    "now": 1_763_600_000,
    "instances": {
        "shop": {
            "chats": {
                JID: {"name": "Анна", "updated_at": "2025-11-19T10:00:00.000Z"},
                "79990000000@s.whatsapp.net": {},
                "12036304@g.us": {"name": "Группа", "updated_at": "2025-11-19T11:00:00.000Z"},
                "79995550000@s.whatsapp.net": {"name": "Борис", "updated_at": "2025-11-20T10:00:00.000Z"},
            },
            "messages": {
                JID: [
                    {"id": "M1", "text": "Сколько стоит дом?", "at": 1_763_500_000},
                    {"id": "M2", "text": "От 3 млн", "at": 1_763_500_100, "is_outgoing": True},
                    {"id": "M3", "at": 1_763_500_200, "kind": "audioMessage"},
                    {"id": "M4", "at": 1_763_500_300, "kind": "reactionMessage"},
                    {"id": "M5", "text": "План", "at": 1_763_500_400, "kind": "imageMessage"},
                ],
            },
            "without_whatsapp": ["+7 900 000-00-01"],
        },
        "closed": {"state": "close"},
    },
}


@dataclass(frozen=True, slots=True)
class Subject:
    """A client with a read, a write, and the method and a part of the path of that write."""

    kind: Kind
    fixture: dict[str, Any]
    open: Callable[[httpx2.AsyncClient, str, Limits], Any]
    read: Callable[[Any], Awaitable[Any]]
    write: Callable[[Any], Awaitable[Any]]
    write_method: str
    write_path: str


def facebook(http: httpx2.AsyncClient, url: str, limits: Limits = LIMITS) -> FacebookClient:
    return FacebookClient(http, SECRET, url, "v24.0", limits)


def amocrm(http: httpx2.AsyncClient, url: str, limits: Limits = LIMITS) -> AmoCrmClient:
    return AmoCrmClient(http, url, SECRET, limits)


def evolution(http: httpx2.AsyncClient, url: str, limits: Limits = LIMITS) -> EvolutionClient:
    return EvolutionClient(http, url, "shop", SECRET, limits)


SUBJECTS = [
    Subject(
        "facebook", FACEBOOK, facebook, lambda client: client.account("act_1"),
        lambda client: client.set_status("31", "PAUSED"), "POST", "/31",
    ),
    Subject(
        "amocrm", AMOCRM, amocrm, lambda client: client.stages(), lambda client: client.set_stage(101, 12),
        "PATCH", "/101",
    ),
    Subject(
        "evolution", EVOLUTION, evolution, lambda client: client.chats(),
        lambda client: client.send_text("79123456789", "Добрый день!"), "POST", "/sendText",
    ),
]  # fmt: skip
