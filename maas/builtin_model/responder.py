"""The built-in Final Responder: quotes up to three lines of memory, each with its speaker and date."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from typing import Any

from maas.builtin_model.analyzer import refers_back, without_markers
from maas.builtin_model.language import (
    PHRASES,
    Phrases,
    content_words,
    is_builtin_answer,
    is_small_talk,
    language,
    stem,
    words,
)
from maas.memory.facts import HEADING as KNOWN
from maas.prompting.trimming import FOUND, NEAREST
from shared.text import one_line, sentences, shorten, unescape

_LINE = re.compile(
    r"(?:[-*•]\s*)?(?:\[(?P<number>\d{1,9})\]\s)?\[(?P<at>[^\]\n]{4,400})\]\s*(?:(?P<speaker>[^:\n]{1,60}?):\s)?(?P<text>.*)",
    re.DOTALL,
)
_HEADING = re.compile(
    r"(?:[-*•#]+\s*)?(?:\[(?P<number>\d{1,9})\]\s)?(?P<name>Period|Summary|Период|Сводка)\s*:\s*(?P<rest>.*)",
    re.DOTALL | re.IGNORECASE,
)
_NUMBERED = re.compile(r"\[(?P<number>\d{1,9})\] (?P<rest>.+)", re.DOTALL)
_ASKS = re.compile(
    r"\?|^\W*+(?:кто|что|где|когда|куда|откуда|почему|зачем|как|какой|какая|какие|какое|какую|каким|сколько|чей|чья|чье|напомни|"
    r"расскажи|скажи|покажи|назови|найди|перечисли|объясни|продолж\w+|помнишь|who|what|where|when|why|how|which|whose|do|does|did|"
    r"is|are|was|were|can|could|tell|remind|list|show|find|name|explain|continue|remember)\b",
    re.IGNORECASE,
)
_QUESTION_MARK = re.compile(r"[?？][?？!…. \"'»”’)\]]{0,8}$")
# A question without a mark begins with a question word or a request. "What I need is …" and "Когда я жил …" state.
_UNMARKED_QUESTION = re.compile(
    r"\W{0,8}(?:(?:кто|что|где|куда|откуда|почему|зачем|как|какой|какая|какие|какое|какую|каким|сколько|чей|чья|чье|"
    r"напомни|расскажи|скажи|покажи|назови|перечисли|объясни)(?![-\w])|"
    r"(?:who|what|where|why|how|which|whose)(?![-'’\w])(?! (?:i|we|you|he|she|they|it)\b)|"
    r"(?:tell me|remind me|show me|list|explain)\b)",
    re.IGNORECASE,
)
MAX_UNMARKED_WORDS = 10
_LABEL = re.compile(r"([^:.!?\n]{1,40}):\s+(.*)", re.DOTALL)
_MINUTE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d")
MAX_ANSWER_DELAY_S = 600  # after a question, for the next word to be taken as its answer
MAX_QUOTES = 3
MIN_SCORE = 0.3
FIRST_RESULT_SCORE = 0.6  # of the first search result; the second gets half of it, the third a third
MIN_SHARE_OF_BEST = 0.3
ASSISTANT_WEIGHT = 0.6
SUMMARY_WEIGHT = 0.8
MAX_LINE_CHARS = 2000
MAX_QUOTE_CHARS = 400
_USER_NAMES = frozenset({"user", "пользователь", "вы", "you"})
_ASSISTANT_NAMES = frozenset({"assistant", "ассистент", "ai", "bot", "model"})


@dataclass(frozen=True, slots=True)
class MemoryLine:
    """One line of memory, unescaped: its text, its time or period and its speaker as written.

    `rank` is its position among the search results, from 0. `questions` are the questions that were taken out of
    `text`: they show what a summary is about, and are never quoted. `answers` is what somebody else had asked just
    before. `number` is that by which an answer cites it.
    `is_fact`: it says again what some message said.
    """

    text: str
    at: str = ""
    speaker: str = ""
    is_summary: bool = False
    rank: int | None = None
    questions: str = ""
    answers: str = ""
    number: str = ""
    is_fact: bool = False


def respond(inputs: Mapping[str, Any]) -> str:
    """Answer `user_query` (plain) from `memory` (escaped lines, most important first) in the query's language."""
    query: str = inputs["user_query"]
    phrases = PHRASES[language(query)]
    if is_small_talk(query):
        return phrases.greeting
    memory = inputs.get("memory", ())
    quotes = best_lines(query, parse(memory))
    is_question = asks(query)
    lines = [phrases.opening] if is_question else [phrases.opening, phrases.noted]
    if quotes and is_question and NEAREST in memory:
        lines += [phrases.no_result, phrases.nearest_heading, *(_quote(line, phrases) for line in quotes)]
    elif quotes:
        lines += [phrases.results_heading, *(_quote(line, phrases) for line in quotes)]
    elif is_question:
        lines += [phrases.no_result, phrases.advice]
    return "\n".join(lines)


