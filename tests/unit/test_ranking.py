"""The arithmetic of recall."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest

from maas.memory.context import fill_budget
from maas.memory.question import read_question
from maas.memory.ranking import WEIGHTS, Evidence, Turn, rank, weigh
from maas.memory.reach import Reach, scope_of
from maas.memory.search import Hit
from shared import tokens

NOW = datetime(2025, 1, 1, tzinfo=UTC)


def turn(mask: int, before: int = 0, after: int = 0, speaker: str | None = "Ann", **fields: object) -> Turn:
    values: dict[str, object] = {
        "id": uuid4(), "conversation": "c", "speaker": speaker, "is_assistant": False, "occurred_at": NOW,
        "record_id": None, "mask": mask, "before": before, "before_that": 0, "after": after, "length": 10,
    } | fields  # fmt: skip
    return Turn(**values)  # type: ignore[arg-type]


def evidence(turns: list[Turn], question: str = "", terms: int = 3, total: int = 100, **fields: object) -> Evidence:
    frequency = [sum(turn.mask >> bit & 1 for turn in turns) for bit in range(terms)]
    asked = read_question(question, NOW)
    return Evidence(asked, turns, weigh(frequency, total), frequency, **fields)  # type: ignore[arg-type]


def order(
    turns: list[Turn], question: str = "", terms: int = 3, meaning: Mapping[UUID, float] | None = None
) -> list[UUID]:
    return [one.turn.id for one in rank(evidence(turns, question, terms, meaning=meaning or {}))]


def test_more_of_the_question_ranks_higher() -> None:
    full, half = turn(0b111), turn(0b001)
    assert order([half, full]) == [full.id, half.id]


def test_rare_terms_weigh_more() -> None:
    common = [turn(0b001) for _ in range(20)]
    rare = turn(0b010)
    assert order([*common, rare])[0] == rare.id


def test_neighbours_count() -> None:
    alone, between = turn(0b001, conversation="a"), turn(0b001, before=0b010, after=0b100, conversation="b")
    others = [turn(0b110, conversation="z", is_eligible=False)]
    assert order([alone, between, *others])[0] == between.id


def test_named_speaker_counts() -> None:
    ann, bob = turn(0b1, speaker="Ann"), turn(0b1, speaker="Bob")
    assert order([ann, bob], "what did BOB say?", 1)[0] == bob.id


def test_a_name_within_a_word_is_no_name() -> None:
    al, zoe = turn(0b1, speaker="Al"), turn(0b1, speaker="Zoe", occurred_at=NOW + timedelta(days=1))
    assert order([al, zoe], "did anybody also come?", 1)[0] == zoe.id


def test_the_assistant_ranks_lower_but_is_not_hidden() -> None:
    user, assistant = turn(0b1, speaker=None), turn(0b1, speaker=None, is_assistant=True)
    assert order([assistant, user], terms=1) == [user.id, assistant.id]


def test_what_the_assistant_said_counts_when_it_is_asked_for() -> None:
    user, assistant = turn(0b1, speaker=None), turn(0b11, speaker=None, is_assistant=True)
    assert order([assistant, user], "which phone is good?", 2) == [user.id, assistant.id]
    assert order([assistant, user], "which phone did you advise?", 2) == [assistant.id, user.id]
    assert order([assistant, user], "какой телефон ты мне советовал?", 2) == [assistant.id, user.id]


def test_an_answer_to_what_was_asked_before_counts() -> None:
    answer = turn(0, before=0b11, answers=True, conversation="a")
    remark = turn(0, before=0b11, conversation="b")
    assert order([remark, answer]) == [answer.id, remark.id]


def test_a_time_answers_when_and_the_named_date_counts() -> None:
    plain, timed = turn(0b1), turn(0b1, has_hint=True, occurred_at=NOW - timedelta(days=9))
    assert order([plain, timed], "when?", 1)[0] == timed.id
    then, later = turn(0b1, occurred_at=datetime(2024, 3, 5, tzinfo=UTC)), turn(0b1)
    assert order([then, later], "what happened?", 1)[0] == later.id
    assert order([then, later], "what happened in March?", 1)[0] == then.id


def test_meaning_is_one_more_signal() -> None:
    worded, plain, meant = turn(0b1), turn(0, after=0b1), turn(0, after=0b1)
    meaning = {meant.id: 1.0}
    assert order([worded, plain, meant], terms=1, meaning=meaning)[1:] == [meant.id, plain.id]
    assert order([worded, plain, meant], terms=1, meaning={plain.id: 1.0})[1:] == [plain.id, meant.id]


def test_a_signal_without_weight_says_nothing() -> None:
    ann, bob = turn(0b1, speaker="Ann", occurred_at=NOW + timedelta(days=1)), turn(0b1, speaker="Bob")
    given = evidence([ann, bob], "what did Bob say?", 1)
    assert [one.turn.id for one in rank(given)] == [bob.id, ann.id]
    assert [one.turn.id for one in rank(given, replace(WEIGHTS, speaker=0.0))] == [ann.id, bob.id]


def test_the_newest_of_conflicting_facts_comes_first() -> None:
    """Both hold the same terms; that the older one stands in a better place does not make it true."""
    older = turn(0b011, before=0b100, conversation="a")
    newer = turn(0b011, occurred_at=NOW + timedelta(days=30), conversation="b")
    said_by_another = turn(0b011, speaker="Bob", occurred_at=NOW + timedelta(days=60), conversation="d")
    rest = [turn(0b100, conversation="e", is_eligible=False) for _ in range(60)]
    found = order([older, newer, said_by_another, *rest])
    assert found.index(newer.id) < found.index(older.id)
    quoted = turn(0b011, is_assistant=True, occurred_at=NOW + timedelta(days=90), conversation="f")
    assert order([older, newer, quoted, *rest])[-1] == quoted.id  # a machine repeats, it states nothing
    ranked = {one.turn.id: one.score for one in rank(evidence([older, newer, *rest]))}
    assert ranked[newer.id] > ranked[older.id]


def test_newer_wins_among_equals() -> None:
    older, newer = turn(0b1), turn(0b1, occurred_at=NOW + timedelta(days=1))
    assert order([older, newer], terms=1) == [newer.id, older.id]


def test_preferred_time_decides_among_equals_and_hides_nothing() -> None:
    preferred, newer = turn(0b1, occurred_at=NOW - timedelta(days=9)), turn(0b1, occurred_at=NOW - timedelta(days=1))
    better = turn(0b111, occurred_at=NOW - timedelta(days=90))
    given = replace(evidence([newer, preferred, better]), reach=Reach(as_of=NOW, scope="warm"))
    assert [one.turn.id for one in rank(given)] == [better.id, preferred.id, newer.id]


@pytest.mark.parametrize(
    ("days", "scope"), [(0, "hot"), (3, "hot"), (4, "warm"), (14, "warm"), (15, "cold"), (900, "cold")]
)
def test_scopes(days: int, scope: str) -> None:
    """[ANL-13, ANL-14, ANL-15, A-16]"""
    assert scope_of(NOW - timedelta(days=days), NOW) == scope


def test_unknown_terms_lower_the_coverage() -> None:
    """A question of which memory knows one word in three is not answered by it."""
    (only,) = rank(evidence([turn(0b001)], total=10))
    assert only.coverage < 0.5


def hit(text: str) -> Hit:
    return Hit(uuid4(), 0.5, 0.5, text, "Ann", NOW, NOW, "2025-Week-01", (), None, None, None)


def test_budget_is_kept_and_nothing_is_shown_twice() -> None:
    hits = [hit("the same words"), hit("the same words"), hit("long " * 400), hit("short")]
    context = fill_budget(hits, 100)
    assert [one.text for one in context.hits] == ["the same words", "short"]
    assert tokens.count(context.fenced) <= 100
