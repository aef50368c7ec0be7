"""The period that a question names itself, in English and Russian: read by code, since small models get it wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from typing import NamedTuple

from maas.assistants.ads.days import EARLIEST, ONE_DAY, months_before
from maas.memory.dates import month_number

Arguments = Mapping[str, str]

_UNITS = {
    "week": r"недел[а-я]{1,4}|weeks?",
    "month": r"месяц[а-я]{0,3}|months?",
    "quarter": r"квартал[а-я]{0,3}|quarters?",
    "year": r"год[а-я]{0,3}|лет|years?",
}
_UNIT = "|".join(f"(?P<{name}>{words})" for name, words in _UNITS.items())
_THIS = re.compile(rf"\b(?:эт(?:от|а|ой|у|ом|ого)|текущ[а-я]{{2,3}}|(?:с )?начала|this|current)\s+(?:{_UNIT})\b")
_LAST = re.compile(rf"\b(?:прошл[а-я]{{2,3}}|предыдущ[а-я]{{2,3}}|last|previous)\s+(?:{_UNIT})\b")
_ROLLING = re.compile(rf"\b(?:за|(?:за|в) последн[а-я]{{2,3}}|past|over (?:a|the)|in a)\s+(?:{_UNIT})\b")
_COUNTED = re.compile(
    rf"\b(?:за|последни[а-я]{{1,2}}|last|past)\s+(?P<n>[1-9]\d{{0,2}})\s+(?:(?P<day>дн[а-я]{{1,2}}|день|days?)|{_UNIT})\b"
)
_FIXED = (
    (re.compile(r"\b(?:сегодня[а-я]{0,5}|today)\b"), "today"),
    (re.compile(r"\b(?:вчера[а-я]{0,5}|yesterday)\b"), "yesterday"),
    (re.compile(r"\b(?:полгода|half a year)\b"), "last_6m"),
    (re.compile(r"\b(?:все время|весь период|all[ -]time)\b"), "all"),
)
_OF_UNIT = {"week": "last_7d", "month": "last_30d", "quarter": "last_90d", "year": "last_12m"}
_OF_COUNT = {
    (7, "day"): "last_7d",
    (14, "day"): "last_14d",
    (30, "day"): "last_30d",
    (90, "day"): "last_90d",
    (1, "week"): "last_7d",
    (2, "week"): "last_14d",
    (6, "month"): "last_6m",
    (12, "month"): "last_12m",
    (1, "year"): "last_12m",
}
_WORD = re.compile(r"\d{4}-\d\d-\d\d|\d\d?\.\d\d\.\d{4}|\w+")
_NUMERIC = (
    re.compile(r"(?P<y>20\d\d)-(?P<m>\d\d)-(?P<d>\d\d)"),
    re.compile(r"(?P<d>\d\d?)\.(?P<m>\d\d)\.(?P<y>20\d\d)"),
)
_DAY = re.compile(r"([1-9]|[12]\d|3[01])(?:го|st|nd|rd|th)?")
_YEAR = re.compile(r"(20\d\d)")
_AMBIGUOUS = {"may", "mar", "march"}  # words of other meanings
_SINCE, _UNTIL = {"с", "со", "from", "since", "between"}, {"по", "до", "to", "until", "till", "and"}
MAX_QUESTION_CHARS = 2_000


class Span(NamedTuple):
    """Days that words name: the places of the first and the last of the words, the first and the last day."""

    start: int
    end: int
    first: date
    last: date


def question_period(question: str, today: date) -> Arguments:
    """Return `period`, or `date_from` and `date_to`, as a tool takes them; empty for none and for several periods.

    A day or a month without its year is the last one that has begun. `today` is that of the one who asks.
    """
    text = question[:MAX_QUESTION_CHARS].casefold().replace("ё", "е")
    found = [*_named(text, today), *_dates(_WORD.findall(text), today)]
    return found[0] if found and all(one == found[0] for one in found) else {}


def _named(text: str, today: date) -> Iterator[Arguments]:
    for pattern, name in _FIXED:
        if pattern.search(text):
            yield {"period": name}
    for pattern, prefix in ((_THIS, "this"), (_LAST, "last")):
        for match in pattern.finditer(text):
            yield {"period": f"{prefix}_{_unit(match)}"}
    for match in _ROLLING.finditer(text):
        yield {"period": _OF_UNIT[_unit(match)]}
    for match in _COUNTED.finditer(text):
        yield _counted(int(match["n"]), _unit(match), today)


def _unit(match: re.Match[str]) -> str:
    return next((name for name in ("day", *_UNITS) if match.groupdict().get(name)), "day")


def _counted(count: int, unit: str, today: date) -> Arguments:
    if name := _OF_COUNT.get((count, unit)):
        return {"period": name}
    months = {"month": 1, "quarter": 3, "year": 12}.get(unit)
    if months is None:
        first = today - timedelta(days=count * (7 if unit == "week" else 1)) + ONE_DAY
    else:
        first = months_before(today, count * months) + ONE_DAY
    return _days(max(first, EARLIEST), today)


def _dates(words: Sequence[str], today: date) -> Iterator[Arguments]:
    """Two dates joined as from one to the other are one period; others stand by themselves."""
    dates = list(_spans(words, today))
    if len(dates) == 2 and _is_range(words, dates):
        yield _days(dates[0].first, dates[1].last)
        return
    for one in dates:
        before = words[one.start - 1] if one.start else ""
        if before in _SINCE:
            yield {"date_from": one.first.isoformat()}
        elif before not in _UNTIL:
            yield _days(one.first, one.last)


def _is_range(words: Sequence[str], dates: Sequence[Span]) -> bool:
    (start, end, *_), (other, *_) = dates
    return start > 0 and words[start - 1] in _SINCE and end + 2 == other and words[end + 1] in _UNTIL


def _spans(words: Sequence[str], today: date) -> Iterator[Span]:
    for index, word in enumerate(words):
        if day := _numeric(word):
            yield Span(index, index, day, day)
        elif month := month_number(word):
            yield from _of_month(words, index, month, today)


def _of_month(words: Sequence[str], at: int, month: int, today: date) -> Iterator[Span]:
    """The days of a month that words name: `5 октября`, `October 5`, `с 1 по 15 ноября`, or all of it."""
    start, end, day = at, at, _number(_DAY, words, at - 1)
    if day:
        start -= 1
    elif words[at].isascii() and (day := _number(_DAY, words, at + 1)):
        end += 1
    if year := _number(_YEAR, words, end + 1):
        end += 1
    if not day and words[at] in _AMBIGUOUS and words[at - 1 : at] not in (["in"], ["for"]):
        return
    first = _latest(day or 1, month, year, today)
    if first is None:
        return
    if not day:
        yield Span(start, end, first, (first + timedelta(days=31)).replace(day=1) - ONE_DAY)
        return
    is_end = 1 < start < at and words[start - 1] in _UNTIL
    if is_end and (earlier := _number(_DAY, words, start - 2)) and earlier <= first.day:
        yield Span(start - 2, start - 2, *[first.replace(day=earlier)] * 2)
    yield Span(start, end, first, first)


def _number(pattern: re.Pattern[str], words: Sequence[str], at: int) -> int | None:
    match = pattern.fullmatch(words[at]) if 0 <= at < len(words) else None
    return int(match[1]) if match else None


def _numeric(word: str) -> date | None:
    match = next((found for pattern in _NUMERIC if (found := pattern.fullmatch(word))), None)
    return match and _latest(int(match["d"]), int(match["m"]), int(match["y"]), date.max)


def _latest(day: int, month: int, year: int | None, today: date) -> date | None:
    """This day of this year, or of the last one if it has not come yet; None if there is no such day."""
    try:
        found = date(year or today.year, month, day)
        return found if year or found <= today else date(today.year - 1, month, day)
    except ValueError:
        return None


def _days(first: date, last: date) -> Arguments:
    return {"date_from": first.isoformat(), "date_to": last.isoformat()}
