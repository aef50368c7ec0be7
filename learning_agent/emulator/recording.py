"""A recording: replies of a real model, found again by what was asked.

A request is known by a hash of its messages and tools in which ids, numbers, names of days and of months are left out,
because they differ from day to day. Whatever else changes in a prompt makes it another request.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from learning_agent.emulator.errors import EmulatorError

MAX_ABOUT_CHARS = 100
_PASSING = (
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "ID"),
    (
        re.compile(
            r"\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|понедельник\w*|вторник\w*|сред[ауые]\b|четверг\w*|пятниц\w+|"
            r"суббот\w+|воскресень\w+)",
            re.IGNORECASE,
        ),
        "WEEKDAY",
    ),
    (
        re.compile(
            r"\b(?:January|February|March|April|May|June|July|August|September|October|November|December|"
            r"(?:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\b)|"
            r"(?i:\b(?:январ|феврал|март|апрел|июн|июл|август|сентябр|октябр|ноябр|декабр)\w*|\bма[йяе]\b)"
        ),
        "MONTH",
    ),
    (re.compile(r"\d+"), "0"),
)


@dataclass(frozen=True, slots=True)
class RecordedReply:
    """What a model said: its text, calls of tools as the protocol has them, why it ended, its usage."""

    text: str
    calls: tuple[Mapping[str, Any], ...] = ()
    finish: str = "stop"
    usage: Mapping[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Recording:
    """Replies by key, in the order in which they were given; the other fields are the options of that run."""

    model: str
    roles: tuple[str, ...] = ()
    recorded_on: str = ""
    scenarios: list[str] = field(default_factory=list)
    judge: str | None = None
    person: str | None = None
    replies: dict[str, list[RecordedReply]] = field(default_factory=lambda: defaultdict(list))
    about: dict[str, str] = field(default_factory=dict)
    missed: list[str] = field(default_factory=list)
    _given: Counter[str] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def day(self) -> date | None:
        """When it was recorded."""
        return date.fromisoformat(self.recorded_on) if self.recorded_on else None

    def add(self, request: Mapping[str, Any], reply: RecordedReply) -> None:
        """Keep a reply."""
        key = key_of(request)
        with self._lock:
            self.replies[key].append(reply)
            self.about[key] = about(request)

    def find(self, request: Mapping[str, Any]) -> RecordedReply | None:
        """The next reply that was given to such a request, the last one again after that; None is noted as missed."""
        key = key_of(request)
        with self._lock:
            known = self.replies.get(key)
            if not known:
                self.missed.append(about(request))
                return None
            place = self._given[key]
            self._given[key] += 1
            return known[min(place, len(known) - 1)]

    def write(self, path: Path) -> None:
        """Write the file; replies are sorted by key, so that two recordings can be compared."""
        body = {
            "model": self.model,
            "roles": self.roles,
            "recorded_on": self.recorded_on,
            "scenarios": self.scenarios,
            "judge": self.judge,
            "person": self.person,
            "replies": {
                key: {"about": self.about[key], "given": [asdict(one) for one in self.replies[key]]}
                for key in sorted(self.replies)
            },
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(body, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def read_recording(path: Path) -> Recording:
    """Read a file. Raises EmulatorError."""
    try:
        body = json.loads(path.read_text(encoding="utf-8"))
        found = Recording(
            body["model"],
            tuple(body["roles"]),
            body["recorded_on"],
            list(body["scenarios"]),
            body["judge"],
            body["person"],
        )
        for key, entry in body["replies"].items():
            found.about[key] = entry["about"]
            found.replies[key] = [RecordedReply(**one) for one in entry["given"]]
    except OSError as error:
        raise EmulatorError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise EmulatorError(f"{path} is not a recording: {error}") from error
    return found


def key_of(request: Mapping[str, Any]) -> str:
    """The key of a request: 32 hexadecimal digits."""
    asked = {name: request.get(name) for name in ("messages", "tools", "response_format")}
    return hashlib.sha256(timeless(json.dumps(asked, ensure_ascii=False, sort_keys=True)).encode()).hexdigest()[:32]


def timeless(text: str) -> str:
    """A text without ids, numbers, names of days and of months."""
    for pattern, name in _PASSING:
        text = pattern.sub(name, text)
    return text


def about(request: Mapping[str, Any]) -> str:
    """The beginning of the first message and the end of the last one, for people."""
    texts = [_text(message.get("content")) for message in request.get("messages", ())]
    if not texts:
        return "no messages"
    return f"{texts[0][:MAX_ABOUT_CHARS]} … {texts[-1][-MAX_ABOUT_CHARS:]}"


def _text(content: object) -> str:
    if isinstance(content, list):
        content = " ".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return " ".join(str(content or "").split())
