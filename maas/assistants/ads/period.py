"""The period of a question: named or from date to date, in days of the ad account's time zone, today included."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, ClassVar, Literal, Self
from zoneinfo import ZoneInfo

from pydantic import BaseModel, Field, model_validator

from maas.assistants.ads.days import EARLIEST, LATEST, ONE_DAY, months_before
from maas.assistants.ads.question_period import question_period
from maas.tools.calls import ToolFailure

PeriodName = Literal[
    "today",
    "yesterday",
    "this_week",
    "last_week",
    "this_month",
    "last_month",
    "this_quarter",
    "last_quarter",
    "this_year",
    "last_year",
    "last_7d",
    "last_14d",
    "last_30d",
    "last_90d",
    "last_6m",
    "last_12m",
    "all",
]
FACEBOOK_MONTHS = 37  # Facebook refuses questions on days before
MORE_DAYS = "an operator reads more of them: maas ads sync --days N"
_DAYS = {"last_7d": 7, "last_14d": 14, "last_30d": 30, "last_90d": 90}
_MONTHS = {"last_6m": 6, "last_12m": 12}
_CALENDAR = {"week", "month", "quarter", "year"}


class PeriodArguments(BaseModel):
    """Either a named period, or dates; neither: the default of the tool."""

    choices: ClassVar = (("period",), ("date_from", "date_to"))

    period: PeriodName | None = Field(
        default=None,
        description="A named period. this_month, last_month and the like are of the calendar, a week begins on Monday; "
        "last_30d and the like end today. Not together with dates",
    )
    date_from: date | None = Field(
        default=None, description="The first day, as YYYY-MM-DD. Without date_to: until today"
    )
    date_to: date | None = Field(default=None, description="The last day, as YYYY-MM-DD; it is in the period")

    @staticmethod
    def read_question(question: str, today: date) -> Mapping[str, str]:
        """The arguments that a question names by itself."""
        return question_period(question, today)

    @staticmethod
    def is_same(one: Mapping[str, Any], other: Mapping[str, Any], today: date) -> bool:
        """Whether arguments are of the same days, whichever way they say so."""
        return _days_of(one, today) == _days_of(other, today)

    @model_validator(mode="after")
    def _check_dates(self) -> Self:
        dates = [one for one in (self.date_from, self.date_to) if one is not None]
        if dates and self.period is not None:
            raise ValueError("send period, or date_from and date_to, not both")
        if any(not EARLIEST <= one <= LATEST for one in dates):
            raise ValueError(f"dates are from {EARLIEST} to {LATEST}")
        if len(dates) == 2 and dates[0] > dates[1]:
            raise ValueError(f"date_from {dates[0]} is after date_to {dates[1]}")
        return self


@dataclass(frozen=True, slots=True)
class Period:
    """Days from `first` to `last`, both included; None: without an end. `today` is the day of the question.

    `is_shortened`: earlier days were asked for, and are not stored.
    """

    name: PeriodName | Literal["custom"]
    first: date | None
    last: date | None
    zone: ZoneInfo
    today: date
    is_shortened: bool = False

    @property
    def start(self) -> datetime | None:
        """The instant at which the first day begins, in UTC."""
        return None if self.first is None else _midnight(self.first, self.zone)

    @property
    def end(self) -> datetime | None:
        """The instant at which the last day is over, in UTC; it is no longer in the period."""
        return None if self.last is None else _midnight(self.last + timedelta(days=1), self.zone)

    @property
    def facebook_days(self) -> tuple[date, date]:
        """The first and the last day of it that Facebook can be asked for. Raises ToolFailure if there is none."""
        earliest = months_before(self.today, FACEBOOK_MONTHS) + timedelta(days=1)
        last = self.last or self.today
        if last < earliest:
            raise ToolFailure(f"Facebook keeps the figures of {FACEBOOK_MONTHS} months: ask for days since {earliest}")
        return max(self.first or earliest, earliest), last

    def shown(self) -> dict[str, Any]:
        """What a result says of it; every result of a tool with a period has it."""
        first, last = (None if one is None else one.isoformat() for one in (self.first, self.last))
        shown: dict[str, Any] = {"name": self.name, "date_from": first, "date_to": last, "timezone": self.zone.key}
        if self.is_shortened:
            shown["left_out"] = (
                f"days before {first} are not stored, so they are in no figure here: say so; {MORE_DAYS}"
            )
        return shown

    def since(self, day: date | None) -> Period:
        """The part of it whose figures are stored, from this day on. Raises ToolFailure if there is none."""
        if day is None or (self.first is not None and self.first >= day):
            return self
        if (self.last or self.today) < day:
            raise ToolFailure(f"figures of those days are not stored, only those since {day}: say so; {MORE_DAYS}")
        return replace(self, first=day, is_shortened=True)

    @property
    def count_of_facebook_days(self) -> int:
        """How many days Facebook is asked for. Raises ToolFailure as `facebook_days`."""
        first, last = self.facebook_days
        return (last - first).days + 1

    def shown_of_facebook(self) -> dict[str, Any]:
        """As `shown`, with the days that Facebook was asked for."""
        first, last = self.facebook_days
        return self.shown() | {"date_from": first.isoformat(), "date_to": last.isoformat()}


def resolve(arguments: PeriodArguments, zone: ZoneInfo, now: datetime, default: PeriodName) -> Period:
    """The period that is meant at `now` in `zone`; days after today are left out.

    Raises ToolFailure if it begins after today.
    """
    today = now.astimezone(zone).date()
    if arguments.date_from is not None or arguments.date_to is not None:
        if arguments.date_from is not None and arguments.date_from > today:
            raise ToolFailure(f"date_from {arguments.date_from} is after today, {today}")
        return Period("custom", arguments.date_from, min(arguments.date_to or today, today), zone, today)
    name = arguments.period or default
    first, last = _days(name, today)
    return Period(name, first, last, zone, today)


def _days_of(arguments: Mapping[str, Any], today: date) -> tuple[date | None, date | None] | None:
    """The days of the JSON of arguments; None where they name none."""
    if (name := arguments.get("period")) is not None:
        return _days(name, today)
    first, last = (arguments.get(one) and date.fromisoformat(str(arguments[one])) for one in ("date_from", "date_to"))
    return (first, min(last or today, today)) if first or last else None


def _days(name: PeriodName, today: date) -> tuple[date | None, date | None]:
    if name == "all":
        return None, None
    if name == "today":
        return today, today
    if name == "yesterday":
        return today - timedelta(days=1), today - timedelta(days=1)
    if name in _MONTHS:
        return months_before(today, _MONTHS[name]) + timedelta(days=1), today
    which, _, unit = name.partition("_")
    if unit in _CALENDAR:
        first = _first_day(unit, today)
        return (first, today) if which == "this" else (_first_day(unit, first - ONE_DAY), first - ONE_DAY)
    return today - timedelta(days=_DAYS[name] - 1), today


def _first_day(unit: str, day: date) -> date:
    """The first day of the week, month, quarter or year that a day is in."""
    if unit == "week":
        return day - timedelta(days=day.weekday())
    month = {"month": day.month, "quarter": day.month - (day.month - 1) % 3, "year": 1}[unit]
    return date(day.year, month, 1)


def _midnight(day: date, zone: ZoneInfo) -> datetime:
    """When a day begins; where the clocks skip midnight, the first instant after it."""
    return datetime.combine(day, time(), zone).astimezone(UTC)
