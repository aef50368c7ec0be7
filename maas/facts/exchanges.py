"""Exchanges as a model is shown them, and the facts that rules and its reply find in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, tzinfo
from typing import Any, Self, TypeVar

from maas.facts import replies
from maas.facts.rules import MAX_NAME_CHARS, USER, FoundFact, find_facts
from maas.memory.dates import local
from maas.memory.origins import Origin, foreign, mark_of
from maas.memory.relative_days import with_dates
from maas.memory.search import Spoken, role_of, speaker_of
from maas.prompt_rows import PromptLanguage
from maas.prompting.now import weekday_name
from shared.models import Message, Request
from shared.text import escape, one_line, shorten

MAX_EXCHANGE_MESSAGES = 8
MAX_MESSAGE_CHARS = 12_000
MAX_MESSAGES_BEFORE, MAX_CHARS_BEFORE = 2, 800  # that say what the exchange speaks of
MAX_KNOWN = 10  # facts that the model is shown, by number
MAX_REPLY_TOKENS = 800  # of a summary, and again of the facts
MIN_REPLY_TOKENS, CHARS_PER_TOKEN = 250, 2  # of each: both are about as long as the exchange at most
_PROPERTIES = {"summary": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}}}
SCHEMA = {
    "title": "Record",
    "type": "object",
    "properties": _PROPERTIES,
    "required": list(_PROPERTIES),
    "additionalProperties": False,
}
SCHEMA_WITH_FACTS = SCHEMA | {
    "properties": _PROPERTIES | {"facts": replies.SCHEMA},
    "required": [*_PROPERTIES, "facts"],
}
LogRow = TypeVar("LogRow", bound=Mapping[str, Any])


class Log(Spoken):
    """The columns of a message that a model is shown."""

    content: str
    occurred_at: datetime
    origins: Any


def first_exchange(messages: Sequence[LogRow]) -> Sequence[LogRow]:
    """Return the leading messages of one conversation, up to the last answer before the user's next message."""
    for end, message in enumerate(messages):
        before = messages[end - 1]
        is_next = before["message_type"] == "assistant_response" and message["message_type"] == "user_query"
        if end and (message["conversation"] != before["conversation"] or is_next or end == MAX_EXCHANGE_MESSAGES):
            return messages[:end]
    return messages


@dataclass(frozen=True, slots=True)
class ExchangeLine:
    """A message as the Archivist sees it, in the time zone of its user; `dated` has dates before words for a day."""

    at: datetime
    role: str
    speaker: str
    mark: str
    text: str
    dated: str

    @classmethod
    def of(cls, log: Log, zone: tzinfo, max_chars: int = MAX_MESSAGE_CHARS) -> Self:
        """Return the line of a message; its text is cut to `max_chars` characters."""
        at, text = local(log["occurred_at"], zone), shorten(log["content"], max_chars)
        mark = mark_of(foreign(Origin.from_json(log["origins"])))
        return cls(at, role_of(log["message_type"]), speaker_of(log), mark, text, with_dates(text, at.date()))

    @property
    def is_users(self) -> bool:
        """Whether the person said it, and no tool or document."""
        return self.role == "user" and not self.mark

    def plain(self) -> str:
        """Return the line with its time and source, escaped, without weekday and dates."""
        when = ", ".join(part for part in (f"{self.at:%Y-%m-%d %H:%M}", self.mark) if part)
        return f"[{when}] {escape(self.speaker)}: {escape(self.text)}"

    def in_language(self, language: PromptLanguage) -> str:
        """The line with its weekday, and with dates."""
        weekday = weekday_name(self.at.date(), language)
        when = ", ".join(part for part in (f"{weekday} {self.at:%Y-%m-%d %H:%M}", self.mark) if part)
        return f"[{when}] {escape(self.speaker)}: {escape(self.dated)}"


def exchange_text(
    before: Sequence[ExchangeLine],
    lines: Sequence[ExchangeLine],
    known: Sequence[replies.KnownFact],
    language: PromptLanguage,
) -> str:
    """What a model is shown: known facts by number, messages before, the exchange, and who the person is."""
    person = next((one.speaker for one in lines if one.role == "user"), "user")
    fences = {
        "known": "\n".join(f"{n}. {escape(one_line(fact.statement))}" for n, fact in enumerate(known, 1)),
        "before": "\n".join(one.in_language(language) for one in before),
        "logs": "\n".join(one.in_language(language) for one in lines),
        "person": escape(one_line(person)),
    }
    return "\n".join(f"<{tag}>\n{content}\n</{tag}>" for tag, content in fences.items() if content)


def exchange_request(
    system: str, text: str, logs: Sequence[Log], lines: Sequence[ExchangeLine], has_facts: bool
) -> Request:
    """The request for a summary of an exchange, and for its facts with it where `has_facts`."""
    room = _reply_room(lines)
    return Request(
        role="Archivist",
        messages=(Message("user", text),),
        system=system,
        json_schema=SCHEMA_WITH_FACTS if has_facts else SCHEMA,
        temperature=0.0,
        needs_thoughts=False,
        max_tokens=2 * room if has_facts else room,
        inputs={
            "logs": [
                {
                    "role": one.role,
                    "speaker": log["speaker"],
                    "at": one.at.isoformat(),
                    "text": one.dated,
                    "mark": one.mark,
                }
                for log, one in zip(logs, lines, strict=True)
            ]
        },
    )


def _reply_room(lines: Sequence[ExchangeLine]) -> int:
    """Tokens for what is written of an exchange: a small model that repeats itself is stopped and not waited for."""
    chars = sum(len(one.dated) for one in lines)
    return min(MAX_REPLY_TOKENS, MIN_REPLY_TOKENS + chars // CHARS_PER_TOKEN)


def facts_of(
    raw: Any,
    lines: Sequence[ExchangeLine],
    before: Sequence[ExchangeLine],
    ids: Sequence[str],
    known: Sequence[replies.KnownFact],
    model: str,
) -> list[dict[str, Any]]:
    """The facts of an exchange as they are written: those that rules find, then those of the model that are others.

    `raw` is the `facts` of the model's reply, `ids` are those of the messages of `lines`. Where several people speak
    as users, nobody knows which of them is the user: `I` is then the one who says it.
    """
    items: dict[tuple[str, str], dict[str, Any]] = {}
    is_one = len({line.speaker for line in lines if line.is_users}) == 1
    for place, line in enumerate(lines):
        for found_fact in find_facts(line.text) if line.is_users else ():
            fact = found_fact if is_one else _of_speaker(found_fact, line.speaker)
            items.setdefault(_slot(fact), _item(fact, line.speaker, [ids[place]]) | {"origin": "rule"})
    said = [replies.Said(line.speaker, line.dated, line.is_users) for line in lines]
    for found in replies.read_facts(raw, said, [one.text for one in before], known):
        speaker = lines[found.messages[0]].speaker
        fact = found.fact if is_one else _of_speaker(found.fact, speaker)
        item = _item(fact, speaker, [ids[place] for place in found.messages])
        items.setdefault(_slot(fact), item | {"origin": "model", "model": model})
    return list(items.values())


def _of_speaker(fact: FoundFact, speaker: str) -> FoundFact:
    return replace(fact, subject=speaker[:MAX_NAME_CHARS]) if fact.subject == USER else fact


def _slot(fact: FoundFact) -> tuple[str, str]:
    return fact.subject.casefold(), fact.attribute


def _item(fact: FoundFact, speaker: str, log_ids: Sequence[str]) -> dict[str, Any]:
    return asdict(fact) | {"said_by": speaker, "log_ids": list(log_ids)}
