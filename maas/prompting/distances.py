"""Distances: how far the dates in memory are from the time of a question, where the Responder reads them.

Drafts and payloads are stored without: their lines stay as they were found.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Mapping
from dataclasses import replace
from datetime import date

from maas.engine.drafts import Payload
from maas.engine.run import Run
from maas.engine.stages import Deps
from maas.prompting.now import Language, distance, today_of
from maas.prompting.prompts import prompt_language
from shared import tokens

MAX_DATES_OF_LINE = 2
_DATE = re.compile(r"(?<![\w/.:@-])(\d{4}-\d\d-\d\d)(?: \d\d:\d\d)?(?![\w/:-]|\.\w)")
_DATED_LINE = re.compile(r"(?:- )?\[|Summary: |Earlier in this conversation: ")
_PERIOD = re.compile(r"(?<=^Period: )(?P<year>\d{4})-(?P<kind>Week|Month)-(?P<number>\d\d)")
_SPAN: Mapping[Language, str] = {"en": "{0} to {1}", "ru": "с {0} по {1}"}


async def with_distances(payload: Payload, run: Run, deps: Deps) -> Payload:
    """A copy of a payload with distances at the dates of its memory; the same payload where they do not fit.

    The label of a period becomes its first and last day, because answers repeat what they read.
    """
    if not payload.memory.strip():
        return payload
    language = await prompt_language(deps, run.assistant, run.assistants_version)
    today = await today_of(run, deps)
    lines = payload.memory.split("\n")
    dated = replace(payload, memory="\n".join(line_with_distances(line, today, language) for line in lines))
    limit = tokens.within(deps.settings.answers.payload_tokens, deps.models["FinalResponder"].provider)
    used = sum(tokens.count(line + "\n") for line in lines)  # line by line: those counts are cached
    added = len(dated.memory) - len(payload.memory)  # characters: more than tokens
    return dated if used + added <= payload.room(limit) else payload


def line_with_distances(line: str, today: date, language: Language) -> str:
    """A line of memory with the distances of its first dates: `- [2026-11-03 (3 weeks ago)] Ann: ...`."""
    if line.startswith("Period: "):
        return _PERIOD.sub(lambda match: _days_of(match, today, language), line)
    if _DATED_LINE.match(line) is None:
        return line
    return _DATE.sub(lambda match: _with_distance(match, today, language), line, count=MAX_DATES_OF_LINE)


def _with_distance(match: re.Match[str], today: date, language: Language) -> str:
    try:
        return f"{match[0]} ({distance(date.fromisoformat(match[1]), today, language)})"
    except ValueError:  # 2026-13-45
        return match[0]


def _days_of(match: re.Match[str], today: date, language: Language) -> str:
    year, number = int(match["year"]), int(match["number"])
    try:
        if match["kind"] == "Week":
            first, last = (date.fromisocalendar(year, number, day) for day in (1, 7))
        else:
            first, last = date(year, number, 1), date(year, number, monthrange(year, number)[1])
    except ValueError:
        return match[0]
    far = "" if first <= today <= last else f" ({distance(last if last < today else first, today, language)})"
    return _SPAN[language].format(first, last) + far
