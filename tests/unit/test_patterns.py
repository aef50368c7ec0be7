"""No message holds up a regular expression of ours: 64 KiB that are hard on it take it 50 ms of CPU at most."""

from __future__ import annotations

import math
import re
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.patterns import Found, Hard, find_patterns, hard_texts

CHARS = 64 * 1024
CPU_S = 0.05
SLOW_HOUR = 4  # as much CPU time may a shared machine take for the same work
MOST_GROWTH = 3  # of the work with twice the text: in proportion it is 2, squared 4
TRIES = 4  # a busy machine takes CPU time, too: the best of some counts
SCREENED_CHARS = 2048
SCREENED_S = 3.0
WORST = 8
# Made where they are used, of what no message can change; the reason stands behind each.
MADE_ON_THE_SPOT = {
    "shared/log.py: masker",  # escaped secrets of users
    "maas/memory/spelling.py: count_lexemes",  # escaped pairs of letters before a bounded run
    "maas/builtin_model/analyzer.py: _any",  # what it returns is found where modules keep it
    "maas/facts/patterns.py: pattern",  # what it returns is found where modules keep it
    "maas/builtin_model/summaries.py: _is_technology",  # one word of a list of ours
    "shared/log.py: _pattern",  # escaped forms of secrets
    "shared/text.py: fill",  # escaped names of places in our prompts
}


class TooLong(Exception):
    """The CPU time is used up."""


@contextmanager
def cpu_limit(seconds: float) -> Iterator[None]:
    """Raises TooLong when what is done within takes more CPU time."""

    def stop(*_: object) -> None:
        raise TooLong

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def ask(pattern: re.Pattern[str], use: str, text: str) -> None:
    found = getattr(pattern, use)(text)
    if use == "finditer":
        for _ in found:
            pass


def cpu_of(pattern: re.Pattern[str], use: str, text: str) -> float:
    """CPU seconds; infinite beyond what the slowest hour explains."""
    try:
        with cpu_limit(CPU_S * SLOW_HOUR):
            began = time.process_time()
            ask(pattern, use, text)
            return time.process_time() - began
    except TooLong:
        return math.inf


def takes_too_long(pattern: re.Pattern[str], use: str, hard: Hard) -> bool:
    """Whether the limit is passed for another reason than a slow hour: half of the text is not half of the work."""
    whole, half = hard.text(CHARS), hard.text(CHARS // 2)
    return not any(
        (took := cpu_of(pattern, use, whole)) <= CPU_S
        or (took < math.inf and took <= MOST_GROWTH * cpu_of(pattern, use, half))
        for _ in range(TRIES)
    )


def slow_text(pattern: re.Pattern[str], use: str) -> Hard | None:
    """A text that the pattern is slow on: of all hard ones those are tried at full length that are worst when short."""
    costs: list[tuple[int, Hard]] = []
    hard = Hard("", " ", "")
    try:
        with cpu_limit(SCREENED_S):
            for hard in hard_texts(pattern):
                text = hard.text(SCREENED_CHARS)
                began = time.process_time_ns()
                ask(pattern, use, text)
                costs.append((time.process_time_ns() - began, hard))
    except TooLong:
        return hard
    costs.sort(key=lambda pair: -pair[0])
    return next((one for _, one in costs[:WORST] if takes_too_long(pattern, use, one)), None)


@pytest.fixture(scope="module")
def patterns() -> tuple[list[Found], set[str]]:
    return find_patterns()


def test_every_pattern_is_found_or_made_of_what_nobody_sends(patterns: tuple[list[Found], set[str]]) -> None:
    found, unread = patterns
    assert {"maas/memory/notes.py: _LIST_COMMAND", "shared/text.py: shorten", "maas/agents/definition.py: \\S"} <= {
        one.place for one in found
    }
    assert unread == MADE_ON_THE_SPOT


def test_every_pattern_takes_a_hard_text_in_time(patterns: tuple[list[Found], set[str]]) -> None:
    slow = {
        f"{one.place}: {use} takes more than {CPU_S} s of CPU on {text.text(80)!r}... of {CHARS}"
        for one in patterns[0]
        for use in sorted(one.uses)
        if (text := slow_text(one.pattern, use)) is not None
    }
    assert not slow


@pytest.mark.parametrize(
    ("pattern", "use"),
    [
        (r"\s*(заметки|notes)\s*[.!?]*\s*", "fullmatch"),
        (r"(?:[.!?…]+[\"'»]*(?=\s)|[。！？]+)\s*|\n\s*", "finditer"),
        (r"(?i)\b((?:authorization|x-[a-z-]*(?:key|token))\s?[:=])", "finditer"),
        (r"\beyJ[A-Za-z0-9_-]{5,}(?:\.[A-Za-z0-9_-]*)+", "finditer"),
        (r"<a>(.*?)</a><b>(.*?)</b><c>(.*?)</c>", "fullmatch"),
        (r"(?:a|a)*b", "match"),
    ],
)
def test_slow_pattern_is_seen(pattern: str, use: str) -> None:
    assert slow_text(re.compile(pattern), use) is not None
