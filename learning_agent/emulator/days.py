"""The calendar of a scenario: its last day of talk is today, and `{day 12}` in a text is the date of day 12.

`{day 12}` is written out (27 November), `{iso 12}` is 2026-11-27, `{weekday 12}` is the name of the day.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

_PLACEHOLDER = re.compile(r"\{(day|iso|weekday) (\d{1,4})\}")
FIRST_HOUR = 9
MONTHS = {
    "en": (
        "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
        "December",
    ),
    "ru": (
        "января", "февраля", "марта", "апреля", "мая", "июня", "июля", "августа", "сентября", "октября", "ноября",
        "декабря",
    ),
}  # fmt: skip
WEEKDAYS = {
    "en": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    "ru": ("понедельник", "вторник", "среда", "четверг", "пятница", "суббота", "воскресенье"),
}


def names_a_day(text: str) -> bool:
    """Whether a text holds a placeholder of a day."""
    return _PLACEHOLDER.search(text) is not None


@dataclass(frozen=True, slots=True)
class Calendar:
    """`today` is the day number `current` of the scenario."""

    today: date
    current: int
    language: str

    def date_of(self, day: int) -> date:
        """The date of a day of the scenario."""
        return self.today + timedelta(days=day - self.current)

    def moment(self, day: int, position: int, now: datetime) -> datetime:
        """When the message at a position of a day was said: from nine in the morning on, but never in the future."""
        at = datetime.combine(self.date_of(day), time(FIRST_HOUR), UTC) + timedelta(minutes=position)
        return min(at, now - timedelta(hours=1) + timedelta(seconds=position))

    def render(self, text: str) -> str:
        """The text with its placeholders written out."""
        return _PLACEHOLDER.sub(lambda found: self._written(found[1], self.date_of(int(found[2]))), text)

    def _written(self, form: str, day: date) -> str:
        if form == "iso":
            return day.isoformat()
        if form == "weekday":
            return WEEKDAYS[self.language][day.weekday()]
        return f"{day.day} {MONTHS[self.language][day.month - 1]}"


def utc_now() -> datetime:
    """The present time."""
    return datetime.now(UTC)