def asks(query: str) -> bool:
    """Whether a message of the user asks for something."""
    return bool(_ASKS.search(query))


def parse(memory: Sequence[str]) -> list[MemoryLine]:
    """Parse escaped lines of memory; a `Period:` heading dates the summary below it, search results get their rank."""
    lines: list[MemoryLine] = []
    period = ""
    rank: int | None = None
    is_fact = False
    for escaped in memory:
        text = unescape(escaped[:MAX_LINE_CHARS]).strip()
        if dated := _LINE.match(text):
            speaker = (dated["speaker"] or "").strip()
            text, at, number = dated["text"].strip(), dated["at"].strip(), dated["number"] or ""
            lines.append(MemoryLine(text, at, speaker, rank=rank, number=number, is_fact=is_fact))
            rank = None if rank is None else rank + 1
        elif text in (FOUND, KNOWN):
            rank, is_fact = (0, False) if text == FOUND else (None, True)
        elif heading := _HEADING.match(text):
            if heading["name"].lower() in ("period", "период"):
                period = heading["rest"].strip()
            else:
                lines.append(replace(_summary(heading["rest"], period), number=heading["number"] or ""))
        elif text and not text.endswith(":"):
            numbered = _NUMBERED.match(text.lstrip("-*• "))
            number, rest = (numbered["number"], numbered["rest"]) if numbered else ("", text.lstrip("-*• "))
            lines.append(MemoryLine(rest, period, number=number))
    return lines


def _summary(text: str, period: str) -> MemoryLine:
    for phrases in PHRASES.values():
        text = text.replace(phrases.quoted, "").replace(phrases.unanswered, "")
    labelled = _LABEL.match(text.strip())
    if labelled and text.count(": ") == 1:
        return MemoryLine(labelled[2].strip(), period, labelled[1], is_summary=True)
    return MemoryLine(text.strip(), period, is_summary=True)


def best_lines(query: str, lines: Sequence[MemoryLine]) -> list[MemoryLine]:
    """Return up to three lines that answer `query`, the best first; none if nothing fits.

    A query that only refers back ("what did we talk about yesterday?") gets the newest lines.
    """
    subject = {stem(word) for word in content_words(without_markers(query))}
    if not subject and not refers_back(query):
        subject = {stem(word) for word in content_words(query)}
    query_words = words(query)
    statements = [
        _without_questions(line)
        for line in _with_what_they_answer(lines)
        if not is_builtin_answer(line.text) and words(line.text) != query_words
    ]
    said = [line for line in statements if line.text and not line.is_fact]
    usable = said + [line for line in statements if line.is_fact and not any(_overlap(line, one) for one in said)]
    if not subject:
        newest = sorted(usable, key=lambda line: line.at, reverse=True)
        return newest[:MAX_QUOTES] if refers_back(query) else []
    line_stems = [_stems(line) | _stems_of(line.speaker) for line in usable]
    frequency = Counter(term for terms in line_stems for term in subject & terms)
    weight = {term: math.log(1 + (len(usable) + 5) / (1 + frequency[term])) for term in subject}
    total = sum(weight.values())
    scored: list[tuple[float, int]] = []
    if not frequency:
        return []
    for index, (line, terms) in enumerate(zip(usable, line_stems, strict=True)):
        share = sum(weight[term] for term in subject & terms) / total
        if share or _prior(line):
            scored.append((share * _weight(line) + _prior(line), index))
    scored.sort(key=lambda pair: usable[pair[1]].at, reverse=True)  # of two with one score the newer first
    scored.sort(key=lambda pair: pair[0], reverse=True)
    if not scored or scored[0][0] < MIN_SCORE:
        return []
    least = max(scored[0][0] * MIN_SHARE_OF_BEST, MIN_SCORE)
    chosen: list[MemoryLine] = []
    for score, index in scored:
        line = usable[index]
        if score >= least and len(chosen) < MAX_QUOTES and not any(_overlap(line, other) for other in chosen):
            chosen.append(line)
    return chosen


