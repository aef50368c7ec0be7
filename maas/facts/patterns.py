"""The form of a pattern of facts, and the words that look like names and are dates."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

PatternChange = Literal["states", "begins", "ends"]
PatternKind = Literal["identity", "relation", "preference", "event", "state", "possession"]


class Pattern(NamedTuple):
    """A pattern that covers a whole clause.

    Its groups: `who` or `kin` is the subject, by default the user; others fill the braces of `attribute`.
    """

    kind: PatternKind
    attribute: str
    regex: re.Pattern[str]
    change: PatternChange = "states"


def pattern(kind: PatternKind, attribute: str, regex: str, change: PatternChange = "states") -> Pattern:
    """A pattern from the text of its regular expression."""
    return Pattern(kind, attribute, re.compile(regex), change)


TOOLS = (  # capitalised, and neither a town nor an employer
    r"Linux|Ubuntu|Windows|mac ?OS|Mac|Android|iOS|iPhone|Slack|Teams|Zoom|Jira|Notion|Trello|Figma|Excel|Word|"
    r"PowerPoint|Photoshop|Python|Rust|Go|Golang|Java|JavaScript|TypeScript|Kotlin|Chrome|Firefox|Safari|Vim|Emacs|"
    r"Git|GitHub|GitLab|AWS|Azure|Google Cloud|Kubernetes|Docker|Postgres\w*|MySQL|Gmail|Outlook|WhatsApp|Telegram|"
    r"Discord|Signal|Twitter|Instagram|Facebook|TikTok|YouTube|Duolingo|Spotify|Netflix"
)
DEPARTMENTS = (
    r"Marketing|Sales|Finance|Support|Engineering|Legal|Accounting|Operations|Product|Design|HR|IT|QA|PR|Generation|"
    r"Plan|Level|Version|Phase|Team|Stage|Step|Class|Grade|Tier|Room|Row|Seat"
)
DATES = re.compile(
    r"(?i:(?:the )?(?:mon|tues|wednes|thurs|fri|satur|sun)days?|january|february|march|april|may|june|july|august|"
    r"september|october|november|december|christmas|easter|понедельник\w*|вторник\w*|сред[уаы]|четверг\w*|"
    r"пятниц\w*|суббот\w*|воскресень\w*|январ\w|феврал\w|март\w?|апрел\w|ма[йяе]|июн\w|июл\w|август\w?|сентябр\w|"
    r"октябр\w|ноябр\w|декабр\w)(?:\s.*)?"
)
