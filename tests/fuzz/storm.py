"""Nonsense over sockets, by several threads at once, and what was wrong with the replies."""

from __future__ import annotations

import random
import re
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from tests.fuzz.foreign import FOREIGN
from tests.fuzz.residents import Resident
from tests.fuzz.wire import MAKERS, judge, question, send

OTHERS_WITHIN_S = 10.0  # what an answer may take of a user who does nothing wrong
LAST = re.compile(r"(\d+ generated[^\n]*)")


@dataclass(slots=True)
class Tally:
    """What was sent, by attack and status, and what was wrong: (words, command)."""

    replies: Counter[tuple[str, str]] = field(default_factory=Counter)
    findings: list[tuple[str, str]] = field(default_factory=list)
    rounds: list[str] = field(default_factory=list)
    memory: dict[str, tuple[float, float]] = field(default_factory=dict)
    slowest_s: float = 0.0

    def note_rounds(self, rounds: Sequence[tuple[int, str]]) -> None:
        """Exit status and report of each round of schemathesis."""
        self.rounds += [LAST.findall(words)[-1] for _, words in rounds if LAST.search(words)]
        self.findings += [("schemathesis", words[-20_000:]) for status, words in rounds if status != 0]

    def note_memory(self, process: str, before: float, after: float, most: float) -> None:
        """MiB of a process; more than `most` that came to them are a finding."""
        self.memory[process] = before, after
        if after > before + most:
            self.findings.append((f"memory of the {process}", f"{before:.0f} MiB grew to {after:.0f} MiB"))

    def to_json(self) -> dict[str, object]:
        """The same figures."""
        return {
            "requests": self.replies.total(),
            "findings": [list(one) for one in self.findings],
            "mib": {process: list(figures) for process, figures in self.memory.items()},
            "replies": {" ".join(name): count for name, count in sorted(self.replies.items())},
            "schemathesis": self.rounds,
            "slowest_answer_s": round(self.slowest_s, 2),
        }


def throw(port: int, residents: Sequence[Resident], seed: int, until: Callable[[int], bool], workers: int = 3) -> Tally:
    """Nonsense over sockets until `until(count of one thread)`; the same seed throws the same.

    The last of the residents does nothing wrong meanwhile, and is answered within OTHERS_WITHIN_S.
    """
    tally, lock, is_over = Tally(), threading.Lock(), threading.Event()
    *throwers, other = residents

    def ask_on() -> None:
        foreign = [one.secret for one in throwers]
        while not is_over.wait(0.2):
            response = send(port, attack := question(other))
            wrong = judge(attack, response, foreign)
            if response.status != 200 or response.seconds > OTHERS_WITHIN_S:
                wrong = (
                    wrong or f"status {response.status} after {response.seconds:.1f} s for one who does nothing wrong"
                )
            tally.slowest_s = max(tally.slowest_s, response.seconds)
            with lock:
                tally.replies[attack.name, str(response.status or "none")] += 1
                if wrong:
                    tally.findings.append((f"{attack.name}: {wrong}", attack.command))

    def work(number: int) -> None:
        draw, count = random.Random(seed * workers + number), 0
        while not until(count):
            count += 1
            who = draw.choice(throwers)
            attack = draw.choice(MAKERS + FOREIGN)(draw, who)
            foreign = [one.secret for one in residents if one is not who]
            response = send(port, attack)
            wrong = judge(attack, response, foreign)
            with lock:
                tally.replies[attack.name, str(response.status or "none")] += 1
                if wrong:
                    tally.findings.append((f"{attack.name}: {wrong}", attack.command))

    with ThreadPoolExecutor(workers + 1) as pool:
        asking = pool.submit(ask_on)
        try:
            list(pool.map(work, range(workers)))
        finally:
            is_over.set()
        asking.result()
    return tally
