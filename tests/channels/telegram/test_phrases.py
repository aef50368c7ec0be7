"""What a bot says by itself is in the language of its user, also of what failed and of tools at work."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace
from typing import Any, cast, get_args
from uuid import uuid4

import pytest

from maas.channels.telegram.phrases import COMMANDS, PHRASES, Language
from maas.channels.telegram.progress import Progress
from maas.runs.event_stream import Event
from shared.models import ErrorCode

ENGLISH = "the provider answered 401: Incorrect API key provided"
LATIN = re.compile(r"[A-Za-z]{2,}")
NAMES = {"auto", "plan", "ask", "help", "mode", "maas", "doctor", "JPEG", "PNG", "WebP"}


def progress(language: Language, *events: tuple[str, dict[str, Any]]) -> str:
    shown = Progress(uuid4(), language)
    for kind, data in events:
        shown.take(cast(Event, SimpleNamespace(type=kind, data=json.dumps(data))))
    return shown.markdown


def test_both_languages_have_the_same_phrases() -> None:
    assert PHRASES["ru"].keys() == PHRASES["en"].keys() and COMMANDS["ru"].keys() == COMMANDS["en"].keys()
    for text in (*PHRASES["ru"].values(), *COMMANDS["ru"].values()):
        assert set(LATIN.findall(re.sub(r"\{\w+\}", "", text))) <= NAMES, text


@pytest.mark.parametrize("code", [*get_args(ErrorCode), "a_code_of_a_newer_server", None])
def test_a_failure_is_said_in_the_language_of_the_user(code: str | None) -> None:
    failed = ("error", {"code": code, "message": ENGLISH})
    russian = progress("ru", failed)
    assert russian.startswith("Ответа нет") and russian.endswith("Напишите ещё раз.") and not LATIN.search(russian)
    assert ENGLISH in progress("en", failed)


def test_a_failure_without_a_reason_is_a_sentence() -> None:
    failed = ("error", {"code": None, "message": None})
    assert progress("en", failed) == "No answer. Write it again."
    assert progress("ru", failed) == "Ответа нет. Напишите ещё раз."


def test_a_tool_at_work_has_its_title() -> None:
    """Two calls of one tool are one line, until both have ended; one without a title goes by its name."""
    title = {"en": "Report what was spent", "ru": "Показать расходы"}
    starts = [("tool_start", {"call_id": one, "tool": "getSpendReport", "title": title}) for one in ("1", "2")]
    other = ("tool_start", {"call_id": "1", "tool": "mail__send"})
    ends = [("tool_result", {"call_id": one, "tool": "getSpendReport"}) for one in ("1", "2")]
    assert progress("ru", *starts, other) == "⚙️ Показать расходы …\n⚙️ mail__send …"
    assert progress("en", *starts, ends[0]) == "⚙️ Report what was spent …"
    assert progress("en", *starts, *ends) == ""
