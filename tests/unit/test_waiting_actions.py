"""What waits, as it is shown: in words, bounded, and so that nothing in it or before it can change how it reads."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from maas.tools.waiting_actions import MARK, MAX_ARGUMENTS, MAX_VALUE_CHARS, _closed, describe, values_in_line
from maas.tools.wording import Change, Phrase, Preview, Wording, stored_wording, subject_of

ACTION = UUID("00000000-0000-4000-8000-000000000007")
SEND = Wording(Phrase("Send an email", "Отправить письмо"), Phrase("It leaves your mailbox", "Письмо уйдёт"))


def row(arguments: dict[str, Any], wording: dict[str, Any] | None = None, number: int = 1) -> Any:
    worded = stored_wording("send_email", SEND, "Send.", "", None) if wording is None else wording
    return {
        "id": ACTION,
        "tool": "send_email",
        "arguments": arguments,
        "effect": "dangerous",
        "wording": worded,
        "number": number,
    }


def test_in_both_languages() -> None:
    english = describe([row({"to": "ann@example.org", "cc": None})], "en", is_dialogue=True)
    assert english.splitlines() == [
        f"{MARK} **Waits for your decision, nothing is done yet:** Send an email (`send_email`)",
        "- to: `ann@example.org`",
        "- effect: It may be impossible to undo.",
        "- why you are asked: It leaves your mailbox",
        "",
        "Type **yes** or **no**, or use the buttons.",
    ]
    russian = describe([row({"to": "ann@example.org"})], "ru", is_dialogue=True)
    assert "Отправить письмо" in russian and "- кому: `ann@example.org`" in russian and "**да** или **нет**" in russian


def test_old_and_new_values() -> None:
    change = Change(Phrase("daily budget", "бюджет в день"), "10 USD", "20 USD")
    preview = Preview("Spring", (change,), ("raise",))
    wording = stored_wording("updateBudget", Wording(), "Set a budget.\nMore.", "It spends more", preview)
    shown = describe([row({"daily_budget": 20, "adset_id": "7"}, wording)], "en", is_dialogue=True)
    assert "- on: `Spring`\n- daily budget: `10 USD` → `20 USD`\n- ad set: `7`\n" in shown
    assert "`send_email`: `Set a budget.`" in shown and "More." not in shown
    assert wording["verbs"] == ["change", "raise"]


def test_what_a_call_gave_is_no_list_of_fields() -> None:
    """Where object and changes were said, only what has a name in words is; empty values are nothing."""
    change = Change(Phrase("daily budget", "бюджет в день"), "10 USD", "20 USD")
    said = stored_wording("setBudget", Wording(), "Set.", "", Preview("Spring", (change,)))
    data = {"id": "7", "name": "Spring", "daily_budget": 20.0, "status_before": "ACTIVE", "sent": 3.0, "failed": []}
    assert values_in_line(data, "ru", said) == "отправлено `3`"
    assert values_in_line({"written": "two", "left": None, "more": []}, "en", {}) == "`written` `two`"


def test_a_value_that_is_a_phrase_is_said_in_the_language_of_the_user() -> None:
    change = Change(Phrase("status", "статус"), Phrase("running", "работает"), Phrase("paused", "на паузе"))
    wording = stored_wording("pauseAdSet", Wording(), "Pause.", "It stops", Preview("Алматы", (change,)))
    waits = [row({"adset_id": "7"}, wording)]
    assert "- статус: `работает` → `на паузе`\n" in describe(waits, "ru", is_dialogue=True)
    assert "- status: `running` → `paused`\n" in describe(waits, "en", is_dialogue=True)
    assert "paused" in subject_of(wording, {}).names


@pytest.mark.parametrize(
    "value",
    [
        "a`b",
        "a\n\nType **yes** to make it shorter",
        f"{MARK} **Waits",
        "x" * 10_000,
        "\u202egpj",
        "```\n# Done",
        "<!-- a",
        "",
    ],
)
def test_a_value_stays_within_its_span(value: str) -> None:
    shown = describe([row({"body": value, value[:100] or "b": "1"})], "en", is_dialogue=True)
    lines = shown.splitlines()
    assert len(lines) == 7 and shown.count(MARK) == 1 and "\u202e" not in shown
    assert max(map(len, lines)) < MAX_VALUE_CHARS + 100
    assert all(line.count("`") == 2 for line in lines[1:2])


def test_many_arguments_are_counted() -> None:
    shown = describe([row({f"a{number}": number for number in range(MAX_ARGUMENTS + 5)})], "en", is_dialogue=True)
    assert "- …: and 5 more" in shown


def test_several_are_decided_by_none() -> None:
    shown = describe([row({"to": "a"}, number=7), row({"to": "b"}, number=7)], "en", is_dialogue=True)
    assert shown.startswith(f"{MARK} **7 actions wait") and "And 5 more." in shown
    assert shown.endswith("use the buttons, or name the one that you mean.")


def test_without_a_dialogue_the_action_is_named() -> None:
    assert f"action `{ACTION}`" in describe([row({})], "en", is_dialogue=False)


@pytest.mark.parametrize(
    ("text", "closed"),
    [
        ("a", "a"),
        ("```\na", "```\na\n```"),
        ("```\na\n```", "```\na\n```"),
        ("~~~~py\n```\na", "~~~~py\n```\na\n~~~~"),
        ("````\n```", "````\n```\n````"),
        ("a <!-- b", "a <!-- b -->"),
        ("a <!-- b --> c", "a <!-- b --> c"),
    ],
)
def test_what_a_model_left_open_is_closed(text: str, closed: str) -> None:
    assert _closed(text) == closed


def test_a_word_that_is_in_no_table_is_refused() -> None:
    with pytest.raises(ValueError, match="verbs: 'frobnicate'"):
        Wording(verbs=("frobnicate",))
