"""The Final Responder's answer by rules: up to three lines of memory, quoted with speaker and date."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from shared.models.extractive import markers
from shared.models.extractive.assembler import FOUND
from shared.models.extractive.voice import VOICES, Voice, is_own, is_small_talk
from shared.models.extractive.words import content, language, stem, words
from shared.text import one_line, sentences, shorten, unescape

_LINE = re.compile(r"(?:[-*•]\s*)?\[(?P<at>[^\]\n]{4,40})\]\s*(?:(?P<who>[^:\n]{1,60}?):\s)?(?P<said>.*)", re.DOTALL)
_HEADING = re.compile(
    r"(?:[-*•#]+\s*)?(?P<name>Period|Summary|Период|Сводка)\s*:\s*(?P<rest>.*)", re.DOTALL | re.IGNORECASE
)
_ASKS = re.compile(
    r"\?|^\W*(?:кто|что|где|когда|куда|откуда|почему|зачем|как|какой|какая|какие|какое|какую|каким|сколько|чей|чья|чье|напомни|"
    r"расскажи|скажи|покажи|назови|найди|перечисли|объясни|продолж\w+|помнишь|who|what|where|when|why|how|which|whose|do|does|did|"
    r"is|are|was|were|can|could|tell|remind|list|show|find|name|explain|continue|remember)\b",
    re.IGNORECASE,
)
_MARKED = re.compile(r"[?？][?？!…. \"'»”’)\]]{0,8}$")
# Without a mark: a word that asks, or asks to tell. "What I need is …" and "Когда я жил …" are told, not asked.
_UNMARKED = re.compile(
    r"\W{0,8}(?:(?:кто|что|где|куда|откуда|почему|зачем|как|какой|какая|какие|какое|какую|каким|сколько|чей|чья|чье|"
    r"напомни|расскажи|скажи|покажи|назови|перечисли|объясни)(?![-\w])|"
    r"(?:who|what|where|why|how|which|whose)(?![-'’\w])(?! (?:i|we|you|he|she|they|it)\b)|"
    r"(?:tell me|remind me|show me|list|explain)\b)",
    re.IGNORECASE,
)
_UNMARKED_WORDS = 10
_LABEL = re.compile(r"([^:.!?\n]{1,40}):\s+(.*)", re.DOTALL)
_QUOTES = 3
_ENOUGH = 0.3
_FOUND_FIRST = 0.6  # what the first of them is worth by its place; the second half of it, and so on
_NEAR_BEST = 0.3
_ASSISTANT_SHARE = 0.6
_SUMMARY_SHARE = 0.8
_LONGEST_LINE = 2000
_LONGEST_QUOTE = 400
_USERS = frozenset({"user", "пользователь", "вы", "you"})
_ASSISTANTS = frozenset({"assistant", "ассистент", "ai", "bot", "model"})


@dataclass(frozen=True, slots=True)
class Line:
    """One line of memory, unescaped: its time or period and its speaker as written, its rank in a search.

    `asked` are the questions that stood in it: they say what a summary is about, and are never quoted.
    """

    said: str
    at: str = ""
    who: str = ""
    is_summary: bool = False
    place: int | None = None
    asked: str = ""


def answer(inputs: Mapping[str, Any]) -> str:
    """Answer `user_query` (plain) from `memory` (escaped lines, most important first) in the query's language."""
    query: str = inputs["user_query"]
    voice = VOICES[language(query)]
    if is_small_talk(query):
        return voice.greeting
    quotes = best_lines(query, parse(inputs.get("memory", ())))
    asks = bool(_ASKS.search(query))
    lines = [voice.opening] if asks else [voice.opening, voice.noted]
    if quotes:
        lines += [voice.found, *(_quote(line, voice) for line in quotes)]
    elif asks:
        lines += [voice.nothing, voice.advice]
    return "\n".join(lines)


def parse(memory: Sequence[str]) -> list[Line]:
    """Read escaped memory lines; a `Period:` heading dates the summary below it, what search found has its place."""
    lines: list[Line] = []
    period = ""
    place: int | None = None
    for escaped in memory:
        text = unescape(escaped[:_LONGEST_LINE]).strip()
        if dated := _LINE.match(text):
            lines.append(Line(dated["said"].strip(), dated["at"].strip(), (dated["who"] or "").strip(), place=place))
            place = None if place is None else place + 1
        elif text == FOUND:
            place = 0
        elif heading := _HEADING.match(text):
            if heading["name"].lower() in ("period", "период"):
                period = heading["rest"].strip()
            else:
                lines.append(_summary(heading["rest"], period))
        elif text and not text.endswith(":"):
            lines.append(Line(text.lstrip("-*• "), period))
    return lines


