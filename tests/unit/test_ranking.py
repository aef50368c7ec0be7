"""Ranking of candidates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from uuid import UUID, uuid4

import numpy as np
import pytest
from numpy.typing import NDArray

from bench.boosts import boosted, neighbours, newness
from maas.memory.candidates import Candidates
from maas.memory.dates import microseconds
from maas.memory.query import NO_FILTER, Scope, SearchFilter, parse_query, scope_of
from maas.memory.ranking import MEANING_SCALE, SCALE, WEIGHTS, Evidence, Weights, rank, weigh
from maas.memory.similarity import Cosines, Similarity

NOW = datetime(2025, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Said:
    """A message by the signals that ranking reads of it."""

    mask: int
    before: int = 0
    after: int = 0
    speaker: str | None = "Ann"
    conversation: str = "c"
    occurred_at: datetime = NOW
    is_assistant: bool = False
    answers: bool = False
    has_hint: bool = False
    is_eligible: bool = True
    words: int = 8
    is_question: bool = False
    is_foreign: bool = False
    says_i: bool = False
    id: UUID = field(default_factory=uuid4)


def columns(messages: Sequence[Said]) -> Candidates:
    """The messages as candidates, in an order that is not theirs: by conversation."""
    messages = sorted(messages, key=lambda one: one.conversation)
    speakers = tuple({one.speaker: None for one in messages})
    conversations = list({one.conversation: None for one in messages})

    def numbers(values: Iterable[int]) -> NDArray[np.int64]:
        return np.array(list(values), np.int64)

    def flags(values: Iterable[bool]) -> NDArray[np.bool_]:
        return np.array(list(values), np.bool_)

    none = numbers(0 for _ in messages)
    return Candidates(
        speakers=speakers,
        ids=np.frombuffer(b"".join(one.id.bytes for one in messages), "V16"),
        record_ids=np.frombuffer(bytes(16 * len(messages)), "V16"),
        conversation=numbers(conversations.index(one.conversation) for one in messages),
        speaker=numbers(speakers.index(one.speaker) for one in messages),
        occurred_at=numbers(microseconds(one.occurred_at) for one in messages),
        mask=numbers(one.mask for one in messages),
        before=numbers(one.before for one in messages),
        before_that=none,
        after=numbers(one.after for one in messages),
        length=none + 10,
        answers=flags(one.answers for one in messages),
        is_question=flags(one.is_question for one in messages),
        is_assistant=flags(one.is_assistant for one in messages),
        has_hint=flags(one.has_hint for one in messages),
        is_first=none > 0,
        is_eligible=flags(one.is_eligible for one in messages),
        words=numbers(one.words for one in messages),
        is_foreign=flags(one.is_foreign for one in messages),
        says_i=flags(one.says_i for one in messages),
    )


def evidence(
    messages: list[Said],
    text: str = "",
    terms: int = 3,
    total: int = 100,
    similarity: Mapping[UUID, float] | None = None,
    filters: SearchFilter = NO_FILTER,
) -> Evidence:
    candidates = columns(messages)
    meaning = None
    if similarity:
        ids = np.frombuffer(b"".join(one.bytes for one in similarity), "V16")
        meaning = Similarity.of(candidates, Cosines(ids, np.array(list(similarity.values())), 0.0, 1.0))
    frequency = candidates.frequency(terms)
    names = [str(bit) for bit in range(terms)]
    return Evidence(parse_query(text, NOW), candidates, names, weigh(frequency, total), frequency, meaning, filters)


def order(
    messages: list[Said], text: str = "", terms: int = 3, similarity: Mapping[UUID, float] | None = None
) -> list[UUID]:
    return [one.id for one in rank(evidence(messages, text, terms, similarity=similarity))]


def test_more_of_the_question_ranks_higher() -> None:
    full, half = Said(0b111), Said(0b001)
    assert order([half, full]) == [full.id, half.id]


def test_all_sixteen_terms_count() -> None:
    said = [Said((1 << bits) - 1, conversation=str(bits)) for bits in range(1, 17)]
    others = [Said(1 << bit, conversation="z", is_eligible=False) for bit in range(16)]
    ranked = rank(evidence([*said, *others], terms=16))
    assert [one.id for one in ranked] == [one.id for one in reversed(said)]
    assert ranked[0].coverage == pytest.approx(1.0)
    assert len(rank(evidence(said, terms=16), limit=3)) == 3


def test_rare_terms_weigh_more() -> None:
    common = [Said(0b001) for _ in range(20)]
    rare = Said(0b010)
    assert order([*common, rare])[0] == rare.id


def test_neighbours_count() -> None:
    alone, between = Said(0b001, conversation="a"), Said(0b001, before=0b010, after=0b100, conversation="b")
    others = [Said(0b110, conversation="z", is_eligible=False)]
    assert order([alone, between, *others])[0] == between.id


def test_named_speaker_counts() -> None:
    ann, bob = Said(0b1, speaker="Ann"), Said(0b1, speaker="Bob")
    assert order([ann, bob], "what did BOB say?", 1)[0] == bob.id


def test_a_name_within_a_word_is_no_name() -> None:
    al, zoe = Said(0b1, speaker="Al"), Said(0b1, speaker="Zoe", occurred_at=NOW + timedelta(days=1))
    assert order([al, zoe], "did anybody also come?", 1)[0] == zoe.id


def test_the_assistant_ranks_lower_but_is_not_hidden() -> None:
    user, assistant = Said(0b1, speaker=None), Said(0b1, speaker=None, is_assistant=True)
    assert order([assistant, user], terms=1) == [user.id, assistant.id]


def test_what_the_assistant_said_counts_when_it_is_asked_for() -> None:
    user, assistant = Said(0b1, speaker=None), Said(0b11, speaker=None, is_assistant=True)
    assert order([assistant, user], "which phone is good?", 2) == [user.id, assistant.id]
    assert order([assistant, user], "which phone did you advise?", 2) == [assistant.id, user.id]
    assert order([assistant, user], "какой телефон ты мне советовал?", 2) == [assistant.id, user.id]


def test_an_answer_to_what_was_asked_before_counts() -> None:
    answer = Said(0, before=0b11, answers=True, conversation="a")
    remark = Said(0, before=0b11, conversation="b")
    assert order([remark, answer]) == [answer.id, remark.id]


def test_a_time_answers_when_and_the_named_date_counts() -> None:
    plain, timed = Said(0b1), Said(0b1, has_hint=True, occurred_at=NOW - timedelta(days=9))
    assert order([plain, timed], "when?", 1)[0] == timed.id
    then, later = Said(0b1, occurred_at=datetime(2024, 3, 5, tzinfo=UTC)), Said(0b1)
    assert order([then, later], "what happened?", 1)[0] == later.id
    assert order([then, later], "what happened in March?", 1)[0] == then.id


def test_meaning_is_one_more_signal() -> None:
    worded, plain, meant = (Said(mask, conversation=name) for mask, name in ((0b1, "a"), (0, "b"), (0, "c")))
    assert order([worded, plain, meant], terms=1, similarity={meant.id: 1.0})[1:] == [meant.id, plain.id]
    assert order([worded, plain, meant], terms=1, similarity={plain.id: 1.0})[1:] == [plain.id, meant.id]
    assert order([worded, plain, meant], terms=1, similarity={meant.id: 9.0})[0] == meant.id


def test_the_meaning_of_few_words_counts_less() -> None:
    short, long = Said(0, words=2, conversation="a"), Said(0, words=8, conversation="b")
    assert order([short, long], terms=1, similarity={short.id: 2.0, long.id: 2.0}) == [long.id, short.id]


def test_a_question_that_repeats_the_query_is_behind_what_answers_it() -> None:
    again = Said(0b11, words=2, is_question=True, conversation="a")
    asking = Said(0b11, words=8, is_question=True, conversation="b")
    answer = Said(0b01, words=5, conversation="c")
    assert order([again, asking, answer], terms=2) == [asking.id, answer.id, again.id]


def test_what_was_made_from_a_tool_is_behind_what_the_user_said() -> None:
    said = Said(0b01, conversation="a")
    made = Said(0b11, conversation="b", is_assistant=True, is_foreign=True)
    stated = Said(0b11, conversation="c", is_assistant=True)
    for text in ("", "What did you recommend?"):
        ranked = order([made, stated, said], terms=2, text=text) if text else order([made, stated, said], terms=2)
        assert ranked[-1] == made.id


def test_what_stands_beside_a_meant_message_is_near() -> None:
    meant, beside, same, other = (Said(0, conversation=name) for name in "aaab")
    ranked = order([meant, beside, same, other], terms=1, similarity={meant.id: 2.0})
    assert ranked == [meant.id, beside.id, same.id, other.id]


def test_similarity_of_messages_without_vectors_is_average() -> None:
    messages = columns([Said(0), Said(0)])
    found = Similarity.of(messages, Cosines(messages.ids[:1], np.array([0.8]), 0.8, 0.0))
    assert found.own.tolist() == found.nearby.tolist() == found.conversation.tolist() == [0.0, 0.0]
    nobody = Cosines(np.frombuffer(uuid4().bytes, "V16"), np.array([0.9]), 0.8, 0.1)
    assert Similarity.of(messages, nobody).own.tolist() == [0.0, 0.0]
    assert len(Similarity.of(columns([]), nobody).own) == 0


def test_talk_that_goes_on_is_about_what_is_new() -> None:
    old, new = Said(0b1, conversation="a"), Said(0b1, conversation="b", occurred_at=NOW + timedelta(days=1))
    scores = {terms: {one.id: one.score for one in rank(evidence([old, new], terms=terms))} for terms in (8, 9)}
    assert scores[8][old.id] == scores[8][new.id]
    assert scores[9][old.id] < scores[9][new.id]


def test_a_signal_without_weight_says_nothing() -> None:
    ann, bob = Said(0b1, speaker="Ann", occurred_at=NOW + timedelta(days=1)), Said(0b1, speaker="Bob")
    given = evidence([ann, bob], "what did Bob say?", 1)
    assert [one.id for one in rank(given)] == [bob.id, ann.id]
    assert [one.id for one in rank(given, replace(WEIGHTS, speaker=0.0))] == [ann.id, bob.id]


def test_who_is_named_says_i() -> None:
    said = [
        Said(0b1, speaker="Ann", says_i=True, conversation="a"),
        Said(0b1, speaker="Ann", conversation="b"),
        Said(0b1, speaker="Bob", says_i=True, conversation="c"),
    ]
    assert scores_of(evidence(said, "What does Ann play?"), said, own=1.0) == [1.0, 0.0, 0.0]
    assert scores_of(evidence(said, "What do I play?"), said, own=1.0) == [0.0, 0.0, 0.0]


def test_the_newest_of_conflicting_facts_comes_first() -> None:
    """Both hold the same terms; that the older one stands in a better place does not make it true."""
    older = Said(0b011, before=0b100, conversation="a")
    newer = Said(0b011, occurred_at=NOW + timedelta(days=30), conversation="b")
    said_by_another = Said(0b011, speaker="Bob", occurred_at=NOW + timedelta(days=60), conversation="d")
    rest = [Said(0b100, conversation="e", is_eligible=False) for _ in range(60)]
    found = order([older, newer, said_by_another, *rest])
    assert found.index(newer.id) < found.index(older.id)
    quoted = Said(0b011, is_assistant=True, occurred_at=NOW + timedelta(days=90), conversation="f")
    assert order([older, newer, quoted, *rest])[-1] == quoted.id  # a machine repeats, it states nothing
    ranked = {one.id: one.score for one in rank(evidence([older, newer, *rest]))}
    assert ranked[newer.id] > ranked[older.id]


def test_newer_wins_among_equals() -> None:
    older, newer = Said(0b1), Said(0b1, occurred_at=NOW + timedelta(days=1))
    assert order([older, newer], terms=1) == [newer.id, older.id]


def test_preferred_time_decides_among_equals_and_hides_nothing() -> None:
    preferred, newer = (
        Said(0b1, occurred_at=NOW - timedelta(days=9)),
        Said(0b1, occurred_at=NOW - timedelta(days=1)),
    )
    better = Said(0b111, occurred_at=NOW - timedelta(days=90))
    given = evidence([newer, preferred, better], filters=SearchFilter(as_of=NOW, scope="warm"))
    assert [one.id for one in rank(given)] == [better.id, preferred.id, newer.id]


@pytest.mark.parametrize(
    ("days", "scope"), [(0, "hot"), (3, "hot"), (4, "warm"), (14, "warm"), (15, "cold"), (900, "cold")]
)
def test_scopes(days: int, scope: str) -> None:
    assert scope_of(NOW - timedelta(days=days), NOW) == scope


def test_unknown_terms_lower_the_coverage() -> None:
    """A question of which memory knows one word in three is not answered by it."""
    (only,) = rank(evidence([Said(0b001)], total=10))
    assert only.coverage < 0.5


def weighed(**weights: float) -> Weights:
    """Nothing but these signals."""
    return Weights(**dict.fromkeys(Weights.__dataclass_fields__, 0.0) | weights)


def scores_of(given: Evidence, messages: Sequence[Said], **weights: float) -> list[float]:
    """The raw scores of messages by these signals alone."""
    found = {one.id: one.score for one in rank(given, weighed(**weights))}
    return [round(found[one.id] * SCALE, 6) for one in messages]


def test_newness_is_a_share_of_the_time_between_first_and_last() -> None:
    said = [Said(0b1, occurred_at=NOW + timedelta(days=days), conversation=f"{days}") for days in (0, 1, 4)]
    assert scores_of(evidence(said, terms=9), said, long_recent=2.0) == [0.0, 0.5, 2.0]


def test_neighbours_of_hits_gain_less_with_every_step() -> None:
    near, nearer, hit = (Said(mask, occurred_at=NOW + timedelta(hours=at)) for at, mask in enumerate((0, 0, 0b1)))
    elsewhere = Said(0, conversation="d")
    given = evidence([near, nearer, hit, elsewhere], terms=1)
    scores = np.array([0.0, 0.0, 0.8, 0.0])
    assert neighbours(given, scores, weight=0.5, decay=0.5).tolist() == [0.1, 0.2, 0.0, 0.0]
    assert neighbours(given, np.zeros(1), weight=0.5, decay=0.5).tolist() == [0.0]


def test_a_boost_puts_the_newest_first() -> None:
    said = [Said(0b1, occurred_at=NOW - timedelta(days=days), conversation=f"{days}") for days in (60, 14, 0)]
    better = Said(0b11, occurred_at=NOW - timedelta(days=90), conversation="better")
    given = evidence([*said, better], terms=2, filters=SearchFilter(as_of=NOW))
    assert newness(given, np.zeros(4), weight=1.0, half_life=14)[:2].tolist() == [1.0, 0.5]
    found = [one.id for one in boosted(given, partial(newness, weight=1.0, half_life=14), 2)]
    assert rank(given)[0].id == better.id and found == [said[2].id, said[1].id]


def test_the_score_of_a_conversation_is_its_bm25() -> None:
    """One term in a conversation of ten lexemes, both in one of thirty, which is longer than the average."""
    short, long = Said(0b01, conversation="a"), Said(0b11, conversation="b")
    given = replace(evidence([short, long], terms=2), term_weights=(1.0, 1.0))
    columns_ = replace(given.candidates, length=np.array([10, 30]))
    given = replace(given, candidates=columns_)
    best = 2 * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 30 / 20))
    other = 2.2 / (1 + 1.2 * (0.25 + 0.75 * 10 / 20))
    assert scores_of(given, [short, long], conversation=1.0) == [round(other / best, 6), 1.0]


def test_the_meaning_of_a_message_counts_by_its_words() -> None:
    said = [Said(0b1, words=words, conversation=f"{words}") for words in (2, 8)]
    given = evidence(said, similarity={one.id: 3.0 for one in said})
    found = {one.id: one.score * MEANING_SCALE for one in rank(given, weighed(meaning=1.0))}
    assert [found[one.id] for one in said] == [pytest.approx(3.0 * 2 / 8), pytest.approx(3.0)]


@pytest.mark.parametrize(("scope", "preferred"), [("hot", 0), ("warm", 1), ("cold", 2)])
def test_each_scope_prefers_its_own(scope: Scope, preferred: int) -> None:
    said = [Said(0b1, occurred_at=NOW - timedelta(days=days), conversation=f"{days}") for days in (1, 9, 90)]
    given = evidence(said, filters=SearchFilter(as_of=NOW, scope=scope))
    assert scores_of(given, said, preferred=1.0) == [float(place == preferred) for place in range(3)]


def test_what_the_assistant_wrote_from_a_tool_is_foreign_and_not_the_assistants() -> None:
    own, foreign = Said(0b1, is_assistant=True), Said(0b1, is_assistant=True, is_foreign=True, conversation="f")
    assert scores_of(evidence([own, foreign]), [own, foreign], coverage=1.0, assistant=1.0)[0] > 1.0
    assert scores_of(evidence([own, foreign]), [own, foreign], foreign=1.0) == [0.0, 1.0]
    assert scores_of(evidence([own, foreign]), [own, foreign], assistant=1.0) == [1.0, 0.0]


def test_signs_of_the_weights() -> None:
    """What speaks against a message lowers it, everything else does not."""
    negative = {"question", "repeated", "foreign", "assistant"}
    assert {name for name in Weights.__dataclass_fields__ if getattr(WEIGHTS, name) < 0} == negative
