"""What many users said, made up: any exchange is made again from its numbers, so that nothing has to be kept.

Words are invented, Latin and Cyrillic, and drawn by Zipf's law behind the real function words of English and Russian.
A conversation has words of its own that come again; a user has names that hardly anybody else uses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import accumulate, islice
from math import exp, log, sqrt
from random import Random
from statistics import NormalDist
from uuid import UUID

MEAN, P95 = 100, 320  # logs of an ordinary user
VOCABULARY, NAMES = 50_000, 20_000
CONVERSATION = 10  # exchanges
BEGIN, DAYS = datetime(2025, 1, 1, tzinfo=UTC), 100
PAUSE = timedelta(seconds=150)
ENGLISH = "the and i to a of it in was that my you is we for on with this so but at be have not are he she they as from"
RUSSIAN = "и в не на я что с он а как это по но она к у из мы за то от так о же для бы вы все его было"
LATIN = [consonant + vowel for consonant in "bcdfghklmnprstvz" for vowel in "aeiou"]
CYRILLIC = [consonant + vowel for consonant in "бвгджзклмнпрстфш" for vowel in "аеиоу"]
MONTHS = ("January", "March", "April", "July", "October", "февраля", "мая", "августа", "сентября", "декабря")
STRANGERS = 0.25  # share of the questions with a name that the user never said


@dataclass(frozen=True, slots=True)
class Exchange:
    """A query and its answer, in a conversation of a user."""

    user: UUID
    at: datetime
    conversation: UUID
    run: UUID
    record: UUID
    query_id: UUID
    answer_id: UUID
    query: str
    answer: str


@dataclass(frozen=True, slots=True)
class Question:
    """Words of a turn of the user, and which turn that is."""

    user: UUID
    text: str
    turn: UUID


class Corpus:
    """`logs` of ordinary users, log-normal in number, and of two large ones: a hundredth of them, and a tenth."""

    def __init__(self, logs: int, seed: int = 1) -> None:
        self.logs, self.seed = logs, seed
        self.sizes = [*_ordinary_sizes(logs // MEAN, logs // 2), logs // 200, logs // 20]
        words = _invented_words(Random(seed))
        self._names = [next(words).capitalize() for _ in range(NAMES)]
        functional = [word for pair in zip(ENGLISH.split(), RUSSIAN.split(), strict=True) for word in pair]
        self._words = [*functional, *islice(words, VOCABULARY)]
        self._weights = list(accumulate(1 / (rank + 2.7) for rank in range(len(self._words))))
        self._ranks = {word: rank for rank, word in enumerate(self._words)}
        self._names_of = lru_cache(1024)(self._draw_names)

    @property
    def ordinary(self) -> range:
        """The users of usual size."""
        return range(len(self.sizes) - 2)

    @property
    def large(self) -> int:
        """The user who has a hundredth of what the ordinary ones have together."""
        return len(self.sizes) - 2

    @property
    def largest(self) -> int:
        """The user who has a tenth."""
        return len(self.sizes) - 1

    def logs_of(self, user: int) -> int:
        """How many turns the user has."""
        return 2 * self.sizes[user]

    def user_id(self, user: int) -> UUID:
        """The id of a user."""
        return _uuid(self._random(user, 0, 0))

    def sample(self, logs: int) -> list[int]:
        """Ordinary users with about so many logs together."""
        users = Random(self.seed).sample(self.ordinary, len(self.ordinary))
        together = accumulate(map(self.logs_of, users))
        return users[: sum(total < logs for total in together) + 1]

    def timetable(self) -> list[tuple[datetime, int, int]]:
        """Time, user and number of every exchange, in the order in which they were said."""
        return sorted(
            (self._time(user, number), user, number) for user, size in enumerate(self.sizes) for number in range(size)
        )

    def exchange(self, user: int, number: int) -> Exchange:
        """An exchange of a user by its number, counted in the order of time."""
        rng = self._random(user, number, 1)
        about = self._random(user, number // CONVERSATION, 2)
        conversation = _uuid(about)
        topic = [self._words[about.randrange(1000, len(self._words))] for _ in range(8)]
        run, record, query_id, answer_id = (_uuid(rng) for _ in range(4))
        query, answer = self._turn(rng, user, topic), self._turn(rng, user, topic)
        return Exchange(
            self.user_id(user), self._time(user, number), conversation, run, record, query_id, answer_id, query, answer
        )

    def fresh(self, count: int) -> list[Exchange]:
        """What comes after the timetable: the next exchanges of users, of those who say more more often."""
        users = Random(self.seed).choices(range(len(self.sizes)), self.sizes, k=count)
        said: Counter[int] = Counter()
        found = []
        for user in users:
            found.append(self.exchange(user, self.sizes[user] + said[user]))
            said[user] += 1
        return found

    def questions(self, users: list[int], count: int) -> list[Question]:
        """Three to eight words of what one of the users said, two of them rare; some with a name he never said."""
        rng = Random(self.seed)
        weights = [self.sizes[user] for user in users]
        return [self._question(rng, user) for user in rng.choices(users, weights, k=count)]

    def _question(self, rng: Random, user: int) -> Question:
        exchange = self.exchange(user, rng.randrange(self.sizes[user]))
        said = sorted(set(exchange.query.split()), key=lambda word: -self._ranks.get(word, len(self._ranks)))
        words = said[:2] + rng.sample(said[2:], min(rng.randint(1, 6), len(said) - 2))
        if rng.random() < STRANGERS:
            words[-1] = next(
                name for name in iter(lambda: rng.choice(self._names), "") if name not in self._names_of(user)
            )
        rng.shuffle(words)
        return Question(exchange.user, f"{' '.join(words)}?", exchange.query_id)

    def _turn(self, rng: Random, user: int, topic: list[str]) -> str:
        words = rng.choices(self._words, cum_weights=self._weights, k=rng.randint(5, 40))
        places = rng.sample(range(len(words)), 4)
        words[places[0]], words[places[1]] = rng.choice(topic), rng.choice(topic)
        if rng.random() < 0.3:
            words[places[2]] = rng.choice(self._names_of(user))
        if rng.random() < 0.1:
            words[places[3]] = f"{rng.randint(1, 28)} {rng.choice(MONTHS)} {rng.randint(2019, 2025)}"
        return " ".join(words)

    def _time(self, user: int, number: int) -> datetime:
        conversations = -(-self.sizes[user] // CONVERSATION)
        begin = number // CONVERSATION + self._random(user, number // CONVERSATION, 3).random()
        return BEGIN + timedelta(days=DAYS * begin / conversations) + number % CONVERSATION * PAUSE

    def _draw_names(self, user: int) -> tuple[str, ...]:
        rng = self._random(user, 0, 4)
        return tuple(rng.choice(self._names) for _ in range(5))

    def _random(self, user: int, number: int, purpose: int) -> Random:
        return Random((((self.seed << 32 | user) << 32 | number) << 8) | purpose)


def _ordinary_sizes(users: int, exchanges: int) -> list[int]:
    """Log-normal with the given mean and 95th percentile, by its quantiles; together `exchanges`."""
    z = NormalDist().inv_cdf(0.95)
    sigma = z - sqrt(z * z - 2 * log(P95 / MEAN))
    shares = [exp(sigma * NormalDist().inv_cdf((user + 0.5) / users)) for user in range(users)]
    sizes = [max(1, round(exchanges * share / sum(shares))) for share in shares]
    sizes[-1] += exchanges - sum(sizes)
    return sizes


def _invented_words(rng: Random) -> Iterator[str]:
    """Words of two to four syllables, none twice, two Latin ones for each Cyrillic one."""
    known = set(ENGLISH.split()) | set(RUSSIAN.split())
    while True:
        syllables = CYRILLIC if rng.random() < 1 / 3 else LATIN
        word = "".join(rng.choices(syllables, k=rng.randint(2, 4))) + rng.choice(
            ["", syllables[0][0], syllables[40][0]]
        )
        if word not in known:
            known.add(word)
            yield word


def _uuid(rng: Random) -> UUID:
    return UUID(int=rng.getrandbits(128), version=4)
