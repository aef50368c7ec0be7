"""Figures of Facebook's advertisements: how they are asked for in parts, and how parts become one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from decimal import Decimal
from typing import Literal

from maas.assistants.ads.clients import facebook_replies as replies

Level = Literal["account", "campaign", "adset", "ad"]
DAYS_A_REQUEST = 31
FIGURES = (
    "spend",
    "impressions",
    "clicks",
    "actions",
    "video_play_actions",
    "video_thruplay_watched_actions",
    "video_p25_watched_actions",
    "video_p50_watched_actions",
    "video_p75_watched_actions",
    "video_p95_watched_actions",
)


@dataclass(frozen=True, slots=True)
class Insights:
    """Figures of one object of `level`; of one day, or of the whole period if `day` is None.

    `video_views` counts started videos, p25 to p95 how often a quarter, half, three quarters and 95 % were watched,
    `actions` all that was done, by type.
    """

    object_fb_id: str | None
    level: Level
    day: date | None
    spend: Decimal
    impressions: int
    clicks: int
    leads: int
    video_views: int
    p25: int
    p50: int
    p75: int
    p95: int
    actions: Mapping[str, int] = field(default_factory=dict)

    @property
    def purchases(self) -> int:
        """Purchases on a site or in an app."""
        return next((self.actions[name] for name in replies.PURCHASE_TYPES if name in self.actions), 0)


def parts_of(since: date, until: date) -> Iterator[tuple[date, date]]:
    """Yield the first and last days of parts of a period; a period that ends before it begins is left to Facebook."""
    while (last := since + timedelta(DAYS_A_REQUEST - 1)) < until:
        yield since, last
        since = last + timedelta(1)
    yield since, until


def halves_of(since: date, until: date) -> tuple[tuple[date, date], tuple[date, date]]:
    """Return the first and last days of both halves of a period of two days or more."""
    middle = since + (until - since) // 2
    return (since, middle), (middle + timedelta(1), until)


def added_up(parts: Iterable[Insights]) -> list[Insights]:
    """Return one row for each object and day, from rows of parts of a period: counts and money add up."""
    sums: dict[tuple[str | None, date | None], Insights] = {}
    for one in parts:
        key = (one.object_fb_id, one.day)
        sums[key] = _sum(sums[key], one) if key in sums else one
    return list(sums.values())


def _sum(one: Insights, other: Insights) -> Insights:
    return replace(
        one,
        spend=one.spend + other.spend,
        impressions=one.impressions + other.impressions,
        clicks=one.clicks + other.clicks,
        leads=one.leads + other.leads,
        video_views=one.video_views + other.video_views,
        p25=one.p25 + other.p25,
        p50=one.p50 + other.p50,
        p75=one.p75 + other.p75,
        p95=one.p95 + other.p95,
        actions=Counter(one.actions) + Counter(other.actions),
    )


def insights_of(row: replies.Figures, level: Level, by_day: bool) -> Insights:
    fb_id = {"account": row.account_id, "campaign": row.campaign_id, "adset": row.adset_id, "ad": row.ad_id}[level]
    if level == "account" and fb_id is not None:
        fb_id = f"act_{fb_id.removeprefix('act_')}"
    return Insights(
        object_fb_id=fb_id,
        level=level,
        day=row.date_start if by_day else None,
        spend=row.spend,
        impressions=row.impressions,
        clicks=row.clicks,
        leads=row.leads,
        video_views=row.video_views,
        p25=replies.watched(row.video_p25_watched_actions),
        p50=replies.watched(row.video_p50_watched_actions),
        p75=replies.watched(row.video_p75_watched_actions),
        p95=replies.watched(row.video_p95_watched_actions),
        actions=row.counts,
    )
