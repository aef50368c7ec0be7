"""Three months of an invented furniture maker: what Facebook and amoCRM hold of it, and rows for `maas load`.

The same seed and the same last day give the same business. Money is in US dollars.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from uuid import UUID, uuid5
from zoneinfo import ZoneInfo

NAMESPACE = UUID("6f1a0d5e-54b7-4f0a-9a55-1b1e0f0c2a11")
USER = UUID("00000000-0000-4000-8000-00000000ad50")
TOKEN, CRM_TOKEN, WHATSAPP_KEY = "EAABdemo0123456789abcdef", "eyJdemo0123456789abcdef", "demo0123456789abcdef"
FB_ACCOUNT, INSTANCE, CURRENCY, ZONE = "act_20260", "kuhni", "USD", "Asia/Almaty"
DAYS, SEED = 90, 2026
STAGES = (("11", "Новый"), ("12", "Замер"), ("13", "Договор"), ("142", "Оплата"), ("143", "Отказ"))
KEY_STAGES = ["12", "13", "142"]
NAMES = ("Айгуль", "Данияр", "Елена", "Ерлан", "Жанна", "Ирина", "Марат", "Ольга", "Руслан", "Светлана", "Тимур")
QUESTIONS = (
    "Здравствуйте, сколько стоит кухня три метра?",
    "А замер платный?",
    "Какие сроки?",
    "Можно в рассрочку?",
    "Пришлите примеры работ, пожалуйста",
    "Когда сможет приехать замерщик?",
)


@dataclass(frozen=True, slots=True)
class Direction:
    name: str
    adset: str
    campaign: str
    budget: int
    target: float


@dataclass(frozen=True, slots=True)
class Creative:
    """`cpl` in dollars; shares of its leads that engage, and of the engaged that buy; the mean price of an order."""

    number: int
    title: str
    direction: int
    daily_spend: float
    cpl: float
    engaged: float
    buys: float
    price: int
    retention: tuple[float, float, float, float]
    transcript: str

    @property
    def id(self) -> UUID:
        return uuid5(NAMESPACE, f"creative {self.number}")


DIRECTIONS = (
    Direction("Кухни", "111", "101", 6000, 9),
    Direction("Шкафы", "112", "101", 4000, 7),
    Direction("Гардеробные", "113", "102", 3000, 11),
)
CREATIVES = (
    Creative(1, "Кухня за 14 дней", 0, 24, 5.0, 0.62, 0.20, 900, (0.61, 0.42, 0.27, 0.18),
             "Кухня за четырнадцать дней, или мы вернём десять процентов. Замер бесплатно."),
    Creative(2, "До и после", 0, 18, 3.1, 0.30, 0.06, 700, (0.72, 0.51, 0.30, 0.22),
             "Посмотрите, какой была эта кухня и какой стала."),
    Creative(3, "Скидка 30 %", 0, 15, 2.2, 0.11, 0.03, 500, (0.35, 0.14, 0.06, 0.03),
             "Только до конца месяца скидка тридцать процентов на все кухни."),
    Creative(4, "Шкаф в нишу", 1, 16, 3.6, 0.55, 0.15, 420, (0.58, 0.39, 0.25, 0.17),
             "Ниша есть, а шкафа нет? Сделаем по вашим размерам за десять дней."),
    Creative(5, "Зеркальные двери", 1, 12, 4.9, 0.28, 0.08, 460, (0.44, 0.22, 0.12, 0.08),
             "Зеркальные двери делают комнату светлее и больше."),
    Creative(6, "Гардеробная мечты", 2, 14, 8.2, 0.66, 0.17, 1100, (0.63, 0.47, 0.33, 0.25),
             "Гардеробная под ключ: проект, сборка, свет."),
    Creative(7, "Экскурсия по цеху", 2, 9, 12.5, 0.35, 0.09, 950, (0.30, 0.12, 0.05, 0.02),
             "Мы покажем, где и как делают вашу мебель."),
)  # fmt: skip


@dataclass
class Business:
    """`facebook` and `amocrm` are fixtures of the stand-ins; `tables` rows of `maas load`, in the order of loading."""

    today: date
    facebook: dict[str, Any] = field(default_factory=dict)
    amocrm: dict[str, Any] = field(default_factory=dict)
    tables: dict[str, list[dict[str, Any]]] = field(default_factory=dict)


def invent(today: date, user_account: UUID, ad_account: UUID) -> Business:
    """The business whose last day is `today`, of accounts that are there already."""
    business, rng = Business(today), random.Random(SEED)
    _add_advertising(business, rng, user_account, ad_account)
    _add_sales(business, rng, user_account)
    return business


def _add_advertising(business: Business, rng: random.Random, user_account: UUID, ad_account: UUID) -> None:
    account = {"user_account_id": str(user_account), "ad_account_id": str(ad_account)}
    business.tables["directions"] = [
        {
            "id": str(_direction(number)),
            **account,
            "name": one.name,
            "fb_adset_id": one.adset,
            "target_cpl": one.target,
            "daily_budget_minor": one.budget,
            "target_cpl_currency": CURRENCY,
            "key_stage_ids": KEY_STAGES,
        }
        for number, one in enumerate(DIRECTIONS)
    ]
    business.tables["user_creatives"] = [
        {
            "id": str(one.id),
            **account,
            "direction_id": str(_direction(one.direction)),
            "title": one.title,
            "media_type": "video",
            "fb_creative_id": f"7{one.number}",
            "transcript": one.transcript,
            "transcript_language": "ru",
            "status": "ready",
        }
        for one in CREATIVES
    ]
    days = {one.number: dict(_days(business.today, rng, one)) for one in CREATIVES}
    business.tables["creative_metrics_history"] = [
        {"creative_id": str(one.id), "day": day, **figures}
        for one in CREATIVES
        for day, figures in days[one.number].items()
    ]
    business.tables["direction_metrics_daily"] = [
        {"direction_id": str(_direction(number)), "day": day, **_sum(days, number, day)}
        for number in range(len(DIRECTIONS))
        for day in days[1]
    ]
    business.tables["creative_scores"] = [
        {
            "id": str(uuid5(NAMESPACE, f"score {one.number}")),
            "creative_id": str(one.id),
            "risk_score": min(100, round(one.cpl / DIRECTIONS[one.direction].target * 60)),
            "factors": {"ctr_trend": round(rng.uniform(-0.3, 0.2), 2)},
        }
        for one in CREATIVES
    ]
    business.tables["brain_actions"] = [
        {
            "id": str(uuid5(NAMESPACE, f"action {number}")),
            "user_account_id": str(user_account),
            "at": _at(day, 9),
            "action": action,
            "entity": entity,
            "reason": reason,
        }
        for number, (day, action, entity, reason) in enumerate(
            (
                (business.today - timedelta(days=2), "снизил бюджет на 10 %", "Гардеробные", "лид дороже цели три дня"),
                (business.today - timedelta(days=5), "поднял бюджет на 15 %", "Кухни", "ROI выше 150 %"),
            )
        )
    ]
    business.facebook = _facebook(business.today, days)


def _days(today: date, rng: random.Random, one: Creative) -> Iterator[tuple[str, dict[str, Any]]]:
    """Figures by day: weekends are quieter, and every creative tires a little."""
    for back in range(DAYS - 1, -1, -1):
        day = today - timedelta(days=back)
        weight = (0.6 if day.weekday() >= 5 else 1.0) * rng.uniform(0.8, 1.2)
        spend = round(one.daily_spend * weight, 2)
        tired = 1 + 0.25 * (DAYS - back) / DAYS
        leads = int(spend / (one.cpl * tired) + rng.random())
        impressions = round(spend * rng.uniform(180, 260))
        views = round(impressions * 0.4)
        shares = {f"p{at}": round(views * share) for at, share in zip((25, 50, 75, 95), one.retention, strict=True)}
        yield (
            day.isoformat(),
            {
                "impressions": impressions,
                "clicks": round(impressions * rng.uniform(0.012, 0.022)),
                "spend": spend,
                "leads": leads,
                "video_views": views,
                **shares,
            },
        )


def _sum(days: dict[int, dict[str, dict[str, Any]]], direction: int, day: str) -> dict[str, Any]:
    own = [days[one.number][day] for one in CREATIVES if one.direction == direction]
    return {name: round(sum(one[name] for one in own), 2) for name in ("impressions", "clicks", "spend", "leads")}


def _facebook(today: date, days: dict[int, dict[str, dict[str, Any]]]) -> dict[str, Any]:
    account = {"name": "Мебель Алматы", "currency": CURRENCY, "timezone_name": ZONE, "account_status": 1}
    goal = {
        "targeting": {"geo_locations": {"countries": ["KZ"]}},
        "optimization_goal": "LEAD_GENERATION",
        "billing_event": "IMPRESSIONS",
    }
    campaigns = {
        number: {"account_id": FB_ACCOUNT, "name": name, "status": "ACTIVE", "objective": "OUTCOME_LEADS"}
        for number, name in (("101", "Заявки: кухни и шкафы"), ("102", "Заявки: гардеробные"))
    }
    return {
        "tokens": {TOKEN: [FB_ACCOUNT]},
        "today": today.isoformat(),
        "accounts": {FB_ACCOUNT: account},
        "campaigns": campaigns,
        "adsets": {
            one.adset: goal
            | {"campaign_id": one.campaign, "name": one.name, "status": "ACTIVE", "daily_budget": one.budget}
            for one in DIRECTIONS
        },
        "creatives": {f"7{one.number}": {"account_id": FB_ACCOUNT} for one in CREATIVES},
        "ads": {
            f"12{one.number}": {
                "adset_id": DIRECTIONS[one.direction].adset,
                "name": one.title,
                "status": "ACTIVE",
                "creative_id": f"7{one.number}",
            }
            for one in CREATIVES
        },
        "days": {
            f"12{one.number}": {
                day: figures | {"spend": str(figures["spend"])} for day, figures in days[one.number].items()
            }
            for one in CREATIVES
        },
    }


def _add_sales(business: Business, rng: random.Random, user_account: UUID) -> None:
    leads: list[dict[str, Any]] = []
    messages: list[dict[str, Any]] = []
    crm: dict[str, Any] = {}
    for figures in business.tables["creative_metrics_history"]:
        one = next(creative for creative in CREATIVES if str(creative.id) == figures["creative_id"])
        for _ in range(figures["leads"]):
            lead = _lead(rng, one, date.fromisoformat(figures["day"]), len(leads), user_account)
            leads.append(lead)
            messages += _messages(rng, lead)
            crm[lead["crm_lead_id"]] = {
                "name": lead["name"],
                "price": lead["revenue"],
                "status_id": int(lead["stage_id"]),
                "pipeline_id": 1,
                "created_at": _seconds(lead["created_at"]),
                "updated_at": _seconds(lead["created_at"]) + 3600,
                "contact_id": lead["crm_lead_id"],
            }
    for lead in leads:
        lead.pop("engagement")
    business.tables["crm_stages"] = [
        {
            "user_account_id": str(user_account),
            "pipeline_id": "1",
            "stage_id": stage,
            "pipeline_name": "Продажи",
            "name": name,
            "place": place,
        }
        for place, (stage, name) in enumerate(STAGES)
    ]
    business.tables["leads"] = leads
    business.tables["whatsapp_messages"] = messages
    statuses = {stage: {"name": name, "sort": 10 * place} for place, (stage, name) in enumerate(STAGES)}
    business.amocrm = {
        "tokens": [CRM_TOKEN],
        "leads": crm,
        "contacts": {lead["crm_lead_id"]: {"name": lead["name"], "phone": lead["phone"]} for lead in leads},
        "pipelines": {"1": {"name": "Продажи", "sort": 1, "statuses": statuses}},
    }


def _lead(rng: random.Random, one: Creative, day: date, number: int, user_account: UUID) -> dict[str, Any]:
    is_engaged = rng.random() < one.engaged
    is_sold = is_engaged and rng.random() < one.buys
    stage = "142" if is_sold else rng.choice(("12", "13")) if is_engaged else rng.choice(("11", "11", "143"))
    return {
        "id": str(uuid5(NAMESPACE, f"lead {number}")),
        "user_account_id": str(user_account),
        "source_creative_id": str(one.id),
        "direction_id": str(_direction(one.direction)),
        "fb_lead_id": f"9{number:09}",
        "crm_lead_id": str(50_000 + number),
        "phone": f"+7701{number:07}",
        "name": rng.choice(NAMES),
        "pipeline_id": "1",
        "stage_id": stage,
        "reached_key_stage": stage in KEY_STAGES,
        "is_qualified": is_sold or (is_engaged and rng.random() < 0.6),
        "revenue": round(one.price * rng.uniform(0.7, 1.4)) if is_sold else 0,
        "created_at": _at(day, rng.randint(9, 20)),
        "engagement": rng.randint(2, 6) if is_engaged else rng.randint(0, 1),
    }


def _messages(rng: random.Random, lead: dict[str, Any]) -> Iterator[dict[str, Any]]:
    at = datetime.fromisoformat(lead["created_at"])
    for number in range(lead["engagement"]):
        for direction, text in (("in", rng.choice(QUESTIONS)), ("out", "Здравствуйте! Сейчас всё расскажу.")):
            at += timedelta(minutes=rng.randint(1, 90))
            yield {
                "user_account_id": lead["user_account_id"],
                "id": f"{lead['crm_lead_id']}-{number}-{direction}",
                "chat_jid": f"{lead['phone'].lstrip('+')}@s.whatsapp.net",
                "direction": direction,
                "text": text,
                "sent_at": at.isoformat(),
            }


def _direction(number: int) -> UUID:
    return uuid5(NAMESPACE, f"direction {number}")


def _at(day: date, hour: int) -> str:
    return datetime.combine(day, time(hour), ZoneInfo(ZONE)).astimezone(UTC).isoformat()


def _seconds(at: str) -> int:
    return int(datetime.fromisoformat(at).timestamp())
