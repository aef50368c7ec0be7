"""The made-up users of bench.scale: the same each time, of the sizes that are said, and asked for what they said."""

from __future__ import annotations

import itertools

import pytest

from bench.corpus import Corpus


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return Corpus(100_000)


def words_of(corpus: Corpus, user: int) -> set[str]:
    exchanges = [corpus.exchange(user, number) for number in range(corpus.sizes[user])]
    return {word for one in exchanges for word in f"{one.query} {one.answer}".split()}


def test_a_seed_repeats_every_exchange(corpus: Corpus) -> None:
    again, other = Corpus(100_000), Corpus(100_000, seed=2)
    assert corpus.exchange(7, 3) == again.exchange(7, 3)
    assert corpus.exchange(7, 3) != other.exchange(7, 3)
    assert corpus.questions([7, 8], 5) == again.questions([7, 8], 5)


def test_users_have_the_sizes_that_are_said(corpus: Corpus) -> None:
    ordinary = sorted(corpus.logs_of(user) for user in corpus.ordinary)
    assert sum(ordinary) == 100_000
    assert ordinary[len(ordinary) * 95 // 100] == pytest.approx(320, rel=0.05)
    assert (corpus.logs_of(corpus.large), corpus.logs_of(corpus.largest)) == (1000, 10_000)
    assert sum(map(corpus.logs_of, corpus.sample(1000))) >= 1000


def test_users_speak_by_turns(corpus: Corpus) -> None:
    timetable = corpus.timetable()
    assert len(timetable) == sum(corpus.sizes) == len({(user, number) for _, user, number in timetable})
    assert [at for at, _, _ in timetable] == sorted(at for at, _, _ in timetable)
    changes = sum(before[1] != after[1] for before, after in itertools.pairwise(timetable))
    assert changes > len(timetable) / 4


def test_ids_are_unique(corpus: Corpus) -> None:
    exchanges = [corpus.exchange(user, number) for user in range(40) for number in range(corpus.sizes[user])]
    ids = {id_ for one in exchanges for id_ in (one.run, one.record, one.query_id, one.answer_id)}
    assert len(ids) == 4 * len(exchanges)


def test_what_is_fresh_was_not_in_the_timetable(corpus: Corpus) -> None:
    fresh = corpus.fresh(200)
    largest = corpus.user_id(corpus.largest)
    assert len({one.run for one in fresh}) == 200
    known = corpus.exchange(corpus.largest, corpus.sizes[corpus.largest] - 1)
    assert all(one.at > known.at for one in fresh if one.user == largest)


def test_a_question_holds_words_of_its_turn_and_sometimes_a_name_never_said(corpus: Corpus) -> None:
    users = corpus.sample(1000)
    turns = {
        one.query_id: one
        for user in users
        for one in (corpus.exchange(user, number) for number in range(corpus.sizes[user]))
    }
    questions = corpus.questions(users, 100)
    said = {corpus.user_id(user): words_of(corpus, user) for user in users}
    strange = 0
    for question in questions:
        words = question.text.rstrip("?").split()
        foreign = set(words) - set(turns[question.turn].query.split())
        assert 3 <= len(words) <= 8
        assert len(foreign) <= 1
        assert foreign.isdisjoint(said[question.user])
        strange += len(foreign)
    assert 10 <= strange <= 40
