"""What SQL says about a run that is over: offences, that there was chaos at all, and how fast it recovered."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Self

from bench.report import print_table
from tests.chaos.witness import Witness


@dataclass(frozen=True, slots=True)
class Check:
    """How many offences were found where `expected` are allowed."""

    check: str
    found: int
    expected: int
    examples: tuple[str, ...]

    @property
    def holds(self) -> bool:
        return self.found == self.expected


@dataclass(frozen=True, slots=True)
class Happening:
    """How often something happened, and how often it must at least."""

    name: str
    found: int
    least: int

    @property
    def holds(self) -> bool:
        return self.found >= self.least


@dataclass(frozen=True, slots=True)
class Recovery:
    """Seconds after one kind of fault until the lost runs were reclaimed, and until they moved on."""

    kind: str
    owners: int
    runs: int | None
    reclaimed_p50: float
    reclaimed_p99: float
    moved_p50: float | None
    moved_p99: float | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """All of it."""

    checks: tuple[Check, ...]
    happened: tuple[Happening, ...]
    recovery: tuple[Recovery, ...]
    replies: tuple[tuple[str, str, int], ...]

    @classmethod
    async def ask(cls, witness: Witness, *checks: str, is_chaos: bool = True) -> Self:
        """Ask the database of the run; `is_chaos` says whether processes of ours were struck."""
        found = [row for name in checks for row in await witness.rows(name)]
        return cls(
            tuple(Check(row["check"], row["found"], row["expected"], tuple(row["examples"] or ())) for row in found),
            tuple(Happening(**row) for row in (await witness.rows("happened") if is_chaos else ())),
            tuple(Recovery(**row) for row in (await witness.rows("recovery") if is_chaos else ())),
            tuple((row["way"], row["outcome"], row["times"]) for row in await witness.rows("replies")),
        )

    @property
    def holds(self) -> bool:
        """Whether nothing offends and there was chaos."""
        return all(check.holds for check in self.checks) and all(one.holds for one in self.happened)

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"holds": self.holds}

    def print(self) -> None:
        """Tables for people."""
        happened = [(one.name, one.found, one.least or None) for one in self.happened]
        if happened:
            print_table("What happened", ["", "found", "at least"], happened)
        print_table("What clients received", ["way: outcome", "times"], [(f"{w}: {o}", n) for w, o, n in self.replies])
        recovery = [
            (r.kind, r.owners, r.reclaimed_p50, r.reclaimed_p99, r.runs, r.moved_p50, r.moved_p99)
            for r in self.recovery
        ]
        if recovery:
            print_table(
                "Seconds from a fault until the lost runs were reclaimed, and until they moved on",
                ["fault", "processes", "reclaimed p50", "p99", "runs", "moved on p50", "p99"],
                recovery,
            )
        print_table("Offences", ["", "found", "expected"], [(c.check, c.found, c.expected) for c in self.checks])
        for check in self.checks:
            if not check.holds:
                print_table(check.check, ["for example"], [(example,) for example in check.examples])