def _prior(line: MemoryLine) -> float:
    """Return the score of a line by its search rank: search sees all of memory, these rules only the words."""
    return 0.0 if line.rank is None else FIRST_RESULT_SCORE / (1 + line.rank)


def _overlap(one: MemoryLine, other: MemoryLine) -> bool:
    """Return whether one of two lines contains the other, as a summary may contain its source."""
    left, right = one_line(one.text).rstrip(".…"), one_line(other.text).rstrip(".…")
    return left in right or right in left


def _without_questions(line: MemoryLine) -> MemoryLine:
    """Return the line with only its statements as text: an earlier question holds no answer."""
    parts = sentences(line.text)
    questions = [part for part in parts if _is_question(part)]
    if not questions:
        return line
    text = " ".join(part for part in parts if part not in questions)
    return replace(line, text="" if is_small_talk(text) else text, questions=" ".join(questions))


def _with_what_they_answer(lines: Sequence[MemoryLine]) -> list[MemoryLine]:
    """The lines with what they answer: "So far yes, Miso ignores her" is about the cat that was asked for."""
    said = sorted((line for line in lines if _time(line)), key=lambda line: line.at)
    asked: dict[MemoryLine, str] = {}
    for before, line in pairwise(said):
        if before.speaker != line.speaker and _time(line) - _time(before) <= MAX_ANSWER_DELAY_S:
            asked[line] = _without_questions(before).questions
    return [replace(line, answers=asked.get(line, "")) for line in lines]


def _time(line: MemoryLine) -> float:
    """The minute in which a message was said, in seconds; 0 of a summary or a fact."""
    if line.is_summary or line.is_fact or not _MINUTE.fullmatch(line.at):
        return 0.0
    try:
        return datetime.fromisoformat(f"{line.at}+00:00").timestamp()
    except ValueError:
        return 0.0


def _is_question(sentence: str) -> bool:
    if _QUESTION_MARK.search(sentence[-10:]):
        return True
    if "," in sentence or ":" in sentence or sentence.endswith((".", "!")):
        return False
    return bool(_UNMARKED_QUESTION.match(sentence)) and len(words(sentence)) <= MAX_UNMARKED_WORDS


def _weight(line: MemoryLine) -> float:
    weight = SUMMARY_WEIGHT if line.is_summary else 1.0
    return weight * ASSISTANT_WEIGHT if line.speaker.lower() in _ASSISTANT_NAMES else weight


def _stems(line: MemoryLine) -> frozenset[str]:
    about = line.questions if line.is_summary else line.answers
    return frozenset(map(stem, words(f"{line.text} {about}")))


def _stems_of(speaker: str) -> frozenset[str]:
    return frozenset(map(stem, words(speaker)))


def _quote(line: MemoryLine, phrases: Phrases) -> str:
    speaker = line.speaker.lower()
    name = line.speaker
    if speaker in _USER_NAMES:
        name = phrases.you
    elif speaker in _ASSISTANT_NAMES:
        name = phrases.assistant.lower()
    source = ", ".join(part for part in (name, line.at) if part)
    text = shorten(one_line(line.text), MAX_QUOTE_CHARS)
    mark = f" [{line.number}]" if line.number else ""
    return f"— {source}: «{text}»{mark}" if source else f"— «{text}»{mark}"
