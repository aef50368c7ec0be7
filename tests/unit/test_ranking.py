"""Ranking of candidates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest

from maas.memory.query import SearchFilter, parse_query, scope_of
from maas.memory.ranking import WEIGHTS, Candidate, Evidence, rank, weigh

NOW = datetime(2025, 1, 1, tzinfo=UTC)


def message(mask: int, before: int = 0, after: int = 0, speaker: str | None = "Ann", **fields: object) -> Candidate:
    values: dict[str, object] = {
        "id": uuid4(), "conversation": "c", "speaker": speaker, "is_assistant": False, "occurred_at": NOW,
        "record_id": None, "mask": mask, "before": before, "before_that": 0, "after": after, "length": 10,
    } | fields  # fmt: skip
    return Candidate(**values)  # type: ignore[arg-type]


def evidence(messages: list[Candidate], text: str = "", terms: int = 3, total: int = 100, **fields: object) -> Evidence:
    frequency = [sum(message.mask >> bit & 1 for message in messages) for bit in range(terms)]
    query = parse_query(text, NOW)
    return Evidence(query, messages, weigh(frequency, total), frequency, **fields)  # type: ignore[arg-type]


def order(
    messages: list[Candidate], text: str = "", terms: int = 3, similarity: Mapping[UUID, float] | None = None
) -> list[UUID]:
    return [one.message.id for one in rank(evidence(messages, text, terms, similarity=similarity or {}))]


def test_more_of_the_question_ranks_higher() -> None:
    full, half = message(0b111), message(0b001)
    assert order([half, full]) == [full.id, half.id]


def test_rare_terms_weigh_more() -> None:
    common = [message(0b001) for _ in range(20)]
    rare = message(0b010)
    assert order([*common, rare])[0] == rare.id


def test_neighbours_count() -> None:
    alone, between = message(0b001, conversation="a"), message(0b001, before=0b010, after=0b100, conversation="b")
    others = [message(0b110, conversation="z", is_eligible=False)]
    assert order([alone, between, *others])[0] == between.id


def test_named_speaker_counts() -> None:
    ann, bob = message(0b1, speaker="Ann"), message(0b1, speaker="Bob")
    assert order([ann, bob], "what did BOB say?", 1)[0] == bob.id


def test_a_name_within_a_word_is_no_name() -> None:
    al, zoe = message(0b1, speaker="Al"), message(0b1, speaker="Zoe", occurred_at=NOW + timedelta(days=1))
    assert order([al, zoe], "did anybody also come?", 1)[0] == zoe.id


def test_the_assistant_ranks_lower_but_is_not_hidden() -> None:
    user, assistant = message(0b1, speaker=None), message(0b1, speaker=None, is_assistant=True)
    assert order([assistant, user], terms=1) == [user.id, assistant.id]


def test_what_the_assistant_said_counts_when_it_is_asked_for() -> None:
    user, assistant = message(0b1, speaker=None), message(0b11, speaker=None, is_assistant=True)
    assert order([assistant, user], "which phone is good?", 2) == [user.id, assistant.id]
    assert order([assistant, user], "which phone did you advise?", 2) == [assistant.id, user.id]
    assert order([assistant, user], "какой телефон ты мне советовал?", 2) == [assistant.id, user.id]


def test_an_answer_to_what_was_asked_before_counts() -> None:
    answer = message(0, before=0b11, answers=True, conversation="a")
    remark = message(0, before=0b11, conversation="b")
    assert order([remark, answer]) == [answer.id, remark.id]


def test_a_time_answers_when_and_the_named_date_counts() -> None:
    plain, timed = message(0b1), message(0b1, has_hint=True, occurred_at=NOW - timedelta(days=9))
    assert order([plain, timed], "when?", 1)[0] == timed.id
    then, later = message(0b1, occurred_at=datetime(2024, 3, 5, tzinfo=UTC)), message(0b1)
    assert order([then, later], "what happened?", 1)[0] == later.id
    assert order([then, later], "what happened in March?", 1)[0] == then.id


def test_meaning_is_one_more_signal() -> None:
    worded, plain, meant = message(0b1), message(0, after=0b1), message(0, after=0b1)
    meaning = {meant.id: 1.0}
    assert order([worded, plain, meant], terms=1, similarity=meaning)[1:] == [meant.id, plain.id]
    assert order([worded, plain, meant], terms=1, similarity={plain.id: 1.0})[1:] == [plain.id, meant.id]


def test_a_signal_without_weight_says_nothing() -> None:
    ann, bob = message(0b1, speaker="Ann", occurred_at=NOW + timedelta(days=1)), message(0b1, speaker="Bob")
    given = evidence([ann, bob], "what did Bob say?", 1)
    assert [one.message.id for one in rank(given)] == [bob.id, ann.id]
    assert [one.message.id for one in rank(given, replace(WEIGHTS, speaker=0.0))] == [ann.id, bob.id]


def test_the_newest_of_conflicting_facts_comes_first() -> None:
    """Both hold the same terms; that the older one stands in a better place does not make it true."""
    older = message(0b011, before=0b100, conversation="a")
    newer = message(0b011, occurred_at=NOW + timedelta(days=30), conversation="b")
    said_by_another = message(0b011, speaker="Bob", occurred_at=NOW + timedelta(days=60), conversation="d")
    rest = [message(0b100, conversation="e", is_eligible=False) for _ in range(60)]
    found = order([older, newer, said_by_another, *rest])
    assert found.index(newer.id) < found.index(older.id)
    quoted = message(0b011, is_assistant=True, occurred_at=NOW + timedelta(days=90), conversation="f")
    assert order([older, newer, quoted, *rest])[-1] == quoted.id  # a machine repeats, it states nothing
    ranked = {one.message.id: one.score for one in rank(evidence([older, newer, *rest]))}
    assert ranked[newer.id] > ranked[older.id]


def test_newer_wins_among_equals() -> None:
    older, newer = message(0b1), message(0b1, occurred_at=NOW + timedelta(days=1))
    assert order([older, newer], terms=1) == [newer.id, older.id]


def test_preferred_time_decides_among_equals_and_hides_nothing() -> None:
    preferred, newer = (
        message(0b1, occurred_at=NOW - timedelta(days=9)),
        message(0b1, occurred_at=NOW - timedelta(days=1)),
    )
    better = message(0b111, occurred_at=NOW - timedelta(days=90))
    given = replace(evidence([newer, preferred, better]), filters=SearchFilter(as_of=NOW, scope="warm"))
    assert [one.message.id for one in rank(given)] == [better.id, preferred.id, newer.id]


@pytest.mark.parametrize(
    ("days", "scope"), [(0, "hot"), (3, "hot"), (4, "warm"), (14, "warm"), (15, "cold"), (900, "cold")]
)
def test_scopes(days: int, scope: str) -> None:
    assert scope_of(NOW - timedelta(days=days), NOW) == scope


def test_unknown_terms_lower_the_coverage() -> None:
    """A question of which memory knows one word in three is not answered by it."""
    (only,) = rank(evidence([message(0b001)], total=10))
    assert only.coverage < 0.5
