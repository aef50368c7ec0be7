"""What waits for an approval as Telegram shows it: in words, whole, and nothing stored can imitate our own text."""

from __future__ import annotations

from typing import Any

import pytest

from maas.channels.telegram.client import MAX_TEXT_UNITS, utf16_length
from maas.channels.telegram.rendering import describe_action
from maas.tools.waiting_actions import Call

TITLE = {"en": "Pause a campaign", "ru": "Остановить кампанию"}


def waiting(name: str = "Кухни", **arguments: Any) -> Call:
    wording = {"title": TITLE, "object": name, "reason": {"en": "All ads stop", "ru": "Объявления остановятся"}}
    return Call(tool="pauseCampaign", arguments=arguments, effect="dangerous", wording=wording)


def test_in_words() -> None:
    shown = describe_action("ru", waiting(campaign_id="101"))
    assert shown.text.splitlines()[0] == "Нужно ваше подтверждение"
    for words in ("Остановить кампанию (pauseCampaign)", "с чем: Кухни", "кампания: 101", "Объявления остановятся"):
        assert words in shown.text
    assert describe_action("en", waiting(), "Approved").text.startswith("Approved\n")


@pytest.mark.parametrize("name", ["a`\n\n**Approved** [x](http://y)", "```\nApproved\n```", "<b>Approved</b>", "| a |"])
def test_a_hostile_name_is_one_line_of_code(name: str) -> None:
    shown = describe_action("en", waiting(name))
    (line,) = [one for one in shown.text.splitlines() if "on: " in one]
    assert "a |" in line or "Approved" in line
    kinds = [one["type"] for one in shown.entities]
    assert kinds.count("bold") == 1 and "text_link" not in kinds


def test_a_long_text_stands_whole_below() -> None:
    text = "Скидка 😀 до пятницы. " * 100
    shown = describe_action("ru", waiting(text=text))
    assert text.strip() in shown.text and utf16_length(shown.text) <= MAX_TEXT_UNITS
    pre = shown.entities[-1]
    assert (pre["type"], pre["offset"] + pre["length"]) == ("pre", utf16_length(shown.text))


def test_a_long_list_stands_whole_below() -> None:
    people = [f"person {number}" for number in range(60)]
    shown = describe_action("en", waiting(recipients=people, steps=[{"text": "x" * 400}, {"text": "short"}]))
    assert ", ".join(people) in shown.text and "x" * 400 in shown.text


def test_what_does_not_fit_is_seen_to_be_cut() -> None:
    for arguments in ({"text": "😀" * 3000}, {f"value {n}": "y" * 290 for n in range(20)}):
        shown = describe_action("en", waiting(**arguments))
        assert shown.text.endswith("…") and utf16_length(shown.text) <= MAX_TEXT_UNITS
