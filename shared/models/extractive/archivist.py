"""The Archivist's answer by rules: a few sentences of the exchange, and tags."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shared.models.extractive.tags import names_in, tags_of
from shared.models.extractive.voice import VOICES, Voice, is_courtesy, is_own, is_small_talk
from shared.models.extractive.words import content, language, words
from shared.text import one_line, sentences, shorten

_MARKUP = re.compile(r"```.*?(?:```|\Z)|^\s{0,3}(?:#{1,6}|[-*•>]|\d{1,2}[.)])\s+|\*\*|__|`", re.DOTALL | re.MULTILINE)
_NUMBER = re.compile(r"\d")
_FIRST_PERSON = """
я мне меня мной мы нас нам мой моя мое мои моего моей моему моим моих мою наш наша наше наши нашу нашей i i'm i've me
my we our us mine
"""
_SELF = frozenset(_FIRST_PERSON.split())
_LEAST_SENTENCES, _SENTENCES = 2, 4
_LONGEST = 300
_LONGEST_LOG = 8000


@dataclass(frozen=True, slots=True)
class Said:
    """A sentence with its place in the talk and how much it tells."""

    log: int
    place: int
    text: str
    worth: float

    @property
    def asks(self) -> bool:
        return self.text.rstrip("\"'»”)").endswith("?")


def answer(inputs: Mapping[str, Any]) -> str:
    """Summarise `logs` (role, speaker, at as ISO time, text; oldest first) as the Archivist's JSON."""
    return json.dumps(summarise(inputs["logs"]), ensure_ascii=False)


def summarise(logs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The record of an exchange as plain data; empty tags and summary when only manners were exchanged."""
    days = sorted(str(log["at"])[:10] for log in logs)
    record: dict[str, Any] = {
        "time_bucket_start": days[0] if days else None,
        "time_bucket_end": days[-1] if days else None,
        "tags": [],
        "summary": "",
    }
    texts = [_MARKUP.sub(" ", str(log["text"])[:_LONGEST_LOG]) for log in logs]
    mine = [log["role"] == "assistant" and is_own(text) for log, text in zip(logs, texts, strict=True)]
    if all(_is_empty_talk(log, text) or own for log, text, own in zip(logs, texts, mine, strict=True)):
        return record
    said = [
        [] if own else _said(index, text, log["role"] == "assistant")
        for index, (log, text, own) in enumerate(zip(logs, texts, mine, strict=True))
    ]
    chosen = _choose(logs, said)
    if not chosen:
        return record
    voice = VOICES[language(" ".join(one.text for one in chosen))]
    closing = _closing(voice, [text for text, own in zip(texts, mine, strict=True) if own])
    record["summary"] = _tell(logs, chosen, voice, closing)
    record["tags"] = tags_of([one.text for one in chosen])
    return record


def _is_empty_talk(log: Mapping[str, Any], text: str) -> bool:
    if log["role"] != "assistant":
        return is_small_talk(text)
    return all(is_courtesy(sentence) for sentence in sentences(text))


def _said(log: int, text: str, is_assistant: bool) -> list[Said]:
    found = []
    for place, sentence in enumerate(sentences(text)):
        flat = one_line(sentence)
        if not content(flat) or (is_courtesy(flat) if is_assistant else is_small_talk(flat)):
            continue
        worth = worth_of(flat) + 3.0 / (1 + place)
        if not is_assistant and not _SELF.isdisjoint(words(flat)):
            worth += 3.0
        found.append(Said(log, place, flat, worth))
    return found


def worth_of(sentence: str) -> float:
    """How much a sentence tells: words that say something, names, numbers."""
    named = 2.0 * min(len(names_in([sentence])), 3)
    return min(len(set(content(sentence))), 12) + named + 1.5 * bool(_NUMBER.search(sentence))


def _choose(logs: Sequence[Mapping[str, Any]], said: Sequence[Sequence[Said]]) -> list[Said]:
    """The users' two best sentences, each question with the beginning of its answer, then the best of what is left.

    Other questions are taken only where nothing else is left to make two sentences.
    """
    users = [one for log, many in zip(logs, said, strict=True) if log["role"] != "assistant" for one in many]
    others = [one for log, many in zip(logs, said, strict=True) if log["role"] == "assistant" for one in many]
    picked = sorted(users, key=_rank)[:2]
    for question in [one for one in picked if one.asks]:
        reply = next((one for one in others if one.log > question.log and not one.asks), None)
        if reply and reply not in picked:
            picked.append(reply)
    rest = [one for one in [*others, *users] if one not in picked]
    for one in sorted(rest, key=lambda one: (one.asks, _rank(one))):
        if len(picked) >= (_LEAST_SENTENCES if one.asks else _SENTENCES):
            break
        picked.append(one)
    return sorted(picked[:_SENTENCES], key=lambda one: (one.log, one.place))


def _rank(one: Said) -> tuple[float, int, int]:
    return (-one.worth, one.log, one.place)


def _tell(logs: Sequence[Mapping[str, Any]], chosen: Sequence[Said], voice: Voice, closing: str) -> str:
    parts: list[str] = []
    last = ""
    for one in chosen:
        log = logs[one.log]
        speaker = log.get("speaker") or (voice.assistant if log["role"] == "assistant" else voice.user)
        text = shorten(one.text, _LONGEST)
        text = text if text[-1] in '.!?…»"”。！？' else text.rstrip(",;:") + "."
        parts.append(text if speaker == last else f"{speaker}: {text}")
        last = speaker
    if closing and len(parts) < _SENTENCES:
        parts.append(closing)
    return " ".join(parts)


def _closing(voice: Voice, own: Sequence[str]) -> str:
    if not own:
        return ""
    if any(text.find(known.found) >= 0 for text in own for known in VOICES.values()):
        return voice.quoted
    return voice.unanswered if any(known.nothing in text for text in own for known in VOICES.values()) else ""
