"""Phone numbers in texts: four digits stay, however they are written; prices, dates and times stay as they are."""

from __future__ import annotations

import re

import pytest

from maas.assistants.ads.phones import mask_phone, mask_phones


@pytest.mark.parametrize(
    "phone",
    [
        "+7 (701) 123-45-67",
        "87011234567",
        "8 701 123 45 67",
        "7.701.123.45.67",
        "+7-701-123-45-67",
        "7 701 - 123 - 45 - 67",
        "+7\u00a0701\u00a0123\u00a045\u00a067",
        "7\u200b701\u200b123\u200b45\u200b67",
        "*7701*1234567",
        "7_701_123_45_67",
        "7\u2011701\u2011123\u201145\u201167",
        "77011234567@s.whatsapp.net",
        "007 701 123 45 67",
        "٧٧٠١١٢٣٤٥٦٧",
        "7️⃣7️⃣0️⃣1️⃣1️⃣2️⃣3️⃣4️⃣5️⃣6️⃣7️⃣",
        "8.9.1234 567 89 01",
        "12.12.2026 345 678 90",
    ],
)
@pytest.mark.parametrize("around", ["{}", "тел.{}", "Call {}!", "<b>{}</b>", "a{}b", "id:{},", "({})"])
def test_a_number_is_masked_wherever_it_stands(phone: str, around: str) -> None:
    masked = mask_phones(around.format(phone)) or ""
    longest = max((len(re.sub(r"\D", "", one)) for one in re.findall(r"[\d .()_*~/-]+", masked)), default=0)
    assert "***" in masked and longest <= 8, masked


@pytest.mark.parametrize(
    "text",
    [
        "Цена 120 000, скидка 15 000",
        "приезжайте 23.11.2026 15:00",
        "2026-11-23 12:30",
        "2026-11-23T12:30:15",
        "12:30 12:45 13:00",
        "квартира 45, дом 12",
        "1, 2, 3, 4, 5, 6, 7, 8, 9, 10",
        "8 800",
        "",
        "12345678",
        "с 05.11.2026 по 07.11.2026",
        "23/11/26 15:00",
    ],
)
def test_what_is_no_number_stays(text: str) -> None:
    assert mask_phones(text) == text


def test_two_numbers_side_by_side() -> None:
    assert mask_phones("+77011234567, +77019876543") == "***4567, ***6543"
    assert mask_phones("77011234567 77019876543") == "***6543"


def test_nothing_and_short_ones() -> None:
    assert (mask_phones(None), mask_phone(None), mask_phone("1234"), mask_phone("")) == (None, None, "***", "***")
    assert mask_phone("+7 (701) 123-45-67") == "***4567"
