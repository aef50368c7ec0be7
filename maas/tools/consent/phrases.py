"""Lists of phrases, as words.py writes them."""

from __future__ import annotations

from itertools import product


def phrases(*texts: str) -> frozenset[str]:
    """The phrases of some texts."""
    return frozenset(one.strip() for text in texts for one in text.split(";") if one.strip())


def every_phrase(*parts: str) -> frozenset[str]:
    """Each choice of one phrase of every part; a part may be left out where it has an empty choice."""
    chosen = product(*([one.strip() for one in part.split(";")] for part in parts))
    return frozenset(" ".join(filter(None, one)) for one in chosen)
