"""The draws of a chaos run: the same seed gives the same, each part is complete."""

from __future__ import annotations

from collections import Counter
from itertools import islice, pairwise

import pytest

from tests.chaos.schedule import (
    FAULT_SHARES,
    Blow,
    ModelFault,
    Request,
    Way,
    batches,
    model_faults,
    restarts,
    storms,
    strikes,
)


def drawn(seed: int) -> tuple[object, ...]:
    return (
        list(islice(strikes(seed, 5), 100)),
        list(islice(storms(seed), 20)),
        restarts(seed, 3),
        list(islice(model_faults(seed), 1000)),
        batches(seed, 500, 30),
    )


def test_a_seed_repeats_itself_and_another_does_not() -> None:
    assert drawn(7) == drawn(7)
    assert all(one != other for one, other in zip(drawn(7), drawn(8), strict=True))


def test_every_process_suffers_every_blow_before_one_comes_again() -> None:
    found = list(islice(strikes(1, 5), 40))
    assert [strike.at for strike in found] == [float(second) for second in range(1, 41)]
    for part in (found[:20], found[20:]):
        assert len({(strike.blow, strike.order[0]) for strike in part}) == 20
    for four in zip(*[iter(found)] * 4, strict=True):
        assert {strike.blow for strike in four} == set(Blow)
    assert all(sorted(strike.order) == [0, 1, 2, 3, 4] for strike in found)


def test_restarts_are_spread_over_the_run() -> None:
    for seed in range(50):
        shares = [restart.share for restart in restarts(seed, 3)]
        assert [int(share * 3) for share in shares] == [0, 1, 2]
        assert shares[-1] < 0.9001  # the rest of a run is spent without chaos
    assert {restart.is_kill for seed in range(50) for restart in restarts(seed, 3)} == {True, False}
    assert restarts(1, 0) == ()


def test_storms_do_not_meet() -> None:
    found = list(islice(storms(3), 100))
    assert all(one.at + one.seconds < other.at for one, other in pairwise(found))
    assert {storm.fault for storm in found} == set(ModelFault)


def test_model_faults_have_their_shares() -> None:
    found = Counter(islice(model_faults(5), 50_000))
    for fault, share in FAULT_SHARES.items():
        assert found[fault] / 50_000 == pytest.approx(share, rel=0.2)
    assert found[None] > 40_000


@pytest.mark.parametrize("runs", [1, 2, 10, 501])
def test_each_request_is_sent_once(runs: int) -> None:
    found = batches(9, runs, 30)
    requests = [request for batch in found for request in batch.requests]
    assert [request.number for request in requests] == list(range(runs))
    assert len({request.id for request in requests}) == runs
    assert all(0 <= request.user < 30 for request in requests)
    assert all(len(batch.requests) == 1 for batch in found if batch.way is not Way.SQL_ROWS)
    assert not any(batch.rolls_back for batch in found if batch.way is Way.HTTP)


def test_half_of_the_requests_go_over_http() -> None:
    counted = Counter({way: 0 for way in Way})
    for batch in batches(4, 10_000, 300):
        counted[batch.way] += len(batch.requests)
    assert 0.4 < counted[Way.HTTP] / 10_000 < 0.6
    assert counted[Way.SQL] > 1000 < counted[Way.SQL_ROWS]


def test_a_mark_tells_runs_and_users_apart() -> None:
    one, other = (Request(number, user, id) for (number, user, id) in ((1, 17, _ID), (11, 170, _ID)))
    assert one.mark == "run 000001 of user 0017"
    assert one.query.startswith(f"{one.mark}: ")
    assert one.mark not in other.query
    assert one.user_id != other.user_id


_ID = batches(0, 1, 1)[0].requests[0].id
