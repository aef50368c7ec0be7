"""The tokenizer of multilingual-e5-small: a text as the pieces of a vocabulary whose scores add up to most.

It is the unigram model of SentencePiece. A piece never goes beyond a space, so each word is cut for itself, and the
cuts of words are kept.
"""

from __future__ import annotations

import re
from array import array
from zlib import crc32

from shared.models.e5.weights import Weights

MAX_CACHED_WORDS = 20_000
UNKNOWN_PENALTY = 10.0  # below the lowest score of a piece
WORD_START = "\u2581"
_SPACES = re.compile(" {2,}")


class Tokenizer:
    """Cuts texts into the numbers of pieces. A table of hashes finds a piece without an object for each of 250,000."""

    def __init__(self, weights: Weights) -> None:
        self._begin, self._end, self._unknown = weights.begin, weights.end, weights.unknown
        self._blob, self._ends = weights.blob, array("I", weights.piece_ends.tobytes())
        self._forms = weights.normal_forms
        self._scores = array("f", weights.scores.tobytes())
        self._unknown_score = min(self._scores) - UNKNOWN_PENALTY
        self._table = array("I", bytes(4 << (2 * weights.pieces).bit_length()))  # 0: free; else a piece's number + 1
        self._mask = len(self._table) - 1
        self._max_bytes = 1
        self._cuts: dict[str, list[int]] = {}
        for piece in range(weights.pieces):
            if piece != weights.unknown and (content := self._content(piece)):
                self._add(piece, content)

    def cut(self, text: str, limit: int) -> list[int]:
        """Return the first `limit` pieces of a text, with the marks of beginning and end."""
        words = _SPACES.sub(" ", text.translate(self._forms)).removeprefix(" ").split(" ")
        pieces = [self._begin]
        for word in words:
            pieces += self._cut_word(WORD_START + word)
            if len(pieces) >= limit:
                break
        return [*pieces[: limit - 1], self._end]

    def _cut_word(self, word: str) -> list[int]:
        if (known := self._cuts.get(word)) is not None:
            return known
        if len(self._cuts) >= MAX_CACHED_WORDS:
            self._cuts.clear()
        cut = self._cuts[word] = self._best_cut(word)
        return cut

    def _best_cut(self, word: str) -> list[int]:
        """Viterbi: the best cut of each beginning of the word, from the shortest on."""
        content = word.encode("utf-8", "replace")
        starts = [at for at, byte in enumerate(content) if byte & 0xC0 != 0x80] + [len(content)]
        scores = [0.0] + [float("-inf")] * (len(starts) - 1)
        last: list[tuple[int, int]] = [(0, 0)] * len(starts)
        for index, start in enumerate(starts[:-1]):
            score = scores[index]
            for end_index in range(index + 1, len(starts)):
                end = starts[end_index]
                if end - start > self._max_bytes:
                    break
                piece = self._find(content[start:end])
                if piece >= 0 and score + self._scores[piece] > scores[end_index]:
                    scores[end_index] = score + self._scores[piece]
                    last[end_index] = (index, piece)
            if score + self._unknown_score > scores[index + 1]:
                scores[index + 1] = score + self._unknown_score
                last[index + 1] = (index, self._unknown)
        pieces = []
        index = len(starts) - 1
        while index > 0:
            index, piece = last[index]
            pieces.append(piece)
        return pieces[::-1]

    def _add(self, piece: int, content: bytes) -> None:
        slot = crc32(content) & self._mask
        while self._table[slot]:
            slot = slot + 1 & self._mask
        self._table[slot] = piece + 1
        self._max_bytes = max(self._max_bytes, len(content))

    def _content(self, piece: int) -> bytes:
        return self._blob[self._ends[piece] : self._ends[piece + 1]]

    def _find(self, content: bytes) -> int:
        """Return the number of a piece, -1 where there is none."""
        slot = crc32(content) & self._mask
        while found := self._table[slot]:
            if self._content(found - 1) == content:
                return found - 1
            slot = slot + 1 & self._mask
        return -1
