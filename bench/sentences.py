"""Things that users say, made up: each another one, in English and Russian by turns."""

from __future__ import annotations

ENGLISH = (
    ("My sister", "Our neighbour", "The new colleague", "My old teacher", "A friend of mine", "My cousin"),
    ("bought", "painted", "lost", "repaired", "borrowed", "planted", "sold"),
    ("a wooden boat", "two apple trees", "the red bicycle", "an old camera", "a grand piano", "the garden bench"),
    ("near the river", "in the mountains", "at the market", "behind the station", "on the island"),
    ("last Friday", "in early spring", "two weeks ago", "before the storm", "on the ninth of May"),
)
RUSSIAN = (
    ("Моя сестра", "Наша соседка", "Новая коллега", "Моя учительница", "Подруга детства", "Двоюродная тётя"),
    ("купила", "нарисовала", "потеряла", "починила", "одолжила", "посадила", "продала"),
    ("деревянную лодку", "две яблони", "красный велосипед", "старый фотоаппарат", "рояль", "садовую скамейку"),
    ("у реки", "в горах", "на рынке", "за вокзалом", "на острове"),
    ("в прошлую пятницу", "ранней весной", "две недели назад", "перед грозой", "девятого мая"),
)


def sentence(number: int) -> str:
    """The sentence of that number; 6,300 of each language differ, and the number itself makes every one unique."""
    parts = RUSSIAN if number % 2 else ENGLISH
    words = []
    rest = number // 2
    for choices in parts:
        rest, place = divmod(rest, len(choices))
        words.append(choices[place])
    return f"{' '.join(words)}, №{number}."
