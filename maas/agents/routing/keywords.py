"""Keywords: which agent a question is for, as far as its words tell; Russian ones are known in any inflection."""

from __future__ import annotations

import re
from collections.abc import Sequence

from maas.assistants.agents import Agent

_VOWELS = "аеиоуыэюяйь"
_CYRILLIC = re.compile("[а-я]+")
# What may follow the stem of a noun or an adjective: any beginning would take "лидер" for "лиды".
_ENDING = re.compile(f"[{_VOWELS}]{{0,2}}(?:ми|го|му|[мвх])?[ийюе]?")


def by_keywords(question: str, agents: Sequence[Agent]) -> Agent | None:
    """The agent that has at least twice as many keywords in the question as any other; None without such a one."""
    words = _words(question)
    hits = {agent.name: sum(_holds(words, keyword) for keyword in agent.keywords) for agent in agents}
    first, *others = sorted(agents, key=lambda agent: -hits[agent.name])
    second = hits[others[0].name] if others else 0
    return first if hits[first.name] >= max(1, 2 * second) else None


def _holds(words: Sequence[str], keyword: str) -> bool:
    wanted = _words(keyword)
    places = range(len(words) - len(wanted) + 1) if wanted else ()
    return any(all(_is_form(words[place + n], one) for n, one in enumerate(wanted)) for place in places)


def _is_form(word: str, keyword: str) -> bool:
    stem = keyword.rstrip(_VOWELS)
    if len(stem) < 3 or not _CYRILLIC.fullmatch(keyword):
        return word == keyword
    return word.startswith(stem) and _ENDING.fullmatch(word, len(stem)) is not None


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold().replace("ё", "е"))
