"""What playing gave: turns, scenarios, the whole report, and the status that follows from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from learning_agent.emulator.checks import Check
from learning_agent.emulator.errors import ExitStatus
from learning_agent.emulator.scenario import Scenario

Outcome = Literal["passed", "failed", "left out"]


@dataclass(frozen=True, slots=True)
class PlayedTurn:
    """A question with its answer and what was expected of it; `degraded` names stages that worked by rules."""

    day: int
    question: str
    answer: str
    checks: tuple[Check, ...] = ()
    degraded: tuple[str, ...] = ()
    seconds: float | None = None
    tokens_in: int = 0
    tokens_out: int = 0
    payload: str = ""

    @classmethod
    def of(cls, day: int, question: str, row: Mapping[str, Any], checks: tuple[Check, ...]) -> PlayedTurn:
        """From the row of its run."""
        return cls(
            day,
            question,
            row["final_answer"] or "",
            checks,
            tuple(row["degraded"]),
            row["seconds"],
            row["tokens_in"],
            row["tokens_out"],
            row["payload"],
        )

    def with_checks(self, checks: tuple[Check, ...]) -> PlayedTurn:
        """The same turn, with more that was expected of it."""
        return replace(self, checks=(*self.checks, *checks))


@dataclass(frozen=True, slots=True)
class Result:
    """A scenario that was played, or left out, with the reason in `error`."""

    name: str
    title: str
    language: str
    kind: str
    outcome: Outcome
    turns: tuple[PlayedTurn, ...] = ()
    error: str = ""
    seconds: float = 0.0

    @classmethod
    def of(cls, scenario: Scenario, turns: tuple[PlayedTurn, ...], error: str, seconds: float) -> Result:
        """The outcome of what was played."""
        is_held = not error and all(check.verdict != "failed" for turn in turns for check in turn.checks)
        outcome: Outcome = "passed" if is_held else "failed"
        return cls(
            scenario.name, scenario.title, scenario.language, scenario.kind, outcome, turns, error, round(seconds, 3)
        )

    @classmethod
    def left_out(cls, scenario: Scenario, reason: str) -> Result:
        """A scenario that was not played."""
        return cls(scenario.name, scenario.title, scenario.language, scenario.kind, "left out", error=reason)

    @property
    def checks(self) -> list[Check]:
        """Everything that was expected."""
        return [check for turn in self.turns for check in turn.checks]

    @property
    def failures(self) -> list[str]:
        """A line for each thing that did not hold."""
        lines = [
            f"day {turn.day}, {check.expectation} {check.wanted!r}: {check.detail}"
            for turn in self.turns
            for check in turn.checks
            if check.verdict == "failed"
        ]
        return lines + ([self.error] if self.error and self.outcome == "failed" else [])


@dataclass(frozen=True, slots=True)
class Report:
    """All scenarios with one model; `stale` are requests that a recording does not hold."""

    model: str
    judge: str | None
    played_at: str
    results: tuple[Result, ...]
    stale: tuple[str, ...] = ()
    recording: str = ""

    def count(self, outcome: Outcome) -> int:
        """How many scenarios had this outcome."""
        return sum(one.outcome == outcome for one in self.results)

    @property
    def status(self) -> ExitStatus:
        """What the command ends with."""
        if self.stale:
            return ExitStatus.STALE_RECORDING
        return ExitStatus.FAILED if self.count("failed") else ExitStatus.PASSED

    def to_json(self) -> dict[str, Any]:
        """All of it, for programs."""
        counts = {name.replace(" ", "_"): self.count(name) for name in OUTCOMES}
        return {**asdict(self), "counts": counts, "status": int(self.status)}


OUTCOMES: tuple[Outcome, ...] = ("passed", "failed", "left out")
