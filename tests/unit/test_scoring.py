"""How rankings are scored, with which weights, after which slip."""

from __future__ import annotations

import math
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bench.conversations import Conversation, Question, Session, Turn
from bench.gold import correct, print_scores, read_corrections, score_rankings
from bench.scoring import mean, score
from bench.typos import misspell, without_repair
from bench.weightings import PRODUCT, SIGNALS, WORD_SIGNALS, weightings, without
from maas.memory import spelling
from maas.memory.ranking import WEIGHTS
from shared.errors import MaasError

HOMES = {"a": "S1", "b": "S1", "c": "S2", "d": "S3", "e": "S3", "f": "S4"}


def asked(*evidence: str, sessions: tuple[str, ...] = ()) -> Question:
    at = datetime(2025, 1, 1, tzinfo=UTC)
    return Question(id="q", text="?", asked_at=at, evidence=[*evidence], evidence_sessions=[*sessions])


def test_places_decide() -> None:
    found = score(["a", "b", "c", "d", "e", "f"], asked("b", "f"), HOMES)
    assert (found.turns_5, found.turns_10, found.sessions_5) == (0.5, 1.0, 1.0)
    ideal = 1 + 1 / math.log2(3)
    assert found.ndcg_10 == pytest.approx((1 / math.log2(3) + 1 / math.log2(7)) / ideal)


def test_sessions_may_be_named() -> None:
    assert score(["a"], asked("a", sessions=("S1", "S2")), HOMES).sessions_5 == 0.5


def test_what_is_not_found_counts_nothing() -> None:
    nothing = score([], asked("a"), HOMES)
    assert set(asdict(nothing).values()) == {0.0}
    assert mean([nothing, score(["a"], asked("a"), HOMES)]).ndcg_10 == 0.5


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("Where is the accordion?", "Where is the accrodion?"),
        ("Сколько банок варенья?", "Сколько банок ваернья?"),
        ("Кто звонил бабушке?", "Кто звонил баубшке?"),
        ("Was the coffee hot?", "Was the cfofee hot?"),
        ("Who are you?", None),
        ("aaaaaaa?", None),
    ],
)
def test_a_slip_is_in_the_longest_word_and_inside_it(text: str, wrong: str | None) -> None:
    assert misspell(text) == wrong


def test_the_repair_is_off_for_a_while() -> None:
    with pytest.raises(ZeroDivisionError), without_repair():
        assert not spelling.is_repairable("accrodion")
        raise ZeroDivisionError
    assert spelling.is_repairable("accrodion")


@pytest.mark.parametrize("signals", [SIGNALS, WORD_SIGNALS])
def test_each_weighting_is_the_product_with_signals_left_out(signals: tuple[str, ...]) -> None:
    found = weightings(signals)
    assert found[PRODUCT] == found[f"+ {signals[-1]}"] == WEIGHTS
    for name in signals:
        left = {signal: worth for signal, worth in asdict(found[without(name)]).items() if signal != name}
        assert left == {signal: worth for signal, worth in asdict(WEIGHTS).items() if signal != name}
        assert asdict(found[without(name)])[name] == 0
    alone = asdict(found[f"{signals[0]} alone"])
    assert [name for name in signals if alone[name]] == [signals[0]]
    assert set(SIGNALS) - set(WORD_SIGNALS) == {"meaning", "meaning_nearby", "meaning_conversation"}


def talk(*questions: Question) -> Conversation:
    at = datetime(2025, 1, 1, tzinfo=UTC)
    sessions = [
        Session(id=name, turns=[Turn(id=turn, role="user", at=at, text=turn) for turn in HOMES if HOMES[turn] == name])
        for name in dict.fromkeys(HOMES.values())
    ]
    return Conversation(name="own-1", sessions=sessions, questions=[*questions])


def test_the_original_and_the_corrected_evidence_score_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    wrong = asked("a", sessions=("S1",)).model_copy(update={"id": "wrong", "category": "fact"})
    right = asked("b").model_copy(update={"id": "right", "category": "fact"})
    twisted = asked("d").model_copy(update={"id": "twisted", "category": "adversarial"})
    conversations, corrections = [talk(wrong, right, twisted)], {"wrong": ["c", "a picture"]}
    ranked = {"own-1": {"wrong": ["c"], "right": ["b"], "twisted": ["a"]}}
    original = score_rankings(conversations, ranked)
    fixed = score_rankings(correct(conversations, corrections), ranked)
    assert set(original) == set(fixed) == {("own", "all"), ("own", "fact"), ("own", "adversarial")}
    assert (mean(original["own", "all"]).turns_5, mean(fixed["own", "all"]).turns_5) == (0.5, 1.0)
    assert (mean(original["own", "fact"]).sessions_5, mean(fixed["own", "fact"]).sessions_5) == (0.5, 1.0)
    print_scores(conversations, ranked, corrections)
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "recall, percent; the evidence of 1 questions is corrected"
    assert printed[1].split().count("corrected") == 4 and printed[3].split()[:5] == ["own", "/", "all", "2", "50.0"]


def test_a_question_whose_corrected_evidence_is_gone_has_no_score() -> None:
    corrected = correct([talk(asked("a"))], {"q": ["a picture"]})
    assert not score_rankings(corrected, {"own-1": {"q": ["a"]}})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "the file"),
        ('{"q": "a"}', "q"),
        ('{"of another": ["a"]}', "no question"),
        (None, "cannot be read"),
    ],
)
def test_corrections_of_another_form_are_refused(tmp_path: Path, text: str | None, message: str) -> None:
    path = tmp_path / "corrections.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(MaasError, match=message) as refused:
        read_corrections(path, [talk(asked("a"))])
    assert refused.value.code == "bad_data"
