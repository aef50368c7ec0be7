"""What Facebook, amoCRM and the Evolution API hold of the invented agency: fixtures of their stand-ins."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime
from typing import Any

from tests.demo.agency import (
    ACCOUNTS,
    ADSETS,
    CAMPAIGNS,
    CRM_CURRENCY,
    DELETED_ADS,
    DELETED_LATER,
    INSTANCE,
    NAMES,
    OF_ADSET,
    OF_CAMPAIGN,
    STAGES,
    ZONES,
    Agency,
    CrmLead,
    Day,
    account_of,
    digits_of,
    spelled,
)

TOKEN, CRM_TOKEN, WHATSAPP_KEY = "EAABdemo0123456789abcdef", "eyJdemo0123456789abcdef", "demo0123456789abcdef"
GOAL = {
    "targeting": {"geo_locations": {"countries": ["KZ"]}},
    "optimization_goal": "LEAD_GENERATION",
    "billing_event": "IMPRESSIONS",
}
QUESTIONS = (
    "Здравствуйте, сколько стоит кухня три метра?",
    "А замер платный?",
    "Какие сроки?",
    "Можно в рассрочку?",
    "Пришлите примеры работ, пожалуйста",
)
ANSWER = "Здравствуйте! Сейчас всё расскажу."
Json = dict[str, Any]


def facebook(agency: Agency, *, is_early: bool = False) -> Json:
    """`is_early`: before the leads that Facebook reports late, and the last deletions. Forms do not know of that."""
    of_ad = {one.id: one for one in agency.ads}
    deleted = DELETED_ADS if is_early else DELETED_ADS + DELETED_LATER
    forms: defaultdict[str, list[Json]] = defaultdict(list)
    for one in agency.forms:
        answers = {"full_name": NAMES[one.person % len(NAMES)], "phone_number": spelled(one.person, 1)}
        data = [{"name": name, "values": [value]} for name, value in answers.items()]
        forms[one.ad].append({"id": one.id, "created_time": one.created_at.isoformat(), "field_data": data})
    return {
        "tokens": {TOKEN: [one.id for one in ACCOUNTS]},
        "today": agency.now.astimezone(ZONES[ACCOUNTS[0].id]).date().isoformat(),
        "accounts": {
            one.id: {"name": one.name, "currency": one.currency, "timezone_name": one.zone, "account_status": 1}
            for one in ACCOUNTS
        },
        "campaigns": {
            one.id: {"account_id": one.account, "name": one.name, "status": one.status, "daily_budget": one.budget}
            | {"objective": "OUTCOME_LEADS"}
            for one in CAMPAIGNS
        },
        "adsets": {
            one.id: GOAL
            | {"campaign_id": one.campaign, "name": one.name, "daily_budget": one.budget}
            | {"status": _status(one.campaign), "optimization_goal": one.goal}
            | ({"promoted_object": {"pixel_id": "1", "custom_event_type": one.event}} if one.event else {})
            for one in ADSETS
        },
        "creatives": {
            ad.creative: {"account_id": account_of(ad), "name": ad.title}
            | ({"video_id": f"6{ad.creative}"} if ad.is_video else {})
            for ad in agency.ads
        },
        "ads": {
            ad.id: {"adset_id": ad.adset, "name": ad.name, "creative_id": ad.creative}
            | {"status": "DELETED" if ad.id in deleted else _status(OF_ADSET[ad.adset].campaign)}
            for ad in of_ad.values()
        },
        "days": _days(agency, is_early=is_early),
        "forms": forms,
    }


def _status(campaign: str) -> str:
    """What is below an archived or a deleted campaign is that, too."""
    status = OF_CAMPAIGN[campaign].status
    return status if status in ("ARCHIVED", "DELETED") else "ACTIVE"


def _days(agency: Agency, *, is_early: bool) -> Json:
    days: defaultdict[str, Json] = defaultdict(dict)
    for one in agency.days:
        days[one.ad][one.day.isoformat()] = _figures(one, one.forms - (one.late if is_early else 0))
    return days


def _figures(one: Day, leads: int) -> Json:
    names = (
        *("impressions", "clicks", "conversations", "purchases"),
        *("video_views", "whole_plays", "p25", "p50", "p75", "p95"),
    )
    return {"spend": f"{one.spend:.2f}", "leads": leads} | {name: getattr(one, name) for name in names}


def amocrm(agency: Agency, *, is_early: bool = False) -> Json:
    """`is_early`: without the leads that came into the CRM after the rest, and before the last changes."""
    leads = [one for one in agency.crm if not (is_early and one.is_late)]
    statuses = {str(stage): {"name": name, "sort": 10 * place} for place, (stage, name) in enumerate(STAGES)}
    return {
        "tokens": [CRM_TOKEN],
        "currency": CRM_CURRENCY,
        "pipelines": {"1": {"name": "Продажи", "sort": 1, "statuses": statuses}},
        "leads": {
            str(one.id): {
                "name": f"Заявка {one.id}",
                "price": one.price,
                "status_id": one.early_stage if is_early else one.stage,
                "pipeline_id": 1,
                "contact_id": one.id if one.phones else None,
                "created_at": _seconds(one.created_at),
                "updated_at": _seconds(one.created_at if is_early or not has_changed(one) else agency.now),
                "is_deleted": one.is_deleted and not is_early,
            }
            | ({} if one.utm is None else {"utm": {"utm_content": one.utm, "utm_medium": "cpc"}})
            for one in leads
        },
        "contacts": {
            str(one.id): {"name": NAMES[one.person % len(NAMES)], "phone": spelled(one.person, one.id)}
            | ({"other_phone": f"+7 727 {one.id:07}"} if one.phones == 2 else {})
            for one in leads
            if one.phones
        },
    }


def has_changed(one: CrmLead) -> bool:
    """Whether it came or changed after the first look at the CRM."""
    return one.is_late or one.is_deleted or one.stage != one.early_stage


def evolution(agency: Agency) -> Json:
    of_chat: defaultdict[str, list[Json]] = defaultdict(list)
    chats = {one.jid: one for one in agency.chats}
    for number, one in enumerate(agency.messages):
        chat, stored = chats[one.jid], of_chat[one.jid]
        text = QUESTIONS[number % len(QUESTIONS)] if one.is_incoming else ANSWER
        message: Json = {"id": f"M{number}", "text": text, "at": _seconds(one.at), "is_outgoing": not one.is_incoming}
        if one.jid.endswith("@lid") and chat.has_number:
            message[("number", "sender")[chat.person % 2]] = digits_of(chat.person)
        if chat.ad is not None and not stored:
            message["ad"] = chat.ad
        stored.append(message)
    found = {
        jid: {"name": NAMES[chats[jid].person % len(NAMES)], "updated_at": _time(stored[-1]["at"])}
        for jid, stored in of_chat.items()
    }
    return {"api_key": WHATSAPP_KEY, "instances": {INSTANCE: {"chats": found, "messages": of_chat}}}


def _seconds(at: datetime) -> int:
    return int(at.timestamp())


def _time(seconds: int) -> str:
    return datetime.fromtimestamp(seconds).astimezone().isoformat()