def _summary(text: str, period: str) -> Line:
    for voice in VOICES.values():
        text = text.replace(voice.quoted, "").replace(voice.unanswered, "")
    labelled = _LABEL.match(text.strip())
    if labelled and text.count(": ") == 1:
        return Line(labelled[2].strip(), period, labelled[1], is_summary=True)
    return Line(text.strip(), period, is_summary=True)


def best_lines(query: str, lines: Sequence[Line]) -> list[Line]:
    """Up to three lines that answer `query` best, best first; none when nothing fits.

    A query that only refers back ("what did we talk about yesterday?") gets the newest lines.
    """
    asked = {stem(word) for word in content(query)}
    about = {stem(word) for word in content(markers.without_markers(query))} or (
        set() if markers.refers_back(query) else asked
    )
    same = words(query)
    told = [_told(line) for line in lines if not is_own(line.said) and words(line.said) != same]
    usable = [line for line in told if line.said]
    if not about:
        newest = sorted(usable, key=lambda line: line.at, reverse=True)
        return newest[:_QUOTES] if markers.refers_back(query) else []
    held = [_stems(line) | _stems_of(line.who) for line in usable]
    df = Counter(term for terms in held for term in about & terms)
    weight = {term: math.log(1 + (len(usable) + 5) / (1 + df[term])) for term in about}
    total = sum(weight.values())
    scored: list[tuple[float, int]] = []
    if not df:
        return []
    for rank, (line, terms) in enumerate(zip(usable, held, strict=True)):
        share = sum(weight[term] for term in about & terms) / total
        if share or _prior(line):
            scored.append((share * _trust(line) + _prior(line), rank))
    scored.sort(key=lambda pair: usable[pair[1]].at, reverse=True)  # of two that say as much the newer one
    scored.sort(key=lambda pair: pair[0], reverse=True)
    if not scored or scored[0][0] < _ENOUGH:
        return []
    least = max(scored[0][0] * _NEAR_BEST, _ENOUGH)
    chosen: list[Line] = []
    for score, rank in scored:
        line = usable[rank]
        if score >= least and len(chosen) < _QUOTES and not any(_overlap(line, other) for other in chosen):
            chosen.append(line)
    return chosen


def _prior(line: Line) -> float:
    """What a line is worth because search put it first: search sees all of memory, these rules only its words."""
    return 0.0 if line.place is None else _FOUND_FIRST / (1 + line.place)


def _overlap(one: Line, other: Line) -> bool:
    """Whether one of two lines says what the other says: a summary beside its own source."""
    left, right = one_line(one.said).rstrip(".…"), one_line(other.said).rstrip(".…")
    return left in right or right in left


def _told(line: Line) -> Line:
    """What is stated in it: who asked before has told nothing."""
    parts = sentences(line.said)
    asked = [part for part in parts if _is_question(part)]
    if not asked:
        return line
    said = " ".join(part for part in parts if part not in asked)
    return replace(line, said="" if is_small_talk(said) else said, asked=" ".join(asked))


def _is_question(sentence: str) -> bool:
    if _MARKED.search(sentence[-10:]):
        return True
    if "," in sentence or ":" in sentence or sentence.endswith((".", "!")):
        return False
    return bool(_UNMARKED.match(sentence)) and len(words(sentence)) <= _UNMARKED_WORDS


def _trust(line: Line) -> float:
    share = _SUMMARY_SHARE if line.is_summary else 1.0
    return share * _ASSISTANT_SHARE if line.who.lower() in _ASSISTANTS else share


def _stems(line: Line) -> frozenset[str]:
    return frozenset(map(stem, words(f"{line.said} {line.asked}" if line.is_summary else line.said)))


def _stems_of(who: str) -> frozenset[str]:
    return frozenset(map(stem, words(who)))


def _quote(line: Line, voice: Voice) -> str:
    who = line.who.lower()
    name = voice.you if who in _USERS else voice.assistant.lower() if who in _ASSISTANTS else line.who
    source = ", ".join(part for part in (name, line.at) if part)
    said = shorten(one_line(line.said), _LONGEST_QUOTE)
    return f"— {source}: «{said}»" if source else f"— «{said}»"
