"""Facts by rules: what a user says surely of themselves, or of somebody they name, in English and Russian.

Precision goes before recall. A clause is taken only if a pattern covers it from its first word, and a sentence that
asks, supposes, quotes or reports gives none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from maas.builtin_model.language import content_words, language, stem
from maas.facts import english, russian
from maas.facts.patterns import DATES, Pattern
from maas.memory.facts import Kind
from shared.text import one_line, sentences

Change = Literal["states", "begins", "ends", "corrects"]
USER = "user"
MAX_TEXT_CHARS = 4000  # of a message; a longer one is a text that somebody pasted
MAX_SENTENCE_CHARS, MAX_STATEMENT_CHARS, MAX_NAME_CHARS = 400, 200, 100
MAX_FACTS = 12  # of one message
MAX_VALUE_WORDS, MAX_STATEMENT_WORDS = 3, 8  # that tell one thing that is liked, or one statement, from another
_NOTE = re.compile(r"(?:remember|запомни)\s*:\s*", re.IGNORECASE)
_END = " .!…"
_LANGUAGES = {"en": english, "ru": russian}


@dataclass(frozen=True, slots=True)
class FoundFact:
    """A statement in the words of the one who said it; `attribute` is what has one value at a time."""

    statement: str
    subject: str
    attribute: str
    kind: Kind
    change: Change = "states"
    depends_on: tuple[str, ...] = ()


def find_facts(text: str) -> list[FoundFact]:
    """The facts of a user's message, in order, each once."""
    found: dict[tuple[str, str], FoundFact] = {}
    if len(text) > MAX_TEXT_CHARS:
        return []
    for sentence in sentences(_NOTE.sub("", text, count=1)):
        flat = one_line(sentence)
        if len(flat) > MAX_SENTENCE_CHARS or flat.endswith("?"):
            continue
        known = _LANGUAGES[language(flat)]
        if known.UNSURE.search(flat):
            continue
        facts = list(_facts(flat.rstrip(_END), known.SENTENCES, known.DEPENDENT))
        for clause in () if facts else _clauses(flat, known.JOINTS, known.FILLERS):
            facts += _facts(clause, known.PATTERNS, known.DEPENDENT)
        for fact in facts:
            found.setdefault((fact.subject, fact.attribute), fact)
    return list(found.values())[:MAX_FACTS]


def _clauses(sentence: str, joints: re.Pattern[str], fillers: re.Pattern[str]) -> Iterator[str]:
    for part in joints.split(sentence.rstrip(_END)):
        clause = part.strip()
        if (opening := fillers.match(clause)) is not None:
            clause = clause[opening.end() :]
        if clause and len(clause) <= MAX_STATEMENT_CHARS:
            yield clause


def _facts(
    clause: str, patterns: tuple[Pattern, ...], dependent: tuple[tuple[re.Pattern[str], str], ...]
) -> Iterator[FoundFact]:
    for pattern in patterns:
        match = pattern.regex.fullmatch(clause)
        if match is None or any(DATES.fullmatch(value) for value in match.groupdict("").values()):
            continue
        values = match.groupdict("")
        attribute = pattern.attribute
        for name in re.findall(r"\{(\w+)\}", attribute):
            attribute = attribute.replace("{" + name + "}", _key(values[name]))
        if attribute.endswith(":"):
            continue
        subject = values.get("who") or values.get("kin") or USER
        depends_on = tuple(one for words, one in dependent if words.search(clause) and one != attribute)
        yield FoundFact(
            clause[0].upper() + clause[1:] + ".",
            subject[:MAX_NAME_CHARS],
            attribute[:MAX_NAME_CHARS],
            pattern.kind,
            pattern.change,
            depends_on,
        )
        return


def attribute_of(kind: str, statement: str) -> str:
    """The attribute of a statement that no pattern knows: nothing but the same words has the same one."""
    return f"{kind}:{_key(statement, MAX_STATEMENT_WORDS)}"[:MAX_NAME_CHARS]


def _key(value: str, max_words: int = MAX_VALUE_WORDS) -> str:
    """The stems of the first words that carry meaning: one thing under one name."""
    return "-".join(map(stem, content_words(value)[:max_words]))
