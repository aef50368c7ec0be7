"""Twenty facts among other talk, said over two months, and the questions that they answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta


@dataclass(frozen=True, slots=True)
class Fact:
    """A statement, a question that it answers, and the word of it without which there is no answer."""

    text: str
    question: str
    word: str


FACTS = tuple(
    Fact(*one)
    for one in (
        ("The cellar of Tom's house is flooded every April.", "When is the cellar of Tom's house flooded?", "April"),
        ("Biscuit the parrot must not get avocado.", "Which food must Biscuit the parrot not get?", "avocado"),
        ("Irina teaches chemistry in Tartu.", "What does Irina teach?", "chemistry"),
        ("The garage costs us 85 euros a month.", "How much does the garage cost us?", "85"),
        ("The newsletter is sent with Postfix since Friday.", "What is the newsletter sent with?", "Postfix"),
        ("Doctor Hansen prescribed iron tablets.", "What did Doctor Hansen prescribe?", "iron"),
        ("Milo wants a telescope for his birthday.", "What does Milo want for his birthday?", "telescope"),
        ("The roof was repaired by Mrs Duarte.", "Who repaired the roof?", "Duarte"),
        ("The grey scooter lost its mirror.", "What did the grey scooter lose?", "mirror"),
        ("Aunt Vera's soup takes three leeks.", "How many leeks does Aunt Vera's soup take?", "three"),
        ("The lease of the office ends in 2031.", "When does the lease of the office end?", "2031"),
        ("Selma sings alto in the harbour choir.", "Which voice does Selma sing in the harbour choir?", "alto"),
        ("The ladder was lent to the Okoro family.", "To whom was the ladder lent?", "Okoro"),
        ("The printer needs cartridge XL-903.", "Which cartridge does the printer need?", "XL-903"),
        ("Ruben is afraid of lifts.", "What is Ruben afraid of?", "lifts"),
        ("Our accountant is called Lindqvist.", "What is our accountant called?", "Lindqvist"),
        ("The alarm code of the shed is 7316.", "What is the alarm code of the shed?", "7316"),
        ("Fatima moves to Ghent in autumn.", "Where does Fatima move?", "Ghent"),
        ("The violin is insured for 2300 crowns.", "For how much is the violin insured?", "2300"),
        ("The kitchen tap drips behind the filter.", "Where does the kitchen tap drip?", "filter"),
    )
)
_TALK = ("weather", "traffic", "coffee", "lunch", "news", "garden", "shoes", "music")


@dataclass(frozen=True, slots=True)
class Said:
    """What a user said and an assistant answered at a time."""

    at: datetime
    text: str
    answer: str = "I see, thank you for telling me about that."


def talk(first: datetime, exchanges: int, facts: Sequence[Fact] = FACTS) -> Iterator[Said]:
    """Yield so many exchanges, three a day; the facts are spread evenly over them."""
    step = exchanges / len(facts)
    places = {int(number * step): fact for number, fact in enumerate(facts)}
    for number in range(exchanges):
        at = first.astimezone(UTC) + timedelta(days=number // 3, hours=number % 3)
        fact = places.get(number)
        idle = (
            f"We talked about the {_TALK[number % 8]} with neighbour number {number}, a long chat over the fence about "
            "nothing in particular."
        )
        yield Said(at, fact.text if fact else idle)
