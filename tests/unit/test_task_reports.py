"""Reports of tasks: in words of the user's language, whatever tools gave and servers said."""

from __future__ import annotations

from typing import Any

import pytest

from maas.agents.task_report import report
from maas.agents.tasks import joined
from maas.tools.calls import refused

SERVER_ERROR = refused("failed", "Error executing tool create_calendar_event: the mail service answers 503")
SKIPPED = refused("failed", "a step that it depends on is not done") | {"error_code": "skipped"}
WAITING = refused("approval_required", "it waits")
NOT_APPROVED = {"success": False, "error_code": "rejected", "message": "none", "calls": {"rejected": 2}}


@pytest.mark.parametrize(
    ("status", "body", "ru", "en"),
    [
        ("done", {"success": True, "data": {"created": "Планёрка", "n": 1, "to": ["a"]}}, "сделано. Планёрка", None),
        ("done", {"success": True, "data": {"id": 7}}, "сделано", "done"),
        ("done", {"success": True, "text": "Все свободны."}, "сделано. Все свободны.", None),
        ("failed", SERVER_ERROR, "не удалось", f"failed. {SERVER_ERROR['message']}"),
        ("failed", SERVER_ERROR | {"say": "Почта не отвечает."}, "не удалось. Почта не отвечает.", None),
        ("skipped", SKIPPED, "не начато. Не выполнен шаг, от которого он зависит.", None),
        ("waiting", WAITING, "ждёт вашего подтверждения", "waits for your approval"),
        ("pending", None, "начнётся после вашего решения", "begins once you have decided"),
        ("skipped", NOT_APPROVED, "вы отказались (2)", "rejected by you (2)"),
        ("in_doubt", refused("in_doubt", "unknown"), "неизвестно, проверьте", None),
    ],
)
def test_a_report_has_no_json_and_no_foreign_words(status: str, body: Any, ru: str, en: str | None) -> None:
    steps = [{"number": 1, "title": "Шаг", "status": status, "result": body}]
    assert report("Дело", steps, "ru").splitlines()[2] == f"1. Шаг: {ru}"
    assert en is None or report("Дело", steps, "en").splitlines()[2] == f"1. Шаг: {en}"


def test_calls_that_are_too_many_are_left_out_and_counted() -> None:
    """Each result is whole or says itself what is missing from it."""
    long = {"success": True, "data": [{"id": number} for number in range(300)], "_meta": {}}
    body, _ = joined([(long, "done")] * 20)
    assert {len(one["data"]) for one in body["data"]} and len(body["data"]) == 20
    assert all(one["_meta"]["left_out"]["data"]["of"] == 300 for one in body["data"])
    refusal = refused("failed", "no " * 300)
    body, _ = joined([(refusal, "failed")] * 40)
    assert body["_meta"]["left_out"] == {"data": {"rows": 40 - len(body["data"]), "of": 40}}


def test_several_calls_of_a_step_are_counted() -> None:
    done = {"success": True, "data": {"id": 1}}
    body, status = joined([(done, "done"), (WAITING, "waiting"), (done, "done"), (SERVER_ERROR, "failed")])
    assert (status, body["success"], len(body["data"])) == ("failed", False, 4)
    text = report("Дело", [{"number": 1, "title": "Шаг", "status": status, "result": body}], "ru")
    assert text.splitlines()[2] == "1. Шаг: сделано (2), ждёт вашего подтверждения (1), не удалось (1)"
