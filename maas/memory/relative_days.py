"""Relative days: puts the date before words such as `tomorrow` or `через две недели`, in English and Russian.

Only words that name one day are dated; `on Friday` may be a day that was or one that comes.
"""

from __future__ import annotations

import re
from datetime import date, timedelta

_NEAR = {
    "day before yesterday": -2,
    "yesterday": -1,
    "tomorrow": 1,
    "day after tomorrow": 2,
    "позавчера": -2,
    "вчера": -1,
    "завтра": 1,
    "послезавтра": 2,
}
_NUMBERS = (
    "a an one один одну",
    "two два две",
    "three три",
    "four четыре",
    "five пять",
    "six шесть",
    "seven семь",
    "eight восемь",
    "nine девять",
    "ten десять",
)
_COUNTS = {word: count for count, words in enumerate(_NUMBERS, start=1) for word in words.split()}
_COUNT = r"\d{1,3}|[^\W\d_]{1,6}"
_UNIT = r"(?P<{}week>weeks?|недел[юиь])|(?P<{}day>days?|день|дня|дней)"
_WORDS = re.compile(
    r"(?P<dated>\d{4}-\d\d-\d\d \([^()]{1,40}\))"
    rf"|\b(?:the )?(?P<near>{'|'.join(sorted(_NEAR, key=len, reverse=True))})\b(?!\s?[-=:(]?\s?\d{{4}}-)"
    rf"|\b(?P<ahead>in|через)\s{{1,3}}(?:(?P<count>{_COUNT})\s{{1,3}})?(?:{_UNIT.format('', '')})\b(?!\s(?:ago|назад))"
    rf"|\b(?:(?P<past>{_COUNT})\s{{1,3}})?(?:{_UNIT.format('past_', 'past_')})\s{{1,3}}(?:ago|назад)\b",
    re.IGNORECASE,
)
_ONE = frozenset(("week", "day", "неделю", "день"))


def with_dates(text: str, day: date) -> str:
    """Return a text that was said on `day` with a date before each word for a day: `2026-11-25 (tomorrow)`."""
    return _WORDS.sub(lambda match: _dated(match, day), text)


def _dated(match: re.Match[str], day: date) -> str:
    days = _distance(match)
    try:
        return match[0] if days is None else f"{day + timedelta(days)} ({match[0]})"
    except OverflowError:
        return match[0]


def _distance(match: re.Match[str]) -> int | None:
    """Return how many days lie between a day and what the words name; None where they do not say it."""
    if match["dated"]:
        return None
    if near := match["near"]:
        return _NEAR[near.casefold()]
    week = match["week"] or match["past_week"]
    unit = (week or match["day"] or match["past_day"]).casefold()
    word = (match["count"] or match["past"] or ("1" if unit in _ONE else "")).casefold()
    count = int(word) if word.isdecimal() else _COUNTS.get(word)
    if count is None:
        return None
    days = count * (7 if week else 1)
    return days if match["ahead"] else -days
