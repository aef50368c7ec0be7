"""Relevance: which messages of a ranking answer their query well enough to be shown whatever a model says.

A query that speaks of its author needs little: a memory that holds a part of it. A request for a definition, an
instruction or a translation needs nearly all of it, because its words occur in any long memory.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Self

from maas.memory.query import MAX_PARSED_CHARS
from maas.memory.ranking import Evidence, RankedMessage
from maas.memory.spelling import lexemes
from shared.db import Database

Form = Literal["personal", "plain", "general"]
MIN_COVERAGE: dict[Form, float] = {"personal": 0.15, "plain": 0.4, "general": 0.6}
MIN_OWN_COVERAGE = 0.15  # of the message itself: its neighbours alone do not make it an answer
MIN_NAMED_COVERAGE = 0.05  # of a message that holds a name of the query
FOUND = 0.5  # the least confidence in an answer
UNLIKELY = 0.25  # below it a prompt says so: of questions that memory answers, one in a hundred
BY_WORDS = (10.0, 0.0, -3.8)  # of the best coverage, of the best score, and a constant: fitted to what bench.absence
BY_MEANING = (6.4, 4.4, -5.3)  # writes, much the same whichever set is left out
_ASKING = frozenset(("call", "name", "зовут", "зва", "имен", "им", "кличк"))  # lexemes that only ask for a name
MAX_NAMES = 16
_GENERAL = re.compile(
    r"\W*(?:(?:please|can you|could you|пожалуйста|можешь)\W+)?(?:"
    r"explain|translate|convert|summari[sz]e|sort|define|describe|calculate|compute|write|give me|tell me a|"
    r"how (?:do|can|would|should) (?:i|you|one|we)|how to|what (?:is|are) (?:an? |\w+\?)|what does \w+ mean|"
    r"объясни|переведи|перескажи|напиши|подбери|посчитай|вычисли|сочини|приведи|дай рецепт|что такое|что значит|"
    r"что означает|как (?:\w+ )?\w+(?:ть|ти|чь)(?:ся)?\b|как по-|сколько будет)"
)
_GENERAL_UNLESS_NAMED = re.compile(r"\W*(?:how does|how do|why (?:is|are|do|does)|почему)\b")
_FIRST_PERSON = re.compile(r"\b(?:i|i'm|i've|me|myself|we|us|я|меня|мне|мной|мною|мы|нас|нам|нами)\b")
_FORMULA = re.compile(
    r"\b(?:how (?:do|can|should|would|could) (?:i|we)|"
    r"(?:give|tell|show|help|explain to|teach|write|let) (?:me|us)|"
    r"(?:скажи|дай|покажи|объясни|расскажи|помоги|напиши|подскажи|как|посоветуй) (?:мне|нам))\b"
)
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_SENTENCE_START = re.compile(r"(?:^|[.!?…])\W*$")


def form_of(query: str) -> Form:
    """Return whether a query speaks of its author, asks for general knowledge in so many words, or does neither."""
    text = query[:MAX_PARSED_CHARS].casefold().replace("ё", "е").replace("’", "'")
    if _GENERAL.match(text):
        return "general"
    if _FIRST_PERSON.search(_FORMULA.sub(" ", text)):
        return "personal"
    return "general" if _GENERAL_UNLESS_NAMED.match(text) and not names_in(query) else "plain"


def names_in(query: str) -> list[str]:
    """Return the words of a query with a capital that does not begin a sentence: names of people, places, things."""
    text = query[:MAX_PARSED_CHARS]
    found = (
        match[0]
        for match in _WORD.finditer(text)
        if match[0][0].isupper() and match[0] != "I" and not _SENTENCE_START.search(text[: match.start()])
    )
    return list(dict.fromkeys(found))[:MAX_NAMES]


def confidence(evidence: Evidence, messages: Sequence[RankedMessage]) -> float:
    """Return how likely one of these messages answers the query, 0 to 1, as a logistic curve of its best signs."""
    asking = sum(1 << bit for bit, term in enumerate(evidence.terms) if term in _ASKING)
    weights = [0.0 if asking >> bit & 1 else weight for bit, weight in enumerate(evidence.term_weights)]
    if asking and any(weights):
        total = sum(weights)
        shares = [
            min(sum(weight for bit, weight in enumerate(weights) if one.mask >> bit & 1) / total, one.coverage)
            for one in messages
        ]
    else:
        shares = [one.coverage for one in messages]
    best = max(shares, default=0.0)
    if not best:
        return 0.0
    nearest = 0.0 if evidence.similarity is None else max(one.score for one in messages)
    coverage, score, constant = BY_WORDS if evidence.similarity is None else BY_MEANING
    return 1 / (1 + math.exp(-(coverage * best + score * nearest + constant)))


@dataclass(frozen=True, slots=True)
class Relevance:
    """What a message must hold to answer one query: a share of its weight, or one of the terms in `names` (a mask)."""

    form: Form
    names: int

    @classmethod
    async def of(cls, db: Database, evidence: Evidence) -> Self:
        """Return the relevance for the query of this evidence."""
        form = form_of(evidence.query.text)
        if form == "general" or not evidence.terms:
            return cls(form, 0)
        names = {lexeme for found in await lexemes(db, names_in(evidence.query.text)) for lexeme in found}
        return cls(form, sum(1 << bit for bit, term in enumerate(evidence.terms) if term in names))

    @property
    def min_coverage(self) -> float:
        """The share of the query's weight that an answer holds together with its neighbours."""
        return MIN_COVERAGE[self.form]

    def is_met(self, message: RankedMessage) -> bool:
        """Return whether a message answers the query."""
        if message.mask & self.names and message.coverage >= MIN_NAMED_COVERAGE:
            return True
        return message.coverage >= self.min_coverage and message.own_coverage >= MIN_OWN_COVERAGE

    def answers(self, messages: Sequence[RankedMessage]) -> list[RankedMessage]:
        """Return the messages that answer the query, in their order."""
        return [one for one in messages if self.is_met(one)]
