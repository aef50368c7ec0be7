"""Excerpts: the beginning of a long text and the passages of it that fit a question best."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Set as AbstractSet

from maas.memory.passages import Passage, split_passages
from shared.text import one_line, shorten

MIN_HEAD_CHARS, MAX_HEAD_CHARS = 100, 140  # of the beginning: who speaks about what
MIN_PASSAGE_CHARS, MAX_PASSAGE_CHARS = 100, 320  # without room for the least, the beginning is all that is shown
MAX_READ_CHARS = 60_000
STEM_CHARS = 5
MAX_QUESTION_CHARS = 500
_WORD = re.compile(r"\w{3,}")
_GAP = " … "
_STOP_TEXT = """
about all and any are been but can could did does for from had has have her him his how into its just like may more most
not our out she should some such tell than that the their them then there these they this those was were what when where
which who whom whose why will with would you your без были было быть вам вас все где два для его если есть зачем или как
какая какие какое какой когда кто которая которые который ли мне мои мой над нам нас него нее она они оно откуда под
почему при про свои свой себя сколько так там тебе тебя тогда тоже только тот уже чего чем что чтобы эта эти это этот
"""


def stems(text: str) -> frozenset[str]:
    """Return the words of a text, casefolded and without their ends, which makes most forms of a word equal."""
    return frozenset([word.rstrip("s")[:STEM_CHARS] for word in _WORD.findall(text.casefold())])


_STOP_STEMS = stems(_STOP_TEXT)
_WHEN_STEMS = stems("now today currently again still сейчас теперь сегодня снова опять")


def question_stems(question: str) -> frozenset[str]:
    """Return the stems of a question that tell what it is about: those of stop words only if there are no others."""
    found = stems(question)
    return found - _STOP_STEMS or found


def asks_again(query: str, text: str) -> bool:
    """Return whether a text is a question that is made of the words of the query: it holds no answer to it."""
    if len(text) > MAX_QUESTION_CHARS or not text.rstrip().endswith("?"):
        return False
    return question_stems(text) <= stems(query) | _WHEN_STEMS


def excerpt(text: str, about: AbstractSet[str], chars: int) -> str:
    """Return a text as one line of at most `chars` characters: its beginning, and what fits the question best.

    Of `about`, the stems of the question, those in few passages of the text count most. The passages keep their order;
    `…` stands for what is left out. Only the first 60,000 characters are read.
    """
    text = text.strip()
    read = text[:MAX_READ_CHARS]
    line = one_line(read) + " …" * (len(read) < len(text))
    if len(line) <= chars:
        return line
    room = chars - MAX_HEAD_CHARS - len(_GAP) - len(" …")
    if room < MIN_PASSAGE_CHARS or not about:
        return shorten(line, chars)
    head = split_passages(read[: 2 * MAX_HEAD_CHARS], MIN_HEAD_CHARS, MAX_HEAD_CHARS)[0].end
    most = min(max(room // 2, MIN_PASSAGE_CHARS), MAX_PASSAGE_CHARS)  # two fit
    passages = [
        Passage(head + begin, head + end) for begin, end in split_passages(read[head:], MIN_PASSAGE_CHARS, most)
    ]
    chosen = _best(read, passages, about, room)
    if not chosen:
        return shorten(line, chars)
    pieces = [read[:head]]
    end = head
    for passage in chosen:
        pieces += [_GAP] * (passage.start > end) + [read[passage.start : passage.end]]
        end = passage.end
    return one_line("".join(pieces)) + " …" * (end < len(text))


def _best(text: str, passages: list[Passage], about: AbstractSet[str], room: int) -> list[Passage]:
    """Return the passages with the rarest words of the question that have room together, in the order of the text."""
    shared = [stems(text[start:end]) & about for start, end in passages]
    frequency = Counter(stem for stems_ in shared for stem in stems_)
    weight = {stem: math.log(1 + len(passages) / count) for stem, count in frequency.items()}
    scores = [sum(weight[stem] for stem in stems_) for stems_ in shared]
    chosen: list[Passage] = []
    for index in sorted(range(len(passages)), key=lambda index: (-scores[index], index)):
        start, end = passages[index]
        chars = len(text[start:end].rstrip())
        if scores[index] and chars <= room:
            chosen.append(passages[index])
            room -= chars + len(_GAP)
    return sorted(chosen)
