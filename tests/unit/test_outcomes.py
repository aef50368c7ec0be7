"""What a user reads of an action when no model tells it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import pytest

from maas.agents.approvals import MAX_RESULT_CHARS, REASONS, SENTENCES, ActionOutcome, ActionStatus, outcome_sentence

ARGUMENTS = {"sum": 5, "to": "{call}", "items": [{"name": "a`b"}]}
CALL = "`pay` (`sum` `5`; "


def outcome(status: ActionStatus, body: dict[str, Any]) -> ActionOutcome:
    return ActionOutcome("pay", ARGUMENTS, {}, None, status, body, "pay", is_of_task=False)


@pytest.mark.parametrize(
    ("language", "status", "body", "words"),
    [
        ("en", "done", {"success": True, "data": {"id": 7}}, ["Done", CALL, "to `{call}`", "name: aˋb", "`id` `7`"]),
        ("ru", "done", {"success": True, "data": ["да"]}, ["Сделано", CALL, "кому `{call}`", "`да`"]),
        ("en", "failed", {"error_code": "failed", "message": "no money"}, ["failed", CALL, "no money"]),
        ("ru", "failed", {"error_code": "tool_changed", "message": "pay is"}, ["не удалось", "инструмент изменился"]),
        ("ru", "failed", {"error_code": "failed", "message": "нет денег"}, ["не удалось", CALL, "нет денег"]),
        ("en", "in_doubt", {}, ["Nobody knows", CALL]),
        ("ru", "in_doubt", {"error_code": "timeout", "message": "x"}, ["Неизвестно", CALL]),
    ],
)
def test_a_sentence_of_ours(
    language: Literal["ru", "en"], status: ActionStatus, body: dict[str, Any], words: list[str]
) -> None:
    said = outcome_sentence(outcome(status, body), language)
    assert [word for word in words if word not in said] == []
    assert '"' not in said and "{" not in said.replace("{call}", "")


def test_what_a_server_says_in_another_language_is_for_developers() -> None:
    failed = outcome("failed", {"error_code": "failed", "message": "Error executing tool pay: 503"})
    assert "Error" in outcome_sentence(failed, "en")
    said = outcome_sentence(failed, "ru")
    assert said.startswith("То, что вы одобрили, не удалось") and said.endswith(").") and "Error" not in said


def test_a_long_result_is_cut() -> None:
    said = outcome_sentence(outcome("done", {"success": True, "data": "word " * MAX_RESULT_CHARS}), "en")
    assert len(said) < MAX_RESULT_CHARS and "…" in said


def test_a_title_says_what_was_done() -> None:
    wording = {"title": {"en": "Pay an invoice", "ru": "Оплатить счёт"}, "object": "Mill"}
    said = outcome_sentence(replace(outcome("done", {"success": True, "data": None}), wording=wording), "ru")
    assert said.startswith("Сделано, как вы одобрили: Оплатить счёт (с чем `Mill`; ") and said.endswith(").")


def test_both_languages_say_the_same() -> None:
    assert SENTENCES["ru"].keys() == SENTENCES["en"].keys()
    assert REASONS["ru"].keys() == REASONS["en"].keys()
