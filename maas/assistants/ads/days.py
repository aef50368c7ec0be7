"""Days of the calendar."""

from __future__ import annotations

from calendar import monthrange
from datetime import date, timedelta

ONE_DAY = timedelta(days=1)
EARLIEST, LATEST = date(2000, 1, 1), date(2100, 12, 31)  # that a question may be about


def months_before(day: date, months: int) -> date:
    """The same day of the month `months` earlier, or the last day of that month if it is shorter."""
    year, month = divmod(day.year * 12 + day.month - 1 - months, 12)
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))
