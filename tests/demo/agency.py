"""A year of an invented agency as agencies are: its raw facts, of which services, demo and tests make what they need.

Two ad accounts in one business count in dollars of Almaty and euros of Berlin, the CRM in tenge. Some campaigns hold
their own budget, one is archived, one is deleted, one has the name of another; a day has money that was given back.
People fill in forms, write over WhatsApp or come by themselves; some are in the CRM twice, or without a telephone, or
with two. Leads are lost and come back, and some are deleted. The same seed and the same moment give the same year.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from typing import Literal, NamedTuple
from zoneinfo import ZoneInfo

SEED, DAYS, FORM_DAYS = 2026, 365, 90
CRM_CURRENCY, INSTANCE, BUSINESS = "KZT", "kuhni", "Мебель на заказ"
STAGES = ((11, "Новый"), (12, "Замер"), (13, "Договор"), (142, "Оплата"), (143, "Отказ"))
QUALIFYING = 12
NAMES = ("Айгуль", "Данияр", "Елена", "Ерлан", "Жанна", "Ирина", "Марат", "Ольга", "Руслан", "Светлана", "Тимур")
Kind = Literal["form", "chat"]


class AdAccount(NamedTuple):
    id: str
    name: str
    currency: str
    zone: str


class Campaign(NamedTuple):
    """`budget` in minor units, None where ad sets have budgets. `rests`: nothing runs on weekends."""

    id: str
    account: str
    name: str
    status: str
    budget: int | None
    kind: Kind
    rests: bool
    days_ago: tuple[int, int]


class AdSet(NamedTuple):
    """`goal` is what Facebook optimises it for, `event` which event where that is to have events."""

    id: str
    campaign: str
    name: str
    budget: int | None
    direction: str | None
    goal: str = "LEAD_GENERATION"
    event: str | None = None


class Ad(NamedTuple):
    """`days_ago`: when it began and ended; `cpl` in the currency of its account."""

    id: str
    adset: str
    name: str
    creative: str
    title: str
    is_video: bool
    days_ago: tuple[int, int]
    spend: float
    cpl: float


class Day(NamedTuple):
    """`late` of the forms were reported by Facebook days after the rest."""

    ad: str
    day: date
    spend: float
    impressions: int
    clicks: int
    forms: int
    conversations: int
    video_views: int
    p25: int
    p50: int
    p75: int
    p95: int
    late: int
    purchases: int = 0
    whole_plays: int = 0


class Form(NamedTuple):
    id: str
    person: int
    ad: str
    created_at: datetime


class CrmLead(NamedTuple):
    """`price` in the currency of the CRM, also of what is not sold; `is_late`: it came into the CRM after the rest.

    `early_stage` is where it stood before the last changes; `phones` are those of its contact: the first of two is no
    number that anybody writes from.
    """

    id: int
    person: int
    created_at: datetime
    stage: int
    price: int
    utm: str | None
    is_late: bool
    early_stage: int
    phones: int
    is_deleted: bool = False


class Chat(NamedTuple):
    """`has_number`: some message tells the phone number. `ad` is the one that was tapped."""

    jid: str
    person: int
    has_number: bool
    ad: str | None


class Message(NamedTuple):
    jid: str
    at: datetime
    is_incoming: bool


ACCOUNTS = (
    AdAccount("act_20260", "Кухни Алматы", "USD", "Asia/Almaty"),
    AdAccount("act_20261", "Küchen Berlin", "EUR", "Europe/Berlin"),
)
CAMPAIGNS = (
    Campaign("101", "act_20260", "Кухни | заявки", "ACTIVE", None, "form", True, (364, 0)),
    Campaign("102", "act_20260", "Шкафы | WhatsApp", "ACTIVE", 6000, "chat", False, (300, 0)),
    Campaign("103", "act_20260", "Кухни | весна", "ARCHIVED", None, "form", True, (260, 18)),
    Campaign("104", "act_20260", "Гардеробные | новое имя", "ACTIVE", None, "form", False, (200, 0)),
    Campaign("105", "act_20260", "Кухни | заявки", "PAUSED", None, "chat", False, (120, 40)),
    Campaign("106", "act_20260", "Кухни | весна", "DELETED", None, "form", False, (150, 12)),
    Campaign("201", "act_20261", "Küchen | Leads", "ACTIVE", None, "form", False, (364, 0)),
    Campaign("202", "act_20261", "Schränke | WhatsApp", "ACTIVE", 4500, "chat", True, (180, 0)),
)
ADSETS = (
    AdSet("111", "101", "Алматы", 4000, "Кухни"),
    AdSet("112", "101", "Астана", 3000, "Кухни"),
    AdSet("113", "102", "Шкафы, женщины", None, "Шкафы", "CONVERSATIONS"),
    AdSet("114", "102", "Шкафы, мужчины", None, "Шкафы", "OFFSITE_CONVERSIONS", "PURCHASE"),
    AdSet("115", "103", "Весна", 2000, None),
    AdSet("116", "104", "Гардеробные", 2500, "Гардеробные", "LINK_CLICKS"),
    AdSet("117", "105", "Алматы, старая", 1500, None, "REACH"),
    AdSet("211", "201", "Berlin", 3500, "Küchen"),
    AdSet("212", "201", "Hamburg", 2500, "Küchen"),
    AdSet("213", "202", "Schränke", None, None, "THRUPLAY"),
    AdSet("118", "106", "Проба", 1000, None),
)
CREATIVES = 40
DELETED_ADS, DELETED_LATER = ("1202",), ("1208",)  # while their ad sets run
GIVEN_BACK = ("1203", 9, -12.34)  # an ad, how many days ago, what that day cost
OF_CAMPAIGN = {one.id: one for one in CAMPAIGNS}
OF_ADSET = {one.id: one for one in ADSETS}
ZONES = {one.id: ZoneInfo(one.zone) for one in ACCOUNTS}


@dataclass
class Agency:
    """What happened until `now`, in the order in which it is invented."""

    now: datetime
    ads: list[Ad] = field(default_factory=list)
    days: list[Day] = field(default_factory=list)
    forms: list[Form] = field(default_factory=list)
    crm: list[CrmLead] = field(default_factory=list)
    chats: list[Chat] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)


def account_of(ad: Ad) -> str:
    return OF_CAMPAIGN[OF_ADSET[ad.adset].campaign].account


def invent(now: datetime) -> Agency:
    """The year that ends at `now`."""
    agency, rng = Agency(now), random.Random(SEED)
    agency.ads = list(_ads(rng))
    people = _People(agency, rng)
    for ad in agency.ads:
        for day in _days(agency, rng, ad):
            agency.days.append(day)
            for _ in range(day.forms):
                people.fill_in_form(ad, day.day)
            for _ in range(day.conversations):
                people.tap(ad, day.day)
    for _ in range(60):
        people.come_by_themselves()
    people.come_again()
    people.change_their_minds()
    _give_back(agency)
    return agency


def _give_back(agency: Agency) -> None:
    ad, back, spend = GIVEN_BACK
    day = agency.now.astimezone(ZONES["act_20260"]).date() - timedelta(days=back)
    agency.days = [one._replace(spend=spend) if (one.ad, one.day) == (ad, day) else one for one in agency.days]


def _ads(rng: random.Random) -> Iterator[Ad]:
    """An ad for each creative, and a second one for some; two ads have one name."""
    for number in range(CREATIVES):
        adset = ADSETS[number % len(ADSETS)]
        began, ended = OF_CAMPAIGN[adset.campaign].days_ago
        length = rng.randint(40, 90)
        start = min(began, max(ended + length, rng.randint(ended, began))) if number >= len(ADSETS) else ended + length
        days_ago = (min(began, start), max(ended, start - length))
        is_video, title = number % 5 != 4, f"{'Видео' if number % 5 != 4 else 'Фото'} {number + 1}"
        money = round(rng.uniform(9, 26), 2), round(rng.uniform(60, 190), 2)
        name = "Видео" if number in (0, 21) else f"Объявление {number + 1}"
        yield Ad(f"1{200 + number}", adset.id, name, f"7{number:03}", title, is_video, days_ago, *money)
        if number in (1, 18, 27):  # the creative is shown by two ads, of one ad set or of two
            other = {"112": "111", "211": "212"}.get(adset.id, adset.id)
            yield Ad(
                f"1{300 + number}", other, f"Копия {number + 1}", f"7{number:03}", title, is_video, days_ago, *money
            )


def _days(agency: Agency, rng: random.Random, ad: Ad) -> Iterator[Day]:
    campaign = OF_CAMPAIGN[OF_ADSET[ad.adset].campaign]
    today = agency.now.astimezone(ZONES[campaign.account]).date()
    for back in range(ad.days_ago[0], ad.days_ago[1] - 1, -1):
        day = today - timedelta(days=back)
        if campaign.rests and day.weekday() >= 5:
            continue
        spend = round(ad.spend * rng.uniform(0.7, 1.3), 2)
        impressions = round(spend * rng.uniform(120, 240))
        leads = int(spend / ad.cpl + rng.random())
        forms, conversations = (leads, 0) if campaign.kind == "form" else (0, leads)
        if campaign.id == "104" and leads and rng.random() < 0.4:
            forms, conversations = leads - 1, 1
        views = round(impressions * 0.4) if ad.is_video else 0
        p25, p50, p75, p95 = (round(views * share) for share in (0.6, 0.4, 0.25, 0.17))
        late = 1 if 0 < back < 6 and forms and rng.random() < 0.5 else 0
        clicks = round(impressions * rng.uniform(0.01, 0.025))
        counts = impressions, clicks, forms, conversations, views, p25, p50, p75, p95, late
        yield Day(ad.id, day, spend, *counts, purchases=clicks // 20, whole_plays=p50 + p75)


class _People:
    """Those who ask: each is a number, whatever their phones look like."""

    def __init__(self, agency: Agency, rng: random.Random) -> None:
        self._agency = agency
        self._rng = rng
        self._count = 0

    def fill_in_form(self, ad: Ad, day: date) -> None:
        person, at = self._new(), self._at(ad, day)
        if at > self._agency.now - timedelta(days=FORM_DAYS):
            self._agency.forms.append(Form(f"9{person:06}", person, ad.id, at))
        if self._rng.random() < 0.8:
            utm = self._rng.choice((ad.id, None, None, ad.name, "video_old_name"))
            self._enter(person, at + timedelta(minutes=self._rng.randint(2, 300)), utm)
        if self._rng.random() < 0.5:
            self._write(person, at + timedelta(minutes=30), None)

    def tap(self, ad: Ad, day: date) -> None:
        """The person writes because of an ad; the manager may enter that into the CRM."""
        person, at = self._new(), self._at(ad, day)
        self._write(person, at, ad.id)
        if self._rng.random() < 0.6:
            self._enter(person, at + timedelta(minutes=self._rng.randint(5, 600)), None)

    def come_by_themselves(self) -> None:
        person = self._new()
        at = self._agency.now - timedelta(minutes=self._rng.randint(10, DAYS * 24 * 60))
        self._enter(person, at, self._rng.choice((None, None, "google", "")))
        if self._rng.random() < 0.5:
            self._write(person, at, None)

    def come_again(self) -> None:
        """Some are entered a second time, a few of these after everybody else."""
        asked = [one for one in self._agency.crm if one.created_at < self._agency.now - timedelta(days=20)]
        for number, one in enumerate(self._rng.sample(asked, 24)):
            self._enter(one.person, one.created_at + timedelta(days=self._rng.randint(9, 19)), None, number < 8)

    def change_their_minds(self) -> None:
        """Some that were lost come back, some that had come far or paid are lost, and some are deleted."""
        known, often = set[int](), set[int]()
        for one in self._agency.crm:
            (often if one.person in known else known).add(one.person)
        for place, one in enumerate(self._agency.crm):
            if one.is_late or one.person in often:
                continue
            if one.id % 17 == 0:
                early = {143: 143, 12: 143, 142: 143}.get(one.stage, 142 if one.stage == 11 else 12)
                self._agency.crm[place] = one._replace(early_stage=early)
            elif one.id % 29 == 0:
                self._agency.crm[place] = one._replace(is_deleted=True)

    def _new(self) -> int:
        self._count += 1
        return self._count

    def _at(self, ad: Ad, day: date) -> datetime:
        """A moment of a day of the ad account, also late at night, that is over."""
        at = datetime.combine(day, time(), ZONES[account_of(ad)]).astimezone(UTC)
        moment = at + timedelta(minutes=self._rng.randint(0, 23 * 60))
        return min(moment, self._agency.now - timedelta(minutes=self._rng.randint(1, 9)))

    def _enter(self, person: int, at: datetime, utm: str | None, is_late: bool = False) -> None:
        at = min(at, self._agency.now - timedelta(seconds=30))
        stage = self._rng.choices([one for one, _ in STAGES], (40, 18, 10, 14, 18))[0]
        price = self._rng.randrange(80, 900) * 1000 if stage in (13, 142) or self._rng.random() < 0.2 else 0
        number = 50_000 + len(self._agency.crm)
        phones = 0 if number % 23 == 0 else 2 if number % 11 == 0 else 1
        self._agency.crm.append(CrmLead(number, person, at, stage, price, utm, is_late, stage, phones))

    def _write(self, person: int, at: datetime, ad: str | None) -> None:
        is_hidden = person % 3 == 0
        jid = f"{person}99900011@lid" if is_hidden else f"{digits_of(person)}@s.whatsapp.net"
        self._agency.chats.append(Chat(jid, person, not is_hidden or person % 12 != 0, ad))
        for _ in range(self._rng.randint(1, 4)):
            at = min(at + timedelta(seconds=self._rng.randint(40, 4000)), self._agency.now)
            self._agency.messages.append(Message(jid, at, True))
            if self._rng.random() < 0.7:
                at = min(at + timedelta(seconds=self._rng.randint(20, 900)), self._agency.now)
                self._agency.messages.append(Message(jid, at, False))


def digits_of(person: int) -> str:
    return f"7701{person:07}"


def spelled(person: int, spelling: int) -> str:
    """The phone number of a person, as somebody has typed it."""
    digits = digits_of(person)
    body = f"{digits[1:4]}) {digits[4:7]}-{digits[7:9]}-{digits[9:]}"
    return (f"8 ({body}", f"+{digits}", digits, f"+7 ({body}")[spelling % 4]
