"""Now: the line with which a system text ends, that names the days around the time of a run, and distances of dates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Literal
from uuid import UUID
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import structlog

from maas import queries
from maas.engine.run import Run
from maas.engine.stages import Deps
from maas.prompting.prompts import prompt_language
from shared.models import Request

Language = Literal["ru", "en"]
MAX_DAYS = 13  # distances above it are in weeks
MAX_WEEKS = 8  # above it in months
MAX_MONTHS = 23  # above it in years
DAYS_OF_MONTH = 30.44
DAYS_OF_YEAR = 365.25
log = structlog.get_logger()
_MARGIN = timedelta(days=2)  # from the first and the last day of the calendar


@dataclass(frozen=True, slots=True)
class _Words:
    """The words of one language; the forms of a unit are those of 1, of 2 to 4, and of 5 and more."""

    line: str
    weekdays: tuple[str, ...]
    yesterday: str
    today: str
    tomorrow: str
    ago: str
    ahead: str
    units: Mapping[str, tuple[str, str, str]]


_WORDS: Mapping[Language, _Words] = {
    "en": _Words(
        line="Now: yesterday = {0}, today = {1}, tomorrow = {2}; the time is {3}.",
        weekdays=("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
        yesterday="yesterday", today="today", tomorrow="tomorrow", ago="{} ago", ahead="in {}",
        units={"day": ("day", "days", "days"), "week": ("week", "weeks", "weeks"),
               "month": ("month", "months", "months"), "year": ("year", "years", "years")},
    ),
    "ru": _Words(
        line="Сейчас: вчера = {0}, сегодня = {1}, завтра = {2}; время {3}.",
        weekdays=("понедельник", "вторник", "среда", "четверг", "пятница", "суббота", "воскресенье"),
        yesterday="вчера", today="сегодня", tomorrow="завтра", ago="{} назад", ahead="через {}",
        units={"day": ("день", "дня", "дней"), "week": ("неделю", "недели", "недель"),
               "month": ("месяц", "месяца", "месяцев"), "year": ("год", "года", "лет")},
    ),
}  # fmt: skip


@lru_cache(maxsize=256)  # every stage of a run asks for the same one
def now_line(at: datetime, zone: tzinfo, language: Language) -> str:
    """One line that names yesterday, today and tomorrow in `zone`, with weekday and date, the time and the zone."""
    words, moment = _WORDS[language], _within(at).astimezone(zone)
    near = (moment.date() + timedelta(days) for days in (-1, 0, 1))
    days = (f"{words.weekdays[day.weekday()]} {day.isoformat()}" for day in near)
    return words.line.format(*days, f"{moment:%H:%M} ({zone_name(moment)})")


def weekday_name(day: date, language: Language) -> str:
    """The weekday of a day in a language."""
    return _WORDS[language].weekdays[day.weekday()]


def zone_name(moment: datetime) -> str:
    """The name of the zone of a moment, such as Europe/Moscow; its abbreviation where the zone has no name."""
    return getattr(moment.tzinfo, "key", None) or moment.tzname() or "UTC"


def distance(day: date, today: date, language: Language) -> str:
    """How far `day` is from `today`, in at most three words: "yesterday", "3 weeks ago", "in 2 days"."""
    words, days = _WORDS[language], (day - today).days
    if abs(days) <= 1:
        return (words.yesterday, words.today, words.tomorrow)[days + 1]
    count, unit = _count(abs(days))
    return (words.ago if days < 0 else words.ahead).format(f"{count} {_form(count, words.units[unit], language)}")


async def now_of(run: Run, deps: Deps) -> str:
    """The line of a run: the time when it was asked for, which stays the same after a crash and in a replay."""
    language = await prompt_language(deps, run.assistant, run.assistants_version)
    return now_line(run.created_at, await zone_of(run, deps), language)


async def with_now(request: Request, run: Run, deps: Deps) -> Request:
    """A copy of a request whose system text ends with the line of the run."""
    return replace(request, system=f"{request.system}\n\n{await now_of(run, deps)}".lstrip())


async def today_of(run: Run, deps: Deps) -> date:
    """The day on which a run was asked for, where its user is."""
    return _within(run.created_at).astimezone(await zone_of(run, deps)).date()


async def in_zone_of(run: Run, deps: Deps) -> Deps:
    """A copy of `deps` whose MAAS_TIMEZONE is the zone of the run's user; for stages that call no model."""
    zone = await zone_of(run, deps)
    if zone is deps.settings.engine.zone:
        return deps
    return replace(deps, settings=deps.settings.replace(timezone=str(zone)))


async def zone_of(run: Run, deps: Deps) -> tzinfo:
    """The time zone that the profile of the run's user names, else MAAS_TIMEZONE."""
    if run.cache.zone is None:
        run.cache.zone = await zone_of_user(run.user_id, deps)
    return run.cache.zone


async def zone_of_user(user_id: UUID, deps: Deps) -> tzinfo:
    """The time zone that the profile of a user names, else MAAS_TIMEZONE."""
    rows = await deps.db.grouped_rows(queries.user_timezones, user_id)
    if rows and (name := rows[0]["timezone"]) is not None:
        try:
            return ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError):  # Postgres may know zones that this machine does not
            log.warning("unknown_time_zone", zone=name)
    return deps.settings.engine.zone


def _count(days: int) -> tuple[int, str]:
    if days <= MAX_DAYS:
        return days, "day"
    if (weeks := round(days / 7)) <= MAX_WEEKS:
        return weeks, "week"
    if (months := round(days / DAYS_OF_MONTH)) <= MAX_MONTHS:
        return months, "month"
    return round(days / DAYS_OF_YEAR), "year"


def _form(count: int, forms: tuple[str, str, str], language: Language) -> str:
    if language == "en":
        return forms[count != 1]
    if count % 10 == 1 and count % 100 != 11:
        return forms[0]
    return forms[1] if count % 10 in (2, 3, 4) and count % 100 not in (12, 13, 14) else forms[2]


def _within(at: datetime) -> datetime:
    """The moment, or the nearest one whose day has a day before and a day after it in every zone."""
    least, most = datetime.min.replace(tzinfo=UTC) + _MARGIN, datetime.max.replace(tzinfo=UTC) - _MARGIN
    return min(max(at, least), most)
