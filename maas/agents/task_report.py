"""The report of a task: how far it came, in words of the user's language, without JSON and errors of servers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from maas.agents.approvals import REASONS, readable_reason
from maas.conversations.language import Spoken
from shared.text import one_line, shorten

MAX_DATA_CHARS = 300  # of a tool's result
MAX_TEXT_CHARS = 2000  # of a model's text
MAX_REPORT_CHARS = 30_000
STATES: Mapping[Spoken, Mapping[str, str]] = {
    "en": {
        "done": "done",
        "failed": "failed",
        "in_doubt": "in doubt, please check",
        "skipped": "not begun",
        "waiting": "waits for your approval",
        "pending": "begins once you have decided",
        "rejected": "rejected by you",
        "expired": "nobody decided in time",
    },
    "ru": {
        "done": "сделано",
        "failed": "не удалось",
        "in_doubt": "неизвестно, проверьте",
        "skipped": "не начато",
        "waiting": "ждёт вашего подтверждения",
        "pending": "начнётся после вашего решения",
        "rejected": "вы отказались",
        "expired": "решения не дождались",
    },
}
TASK_REASONS: Mapping[Spoken, Mapping[str, str]] = {
    "en": {
        "skipped": "A step that it depends on is not done.",
        "over_budget": "The task has reached its limit.",
        "TOOL_CALL_LIMIT": "The task has used all its calls.",
        "timeout": "There was no answer in time.",
    },
    "ru": {
        "skipped": "Не выполнен шаг, от которого он зависит.",
        "over_budget": "Задача исчерпала свой бюджет.",
        "TOOL_CALL_LIMIT": "Задача исчерпала предел вызовов.",
        "timeout": "Ответа не дождались.",
    },
}
SUMMARIES = {
    "en": "{title}: {done} of {total} steps are done.",
    "ru": "{title}: сделано шагов: {done} из {total}.",
}


def report(title: str, steps: Sequence[Mapping[str, Any]], language: Spoken) -> str:
    """The report of a task in words: how far it came, then each step with its state and what came of it."""
    done = sum(step["status"] == "done" for step in steps)
    shown = shorten(one_line(title), 200).rstrip(".")
    lines = [SUMMARIES[language].format(title=shown, done=done, total=len(steps)), ""]
    for step in steps:
        body = step["result"] or {}
        counts: Mapping[str, int] = body.get("calls") or {}
        named = ", ".join(f"{STATES[language].get(one, one)} ({n})" for one, n in counts.items())
        state = named or STATES[language].get(step["status"], step["status"])
        outcome = _outcome_of(body, language)
        lines.append(f"{step['number']}. {one_line(step['title'])}: {state}" + (f". {outcome}" if outcome else ""))
    return shorten("\n".join(lines), MAX_REPORT_CHARS)


def _outcome_of(body: Mapping[str, Any], language: Spoken) -> str:
    """What came of a step, in words: a model's text, the texts that a tool gave, or why it is not done."""
    if "text" in body:
        return shorten(str(body["text"]), MAX_TEXT_CHARS)
    if body.get("success"):
        data = body.get("data")
        values = data.values() if isinstance(data, Mapping) else [data]
        return shorten("; ".join(one_line(one) for one in values if isinstance(one, str)), MAX_DATA_CHARS)
    code = body.get("error_code", "")
    if code in ("approval_required", "rejected"):
        return ""
    known = REASONS[language].get(code) or TASK_REASONS[language].get(code)
    return known or shorten(one_line(readable_reason(body, language)), MAX_DATA_CHARS)
