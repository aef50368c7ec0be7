"""Dates: finds the dates that a query names, in English and Russian, and converts times between zones."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError

_TIME = re.compile(r"[0-9]{4}-", re.ASCII)
_DATETIME = TypeAdapter(datetime)
_EN_MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
_EN_MONTH_NUMBERS = {
    form: number for number, name in enumerate(_EN_MONTHS, start=1) for form in (name, name[:3], name[:4])
}
_RU_MONTHS = ["январ", "феврал", "март", "апрел", "ма", "июн", "июл", "август", "сентябр", "октябр", "ноябр", "декабр"]
_RU_MONTH = re.compile(f"({'|'.join(_RU_MONTHS)})(?:ь|я|е|ю|й|а|у)?")
_BEFORE_MONTH = frozenset("in of on during by since until before after last this late early mid".split())  # noqa: SIM905
_EN_DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_RU_DAYS = ["понедельник", "вторник", "сред", "четверг", "пятниц", "суббот", "воскресень"]
_NUMBERS = (
    "a an one один одну",
    "two couple два две пару",
    "three три",
    "four четыре",
    "five пять",
    "six шесть",
    "seven семь",
    "eight восемь",
    "nine девять",
    "ten десять",
)
_COUNTS = {word: number for number, words in enumerate(_NUMBERS, start=1) for word in words.split()}
_UNIT = (
    r"(?:(?P<day>days?|день|дня|дней)|(?P<week>weeks?|недел\w+)|"
    r"(?P<month>months?|месяц\w*)|(?P<year>years?|год\w*|лет))"
)
_DAYS_OF = {"day": 1, "week": 7, "month": 30, "year": 365}
_AGO = re.compile(rf"\b(?:(?P<n>\d{{1,3}}|{'|'.join(_COUNTS)})\s+(?:of\s+)?)?{_UNIT}\s+(?:ago|назад)\b")
_THIS_OR_LAST = re.compile(
    rf"\b(?:(?P<last>last|past|previous|прошл\w+|последн\w+)|this|эт\w+|текущ\w+)\s+(?:{_UNIT}|(?P<weekend>weekend|выходн\w+))\b"
)
_NEAR_DAYS = (
    (re.compile(r"\b(?:day before yesterday|позавчера)\b"), 2),
    (re.compile(r"\b(?:yesterday|last night|вчера)\b"), 1),
)
_WEEKDAY = re.compile(
    rf"\b(?:(?:on|last|this|past|в|во|прошл\w+)\s+)({'|'.join(_EN_DAYS)}|(?:{'|'.join(_RU_DAYS)})\w*)\b"
)
_ISO = re.compile(r"\b(?P<y>(?:19|20)\d\d)-(?P<m>\d\d?)(?:-(?P<d>\d\d?))?\b")
_DOTTED = re.compile(r"\b(?P<d>\d\d?)\.(?P<m>[01]\d|\d(?=\.\d{4}))(?:\.(?P<y>(?:19|20)\d\d))?\b")
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)  # of timestamps in Postgres
_MICROSECOND = timedelta(microseconds=1)
_DAY = re.compile(r"(\d{1,2})(?:st|nd|rd|th|го)?")


@dataclass(frozen=True, slots=True)
class Band:
    """A span of time from `start` (inclusive) to `end` (exclusive); `worth` (0 to 1) says how well it fits the date."""

    start: datetime
    end: datetime
    worth: float


class _Days(NamedTuple):
    """A span of days, both ends included, and its worth."""

    first: date
    last: date
    worth: float

    def band(self, zone: tzinfo) -> Band:
        start, end = (datetime.combine(day, time(), zone) for day in (self.first, self.last + timedelta(1)))
        return Band(start.astimezone(UTC), end.astimezone(UTC), self.worth)


def microseconds(at: datetime) -> int:
    """Return a moment as Postgres stores it: microseconds since 2000."""
    return (at - _EPOCH) // _MICROSECOND


def fit(bands: Sequence[Band], times: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return for each time, in microseconds since 2000, the worth of the best band that contains it, 0 without one."""
    worth = np.zeros(len(times))
    for band in bands:
        is_within = (times >= microseconds(band.start)) & (times < microseconds(band.end))
        np.maximum(worth, band.worth * is_within, out=worth)
    return worth


def local(at: datetime, zone: tzinfo) -> datetime:
    """Convert a moment to `zone`; a result outside the calendar's years leaves it unchanged."""
    try:
        return at.astimezone(zone)
    except OverflowError:
        return at


def to_time(text: str) -> datetime:
    """Convert a time in ISO 8601; one without an offset is returned so. Raises ValueError."""
    if not _TIME.match(text):  # pydantic would take a number
        raise ValueError("must be a time in ISO 8601, such as 2026-11-23T10:00:00Z")
    if "T" in text and text[-6:-5] == " ":  # a plus sign that was not escaped in the address
        text = f"{text[:-6]}+{text[-5:]}"
    try:
        at = _DATETIME.validate_python(text)
    except ValidationError as error:
        raise ValueError("must be a time in ISO 8601, such as 2026-11-23T10:00:00Z") from error
    checked = to_utc(at)
    return checked if at.tzinfo else at


def time_reader(zone: tzinfo) -> Callable[[str], datetime]:
    """Return what converts a time in ISO 8601; one without an offset is of `zone`. It raises ValueError."""

    def read(text: str) -> datetime:
        at = to_time(text)
        return at if at.tzinfo else at.replace(tzinfo=zone)

    return read


def to_utc(at: datetime) -> datetime:
    """Convert a moment to UTC, which is also assumed where it has no zone.

    Raises ValueError outside the years 2 to 9998: in another zone the time could leave the calendar.
    """
    try:
        at = (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC)
    except OverflowError as error:
        raise ValueError("must lie in the years 2 to 9998") from error
    if not 2 <= at.year <= 9998:
        raise ValueError("must lie in the years 2 to 9998")
    return at


