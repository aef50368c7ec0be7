"""Expectations, held against an answer and what the database says of it."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from learning_agent.emulator.days import Calendar
from learning_agent.emulator.language_model import LanguageModel
from learning_agent.emulator.memory import StoredMemory
from learning_agent.emulator.people import judge
from learning_agent.emulator.scenario import Expectation

Verdict = Literal["passed", "failed", "skipped"]
CALL_TIMEOUT_S = 10.0  # an approved action is executed by a run of its own
POLL_INTERVAL_S = 0.1
_MARK = re.compile(r"\[(\d{1,9})\]")


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer with what it was made from; `sources` are ids of messages and summaries, `cited` those it cites."""

    question: str
    text: str
    payload: str
    sources: frozenset[str]
    cited: frozenset[str]
    since: datetime


@dataclass(frozen=True, slots=True)
class Check:
    """One expectation and whether it held; `detail` says what was found instead."""

    expectation: str
    wanted: str
    verdict: Verdict
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Checker:
    """Holds the expectations of one scenario; `turns` are the logged messages of each named step.

    `answers` is the calendar of the days that answers name, another one in a replay.
    """

    memory: StoredMemory
    user: UUID
    calendar: Calendar
    answers: Calendar
    turns: Mapping[str, Sequence[UUID]]
    is_builtin: bool
    judge: LanguageModel | None

    def hold(self, expected: Expectation, answered: Answered) -> Check:
        """The verdict of one expectation."""
        name = expected.name
        if expected.needs_model and self.is_builtin:
            return Check(name, _wanted(expected), "skipped", "needs a model")
        holds: dict[str, Callable[[Expectation, Answered], Check]] = {
            "contains": self._contains,
            "contains_any": self._contains_any,
            "does_not_contain": self._does_not_contain,
            "shown": self._shown,
            "remembers": self._remembers,
            "cites": self._cites,
            "judged": self._judged,
            "called": self._called,
            "not_called": self._not_called,
            "waits_for_consent": self._waits_for_consent,
        }
        return holds[name](expected, answered)

    def _contains(self, expected: Expectation, answered: Answered) -> Check:
        missing = [text for text in self._texts(expected.contains) if not holds_text(answered.text, text)]
        return _check(expected, not missing, f"missing: {'; '.join(missing)}")

    def _contains_any(self, expected: Expectation, answered: Answered) -> Check:
        found = any(holds_text(answered.text, text) for text in self._texts(expected.contains_any))
        return _check(expected, found, "none of them is in the answer")

    def _does_not_contain(self, expected: Expectation, answered: Answered) -> Check:
        found = [text for text in self._texts(expected.does_not_contain) if holds_text(answered.text, text)]
        return _check(expected, not found, f"the answer holds: {'; '.join(found)}")

    def _shown(self, expected: Expectation, answered: Answered) -> Check:
        shown = map(self.calendar.render, expected.shown)
        missing = [text for text in shown if not holds_text(answered.payload, text)]
        return _check(expected, not missing, f"not in what the Responder was shown: {'; '.join(missing)}")

    def _remembers(self, expected: Expectation, answered: Answered) -> Check:
        return self._refers(expected, answered.sources, "memory did not bring")

    def _cites(self, expected: Expectation, answered: Answered) -> Check:
        return self._refers(expected, answered.cited, "the answer does not cite")

    def _refers(self, expected: Expectation, found: frozenset[str], words: str) -> Check:
        missing = [
            turn for turn in expected.turns if found.isdisjoint(self.memory.memories_of(self.user, self.turns[turn]))
        ]
        return _check(expected, not missing, f"{words}: {', '.join(missing)}")

    def _judged(self, expected: Expectation, answered: Answered) -> Check:
        if self.judge is None:
            return Check("judged", _wanted(expected), "skipped", "no judge")
        is_met, reply = judge(self.judge, answered.question, answered.text, self.answers.render(expected.judged or ""))
        return _check(expected, is_met, f"{self.judge.name} says {reply!r}")

    def _called(self, expected: Expectation, answered: Answered) -> Check:
        assert expected.called is not None
        wanted = {name: self._text(value) for name, value in expected.called.arguments.items()}
        tool, end = expected.called.tool, time.monotonic() + CALL_TIMEOUT_S
        while True:
            calls = self.memory.calls(self.user, answered.since)
            fitting = [one for one in calls if _is_tool(one["tool"], tool) and _fits(one["arguments"], wanted)]
            if fitting or time.monotonic() > end:
                seen = [f"{one['tool']} {json.dumps(one['arguments'], ensure_ascii=False)}" for one in calls]
                return _check(expected, bool(fitting), f"called were: {'; '.join(seen) or 'none'}")
            time.sleep(POLL_INTERVAL_S)

    def _not_called(self, expected: Expectation, answered: Answered) -> Check:
        calls = self.memory.calls(self.user, answered.since)
        found = [one for one in calls if _is_tool(one["tool"], expected.not_called or "")]
        return _check(expected, not found, f"{len(found)} calls were made")

    def _waits_for_consent(self, expected: Expectation, answered: Answered) -> Check:
        pending = [one["tool"] for one in self.memory.rows("pending", user=self.user)]
        found = any(_is_tool(one, expected.waits_for_consent or "") for one in pending)
        return _check(expected, found, f"waiting: {', '.join(pending) or 'nothing'}")

    def _texts(self, texts: Sequence[str]) -> list[str]:
        return [self.answers.render(text) for text in texts]

    def _text(self, value: object) -> object:
        return self.answers.render(value) if isinstance(value, str) else value


def holds_text(text: str, wanted: str) -> bool:
    """Whether a text holds another, whatever the case, the spaces and the dots over a letter."""
    return _plain(wanted) in _plain(text)


def cited_numbers(answer: str) -> set[int]:
    """The numbers of memories that an answer cites."""
    return {int(number) for number in _MARK.findall(answer)}


def _plain(text: str) -> str:
    return " ".join(text.casefold().replace("\u0451", "\u0435").replace("\u2019", "'").split())


def _is_tool(name: str, wanted: str) -> bool:
    return name in (wanted, name.partition("__")[0] + "__" + wanted)


def _fits(arguments: Mapping[str, Any] | None, wanted: Mapping[str, object]) -> bool:
    return all(_is_value((arguments or {}).get(name), value) for name, value in wanted.items())


def _is_value(found: object, wanted: object) -> bool:
    return holds_text(str(found), wanted) if isinstance(wanted, str) else found == wanted


def _wanted(expected: Expectation) -> str:
    value = getattr(expected, expected.name)
    if hasattr(value, "tool"):
        return f"{value.tool} {json.dumps(value.arguments, ensure_ascii=False)}" if value.arguments else str(value.tool)
    return "; ".join(value) if isinstance(value, list) else str(value)


def _check(expected: Expectation, is_held: bool, detail: str) -> Check:
    return Check(expected.name, _wanted(expected), "passed" if is_held else "failed", "" if is_held else detail)
