"""Statements of users: what rules know of a summary, so that an Archivist's reply can lose none of them.

A reply is refused that says nothing where a user said something, that is in another language, or about something else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from maas.builtin_model.language import (
    PHRASES,
    content_words,
    is_courteous,
    is_other_language,
    is_small_talk,
    language,
    stems_of,
    words,
)
from maas.builtin_model.summaries import FIRST_PERSON, MARKUP, MAX_SENTENCE_CHARS, MAX_SENTENCES, names_in
from shared.text import one_line, sentences, shorten

MAX_STATEMENT_CHARS = 600  # of a message; a longer one is a text, and its sentences are not looked for in a summary
MAX_ADDED = 2
_DIGITS = re.compile(r"\d+")
_ADDED_DATE = re.compile(r"\d{4}-\d\d-\d\d (?=\()")  # before a word such as tomorrow


def holds_statement(text: str) -> bool:
    """Return whether a user's words hold a name, a number, the first person, or a sentence that asks and greets not."""
    return any(map(_is_statement, _sentences(text)))


def check_summary(summary: str, users: Sequence[str], exchange: Sequence[str]) -> None:
    """Raise ValueError unless a summary may stand for an exchange; `users` is what users said in it."""
    has_statement = any(map(holds_statement, users))
    if not summary and has_statement:
        raise ValueError("`summary` is empty, but the person has said something")
    if is_other_language(summary, " ".join(users)):
        raise ValueError("`summary` is not in the person's language")
    known = stems_of(" ".join(exchange)) if has_statement else set()
    if known and known.isdisjoint(stems_of(summary)):
        raise ValueError("`summary` says nothing of the exchange")


def with_lost_facts(summary: str, messages: Iterable[tuple[str, str]]) -> str:
    """Return a summary, at its end the statements, as (speaker, text), that it has lost.

    A statement is lost where the summary has none of its names and numbers, or lacks one of its numbers. There are two
    of them at most, and four sentences in all.
    """
    known = stems_of(summary) | _numbers(summary)
    user = PHRASES[language(summary)].user
    added = []
    for speaker, text in messages if summary else ():
        for sentence in _sentences(text) if len(text) <= MAX_STATEMENT_CHARS else ():
            keys, numbers = _keys(sentence), _numbers(_ADDED_DATE.sub("", sentence))
            is_lost = keys.isdisjoint(known) or not numbers <= known
            if keys and is_lost and not sentence.endswith("?"):
                named = user if speaker == "user" else speaker
                ended = sentence if sentence[-1] in '.!…»"”' else f"{sentence}."
                added.append(f"{named}: {shorten(ended, MAX_SENTENCE_CHARS)}")
    added = added[:MAX_ADDED]
    return " ".join([*sentences(summary)[: MAX_SENTENCES - len(added)], *added]) if added else summary


def _sentences(text: str) -> Iterator[str]:
    for sentence in sentences(MARKUP.sub(" ", text)):
        if flat := one_line(sentence):
            yield flat


def _is_statement(sentence: str) -> bool:
    if is_small_talk(sentence):
        return False
    if _keys(sentence) or not FIRST_PERSON.isdisjoint(words(sentence)):
        return True
    return bool(content_words(sentence)) and not sentence.endswith("?") and not is_courteous(sentence)


def _keys(sentence: str) -> set[str]:
    """Return the names and numbers of a sentence, in forms that can be compared."""
    sentence = _ADDED_DATE.sub("", sentence)
    return stems_of(" ".join(names_in([sentence]))) | _numbers(sentence)


def _numbers(text: str) -> set[str]:
    return {digits.lstrip("0") for digits in _DIGITS.findall(text)}