def read_dates(query: str, now: datetime, zone: tzinfo = UTC) -> tuple[Band, ...]:
    """Return the bands of the dates in a query; days are those of `zone`.

    A relative date, or one without a year, is the last such date before `now`.
    """
    text = query.casefold().replace("ё", "е")
    today = local(now, zone).date()
    spans = [*_months(re.findall(r"\w+", text), today), *_numeric(text, today), *_relative(text, today)]
    if not spans:
        spans = [_Days(date(int(year), 1, 1), date(int(year), 12, 31), 0.4) for year in _YEAR.findall(text)]
    return tuple(span.band(zone) for span in spans)


def named_moment(bands: Sequence[Band], now: datetime) -> datetime | None:
    """Return the middle of the earliest span of time that a query names, at most `now`; None without one."""
    middles = [band.start + (band.end - band.start) / 2 for band in bands if band.worth == 1.0]
    return min([*middles, now]) if middles else None


def _months(words: Sequence[str], today: date) -> Iterator[_Days]:
    for index, word in enumerate(words):
        month = month_number(word)
        if month is None:
            continue
        before, after = words[max(index - 2, 0) : index][::-1], words[index + 1 : index + 3]
        day = _day(before[1:] if before[:1] == ["of"] else before) or _day(after)
        year = next((int(one) for one in after if _YEAR.fullmatch(one)), None)
        if word in ("may", "mar", "march") and not (day or year or (before and before[0] in _BEFORE_MONTH)):
            continue  # may the verb, march the noun, Mar the name
        yield from _calendar(year or today.year - ((month, day or 1) > (today.month, today.day)), month, day)


def month_number(word: str) -> int | None:
    """The month that a word in lower case names, in English or Russian: `may`, `oct`, `октября`; None for others."""
    if word.isascii():
        return _EN_MONTH_NUMBERS.get(word)
    match = _RU_MONTH.fullmatch(word)
    return None if match is None or word == "ма" else _RU_MONTHS.index(match[1]) + 1


def _day(words: Sequence[str]) -> int | None:
    match = _DAY.fullmatch(words[0]) if words else None
    return int(match[1]) if match and 1 <= int(match[1]) <= 31 else None


def _numeric(text: str, today: date) -> Iterator[_Days]:
    for match in (*_ISO.finditer(text), *_DOTTED.finditer(text)):
        yield from _calendar(int(match["y"] or today.year), int(match["m"]), int(match["d"]) if match["d"] else None)


def _calendar(year: int, month: int, day: int | None) -> Iterator[_Days]:
    if not (1 <= month <= 12 and 1 < year < 9000):
        return
    last = monthrange(year, month)[1]
    if day is not None and 1 <= day <= last:
        yield from _around(date(year, month, day), 3, 10)
    else:
        yield from _span(date(year, month, 1), date(year, month, last), 15)


def _relative(text: str, today: date) -> Iterator[_Days]:
    near = next((days for pattern, days in _NEAR_DAYS if pattern.search(text)), None)
    if near is not None:
        yield from _around(_back(today, near), 0, 1)
    for match in _AGO.finditer(text) if "ago" in text or "назад" in text else ():
        unit = _unit(match)
        count = match["n"] or "1"
        blur = _DAYS_OF[unit] // 2
        yield from _around(_back(today, _DAYS_OF[unit] * int(_COUNTS.get(count, 0) or count)), blur, max(blur * 2, 1))
    for match in _THIS_OR_LAST.finditer(text):
        yield from _this_or_last(_unit(match), today, 1 if match["last"] else 0)
    for match in _WEEKDAY.finditer(text):
        names = _EN_DAYS if match[1].isascii() else _RU_DAYS
        number = next(number for number, name in enumerate(names) if match[1].startswith(name))
        yield from _around(_back(today, (today.weekday() - number - 1) % 7 + 1), 0, 1)


def _unit(match: re.Match[str]) -> str:
    return next(name for name, text in match.groupdict().items() if text and name not in ("n", "last"))


def _this_or_last(unit: str, today: date, back: int) -> Iterator[_Days]:
    if unit == "day":
        yield from _around(_back(today, back), 0, 1)
    elif unit == "weekend":
        saturday = _back(today, (today.weekday() - 5) % 7)
        yield from _span(saturday, _back(saturday, -1), 2)
    elif unit == "week":
        monday = _back(today, today.weekday() + 7 * back)
        yield from _span(monday, _back(monday, -6), 4)
    elif unit == "month":
        first = _back(today.replace(day=1), back).replace(day=1)
        yield from _span(first, first.replace(day=monthrange(first.year, first.month)[1]), 15)
    else:
        year = min(max(today.year - back, 2), 9998)
        yield _Days(date(year, 1, 1), date(year, 12, 31), 1.0)


def _around(day: date, near_days: int, far_days: int) -> Iterator[_Days]:
    """Yield the spans of a day: worth 1.0 within `near_days` of it, 0.5 within `far_days`."""
    yield _Days(_back(day, near_days), _back(day, -near_days), 1.0)
    yield _Days(_back(day, far_days), _back(day, -far_days), 0.5)


def _span(first: date, last: date, days_after: int) -> Iterator[_Days]:
    """Yield the days from `first` to `last`, worth 1.0, and `days_after` more, when people still speak of them."""
    yield _Days(first, last, 1.0)
    yield _Days(last, _back(last, -days_after), 0.4)


def _back(day: date, days: int) -> date:
    return date.fromordinal(min(max(day.toordinal() - days, 2), date.max.toordinal() - 1))
