"""Nobody reads what is somebody else's: a part of `make strangers`, and that it would see who does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.fuzz.imports import plant
from tests.fuzz.residents import SETTINGS, Resident, settle
from tests.fuzz.storm import throw
from tests.fuzz.strangers import intrude
from tests.fuzz.wire import TIMEOUT_S, Attack, Response, judge
from tests.polling import poll
from tests.programs import Process
from tests.stack import Stack


@pytest.fixture(scope="module")
def stack(fresh_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A server that asks for keys."""
    with Stack(fresh_database, tmp_path_factory.mktemp("stack"), **SETTINGS) as running:
        running.start_server()
        yield running


@pytest.fixture(scope="module")
def orchestrator(stack: Stack) -> Process:
    return stack.start_orchestrator()


@pytest.fixture(scope="module")
def residents(stack: Stack, orchestrator: Process) -> list[Resident]:
    return settle(stack, 4, seed=1)


def test_strangers_read_nothing_and_owners_everything(stack: Stack, residents: list[Resident]) -> None:
    tally = intrude(stack, residents, 400, seed=1)
    assert tally.breaches == []
    assert tally.shut == []
    assert tally.strangers.total() == 400 and tally.owners.total() == 40
    ways = {"http", "http, by reference", "openai", "agents", "mcp", "sql"}
    assert {way for way, _ in tally.strangers} == {way for way, _ in tally.owners} == ways
    assert len(tally.strangers) > 40


def test_a_breach_would_be_seen(stack: Stack, residents: list[Resident]) -> None:
    """Whoever has the key of another is recognised by their attempts."""
    first, second = residents[:2]
    impostor = replace(first, headers=second.headers)
    tally = intrude(stack, [impostor, second], 40, seed=2)
    assert tally.breaches and tally.shut and not tally.holds


def test_nonsense_is_answered_and_tells_nobody_anything(stack: Stack, residents: list[Resident]) -> None:
    """A part of `make fuzz`, over sockets."""
    tally = throw(stack.port, residents, 1, lambda count: count >= 120)
    assert tally.findings == []
    assert len(tally.replies) > 40
    assert {"200", "400", "404", "405"} <= {status for _, status in tally.replies}
    assert {("others", "200"), ("runs: /v1/runs", "202"), ("runs: /v1/memories/search", "200")} <= tally.replies.keys()
    assert "request_crashed" not in stack.log()
    poll(stack.is_ready, what="server is ready")


def test_a_finding_would_be_one(residents: list[Resident]) -> None:
    attack = Attack("by hand", (b"GET / HTTP/1.1\r\n\r\n",))
    words = residents[0].secret
    assert judge(attack, Response(200, words.encode(), 0.1), [words]) == "the words of somebody else"
    assert judge(attack, Response(500, b"", 0.1), [words]) == "status 500"
    assert judge(attack, Response(None, b"", TIMEOUT_S), [words]) == "no end of a reply within 20 s"
    assert judge(attack, Response(200, b"mine", 0.1), [words]) is None


def test_files_that_name_what_is_of_others_touch_nothing_of_it(
    stack: Stack, orchestrator: Process, residents: list[Resident]
) -> None:
    """The last test here: it stops the orchestrator and starts another."""
    planted = plant(stack, orchestrator, residents, 100, seed=1)
    assert planted.findings == []
    assert planted.holds
    assert len({name for name, _ in planted.files}) == 10
