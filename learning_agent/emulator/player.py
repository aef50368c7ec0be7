"""Plays one scenario: imports what was said, asks, lets days pass, and holds what is expected."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Any
from uuid import UUID, uuid4

from learning_agent.emulator.checks import Answered, Check, Checker, cited_numbers
from learning_agent.emulator.days import Calendar, utc_now
from learning_agent.emulator.errors import EmulatorError
from learning_agent.emulator.language_model import LanguageModel
from learning_agent.emulator.memory import StoredMemory
from learning_agent.emulator.people import ModelPerson
from learning_agent.emulator.results import PlayedTurn, Result
from learning_agent.emulator.scenario import IMPORTED, Day, Scenario, Step
from maas.client import ClientError, MaaS

POLL_INTERVAL_S = 0.05
RUN_TIMEOUT_S = 600.0
SETTLE_TIMEOUT_S = 300.0
MAX_PURGES = 200


@dataclass(frozen=True, slots=True)
class Scene:
    """What a scenario is played with; `compact` merges the old summaries of a user.

    `answered_on`: the day on which a recording was made, if answers come from one, for the days that they name.
    """

    client: MaaS
    memory: StoredMemory
    compact: Callable[[UUID], None]
    model: str
    is_builtin: bool
    judge: LanguageModel | None = None
    person: LanguageModel | None = None
    answered_on: date | None = None


@dataclass(slots=True)
class Player:
    """One scenario being played, for a user of its own."""

    scene: Scene
    scenario: Scenario
    user: UUID = field(default_factory=uuid4)
    _turns: dict[str, list[UUID]] = field(default_factory=dict)
    _unsaid: list[tuple[Day, int, Step]] = field(default_factory=list)
    _conversations: dict[str, str] = field(default_factory=dict)
    _current: int = 0
    _played: list[PlayedTurn] = field(default_factory=list)

    def play(self) -> Result:
        """Play it to its end; an error ends it and is part of the result."""
        began, error = time.perf_counter(), ""
        last = max((day.day for day, step in self.scenario.steps() if step.act not in IMPORTED), default=1)
        self._current = next((day.day for day, step in self.scenario.steps() if step.act not in IMPORTED), last)
        try:
            for day in self.scenario.days:
                for position, step in enumerate(day.steps):
                    self._do(day, position, step)
        except (EmulatorError, ClientError) as failure:
            error = f"{failure}"
        return Result.of(self.scenario, tuple(self._played), error, time.perf_counter() - began)

    def _do(self, day: Day, position: int, step: Step) -> None:
        if step.act in IMPORTED:
            self._unsaid.append((day, position, step))
            return
        if day.day > self._current:
            self._settle()
            self.scene.memory.let_days_pass(self.user, day.day - self._current)
            self._current = day.day
        self._import()
        if step.ask is not None:
            self._ask(day, step, step.ask)
        elif step.person is not None:
            self._talk(day, step)
        elif step.decide is not None:
            self._decide(day, step)
        elif step.compact:
            self._settle()
            self.scene.compact(self.user)
        elif step.retention is not None:
            self._purge(step.retention)

    @property
    def _calendar(self) -> Calendar:
        return Calendar(utc_now().date(), self._current, self.scenario.language)

    def _import(self) -> None:
        """Import what was said since the last question, each day as a conversation, with its time."""
        calendar, now = self._calendar, utc_now()
        days = dict.fromkeys(day.day for day, _, _ in self._unsaid)
        for number in days:
            said = [(position, step) for day, position, step in self._unsaid if day.day == number]
            messages = [
                {
                    "role": step.act,
                    "content": calendar.render(step.user or step.assistant or ""),
                    "name": step.speaker,
                    "at": calendar.moment(number, position, now),
                }
                for position, step in said
            ]
            added = self.scene.client.add(
                messages, user_id=str(self.user), conversation=f"day {number}", wait=number == list(days)[-1]
            )
            for (_, step), one in zip(said, added["results"], strict=True):
                if step.name:
                    self._turns[step.name] = [UUID(one["id"])]
        if days:
            self._settle()
            self.scene.memory.rows("forget_import_time", user=self.user)
        self._unsaid.clear()

    def _ask(self, day: Day, step: Step, text: str) -> str | None:
        """The answer, or None if there was none."""
        since, question = utc_now(), self._calendar.render(text)
        conversation = self._conversations.setdefault(step.conversation or f"day {day.day}", str(uuid4()))
        metadata = {"marks": True} if step.marks else None
        run = self.scene.client.submit(
            question,
            user_id=str(self.user),
            assistant=self.scenario.assistant,
            conversation_id=conversation,
            metadata=metadata,
        )
        return self._hear(day, step, question, run, since)

    def _hear(self, day: Day, step: Step, question: str, run: str, since: datetime) -> str | None:
        """Wait for a run and for its place in memory, hold what is expected; its answer."""
        sources: tuple[Any, ...] = ()
        try:
            sources = self.scene.client.wait(run, timeout=RUN_TIMEOUT_S).sources
        except ClientError as error:
            failure = f"{error.code}: {error.message}"
        else:
            failure = ""
        self._settle()
        row = self.scene.memory.row("run", run=UUID(run))
        if step.name:
            self._turns[step.name] = self.scene.memory.logs_of(self.user, UUID(run))
        numbers = cited_numbers(row["final_answer"] or "")
        answered = Answered(
            question,
            row["final_answer"] or "",
            row["payload"],
            frozenset(str(one["id"]) for one in row["sources"]),
            frozenset(str(one["id"]) for one in sources if one.get("number") in numbers),
            since,
        )
        checks = tuple(self._checker().hold(one, answered) for one in step.expect)
        if failure:
            checks = (Check("answer", "an answer", "failed", failure), *checks)
        self._played.append(PlayedTurn.of(day.day, question, row, checks))
        return None if failure else answered.text

    def _checker(self) -> Checker:
        scene, calendar = self.scene, self._calendar
        answers = replace(calendar, today=scene.answered_on) if scene.answered_on else calendar
        return Checker(scene.memory, self.user, calendar, answers, self._turns, scene.is_builtin, scene.judge)

    def _talk(self, day: Day, step: Step) -> None:
        """A person that a model plays; what is expected must hold of the last answer."""
        assert step.person is not None
        if self.scene.person is None:
            raise EmulatorError("a model plays this person: name one (--person openai:NAME)")
        person = ModelPerson(self.scene.person, self._calendar.render(step.person.goal), self.scenario.language)
        bare, heard = step.model_copy(update={"expect": []}), None
        for number in range(step.person.turns):
            said = person.speak(heard)
            if said is None and number:
                break
            heard = self._ask(day, bare, said or step.person.goal)
            if heard is None:
                return
        played = self._played[-1]
        answered = Answered(played.question, played.answer, played.payload, frozenset(), frozenset(), utc_now())
        checks = tuple(self._checker().hold(one, answered) for one in step.expect)
        self._played[-1] = played.with_checks(checks)

    def _decide(self, day: Day, step: Step) -> None:
        """Approve or reject what waits, as a press of a button does, and hear what became of it."""
        pending = self.scene.memory.rows("pending", user=self.user)
        if not pending:
            raise EmulatorError("nothing waits for consent")
        since, first = utc_now(), pending[0]
        decided = self.scene.memory.row(
            "decide", action=first["id"], user=self.user, decision=step.decide, fingerprint=first["fingerprint"]
        )
        said = f"[{step.decide}: {first['tool']}]"
        if decided["run_id"] is not None:
            self._hear(day, step, said, str(decided["run_id"]), since)
            return
        checks = tuple(
            self._checker().hold(one, Answered(said, "", "", frozenset(), frozenset(), since)) for one in step.expect
        )
        self._played.append(PlayedTurn(day.day, said, f"({decided['verdict']})", checks))

    def _settle(self) -> None:
        """Return when no run of the user is unfinished. Raises EmulatorError."""
        end = time.monotonic() + SETTLE_TIMEOUT_S
        while self.scene.memory.row("unfinished", user=self.user)["runs"]:
            if time.monotonic() > end:
                raise EmulatorError(f"runs are unfinished after {SETTLE_TIMEOUT_S:.0f} s; see `maas doctor`")
            time.sleep(POLL_INTERVAL_S)

    def _purge(self, days: int) -> None:
        """Delete what is older than so many days, as MAAS_RETENTION_DAYS does. Raises EmulatorError."""
        self._settle()
        for _ in range(MAX_PURGES):
            self.scene.memory.rows("purge", days=days)
            if not self.scene.memory.row("expired", user=self.user, days=days)["is_left"]:
                return
            time.sleep(POLL_INTERVAL_S)
        raise EmulatorError(f"messages older than {days} days are still there")
