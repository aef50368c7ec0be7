"""Phone numbers, of which models and users see the last four digits."""

from __future__ import annotations

import re

_DAY, _MONTH = r"(?:0?[1-9]|[12]\d|3[01])", r"(?:0?[1-9]|1[0-2])"
# What stands between the digits of a number as people write it: also signs of no width, and those of WhatsApp's styles.
_SEPARATORS = r"[ \u00a0\u2009\u202f\u200b-\u200f\u2060\ufeff\ufe0f\u20e3()._*~\-\u2010-\u2015/]{0,4}"
# 9 or more digits; what begins like a date is none. No part of a date is skipped but the day and the month.
_PHONE = re.compile(
    rf"(?<!\d)(?!(?:19|20)\d\d-\d\d-\d\d(?!\d)|{_DAY}[./\-]{_MONTH}[./\-](?:\d\d)?\d\d(?!\d))"
    rf"\+?\d(?:{_SEPARATORS}\d){{8,}}+"
)
_SHOWN_DIGITS = 4


def mask_phone(phone: str | None) -> str | None:
    """`***` and the last four digits; None for none."""
    if phone is None:
        return None
    digits = [one for one in phone if one.isdigit()]
    return "***" + "".join(digits[-_SHOWN_DIGITS:] if len(digits) > _SHOWN_DIGITS else "")


def mask_phones(text: str | None) -> str | None:
    """A text without the phone numbers in it, but for their last four digits."""
    return None if text is None else _PHONE.sub(lambda found: mask_phone(found.group()) or "", text)
