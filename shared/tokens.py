"""Token counts of a text: an estimate that leans to the high side and needs no tokenizer.

The tables of a tokenizer take 144 MB of memory, these half a megabyte: a hash table of the tokens that cl100k_base and
o200k_base share. A text is cut into words, numbers and runs of punctuation where the tokenizers cut it, too. A chunk
that is a token costs 1; any other is cut from left to right into the longest known tokens. In one of twenty cases the
tokenizers cut it finer, so every further part costs a little more than 1; but no chunk costs more than its bytes, which
is the most that a tokenizer can make of it. `python -m bench.tokens` makes the tables and measures the estimate;
`tests/unit/test_tokens.py` compares it with the real tokenizers.
"""

from __future__ import annotations

import math
import re
import string
import sys
from array import array
from collections import Counter
from collections.abc import Callable, MutableSequence
from functools import lru_cache
from pathlib import Path
from zlib import crc32

_CHUNK = re.compile(
    r" ?[^\W\d_]+|'(?:[sdmtSDMT]|ll|ve|re|LL|VE|RE)|(?:[^\r\n\w]|_)[^\W\d_]+|\d{1,3}"
    r"| ?(?:[^\s\w]|_)+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_NOT_LATIN = bytes(set(range(256)) - set(string.ascii_letters.encode()))
_CYRILLIC_LEADS, _HAN_LEADS = b"\xd0\xd1", b"\xe3\xe4\xe5\xe6\xe7\xe8\xe9"  # first bytes of their letters in UTF-8
_TOKENS_PER_LATIN, _TOKENS_PER_CYRILLIC = 1 / 4.2, 1 / 2.8  # at least
_MARGIN, _FURTHER_PART, _FURTHER_ASCII_PART = 1.015, 1.06, 1.25
_PROVIDER_FACTOR = {"anthropic": 1.35}  # its tokenizer may need this many times more tokens, says the provider
MAX_WORD_CHARS = 40
MAX_CHUNK_CHARS = 256
MAX_VARIED_PARTS, VARIED_TOKEN_CHARS = 32, 4  # a long chunk of many different parts is searched for short tokens only
MAX_PROMPT_CHARS, MAX_LINE_CHARS = 8000, 300  # texts up to so long are cached, in two caches
TABLE = Path(__file__).with_name("tokens.bin")
CYRILLIC = Path(__file__).with_name("tokens.cyrillic.txt")
_TABLE = array("H", TABLE.read_bytes())
_LAST_SLOT = len(_TABLE) - 1
_CYRILLIC = frozenset(CYRILLIC.read_text(encoding="utf-8").splitlines())
if sys.byteorder == "big":
    _TABLE.byteswap()


def count(text: str) -> int:
    """Estimate the tokens of `text`: hardly ever below the real number, on prose 4 to 8 % above it.

    The estimate is at least a quarter of the Latin and a third of the Cyrillic letters, and at most the bytes of the
    text. Time is linear; recent texts are cached, because prompts and memory lines are counted again and again.
    """
    if len(text) <= MAX_LINE_CHARS:
        return _count_line(text)
    return _count_prompt(text) if len(text) <= MAX_PROMPT_CHARS else _count(text)


def fits(text: str, limit: int) -> bool:
    """Return whether `count` is at most `limit`; a text of fewer bytes than that is not counted."""
    return (len(text) <= limit and len(text.encode("utf-8", "replace")) <= limit) or count(text) <= limit


def within(limit: int, provider: str) -> int:
    """Return how many tokens of this estimate are at most `limit` tokens of a provider's tokenizer."""
    return int(limit / _PROVIDER_FACTOR.get(provider, 1.0))


def _count(text: str) -> int:
    raw = text.encode("utf-8", "replace")  # lone surrogates have no bytes
    total = 0.0
    for chunk, times in Counter(_CHUNK.findall(raw.decode())).items():
        price = _price_again(chunk) if len(chunk) <= MAX_WORD_CHARS else _price(chunk)
        total += times * min(price * _MARGIN, len(chunk.encode()))
    latin = len(raw.translate(None, _NOT_LATIN))
    cyrillic, han = (sum(map(raw.count, leads)) for leads in (_CYRILLIC_LEADS, _HAN_LEADS))
    estimate = math.ceil(max(total, latin * _TOKENS_PER_LATIN + cyrillic * _TOKENS_PER_CYRILLIC + han))
    return min(estimate, len(raw))


_count_line = lru_cache(maxsize=4096)(_count)
_count_prompt = lru_cache(maxsize=512)(_count)


def fit(text: str, limit: int) -> str:
    """Cut `text` to at most `limit` tokens by `count`, at the end of a line, sentence or word if one is near."""
    if limit <= 0:
        return ""
    high, high_cost = len(text), count(text)
    if high_cost <= limit:
        return text
    low = low_cost = 0
    while high - low > 1 + low // 100:
        share = (limit - low_cost) / (high_cost - low_cost)
        middle = low + max(1, min(high - low - 1, int((high - low) * min(max(share, 0.1), 0.9))))
        cost = count(text[:middle])
        if cost <= limit:
            low, low_cost = middle, cost
        else:
            high, high_cost = middle, cost
    return text[: _boundary(text, low)].rstrip()


def _boundary(text: str, end: int) -> int:
    """Return the best index to cut at, shortly before `end` or `end` itself, never within a joined character."""
    is_between = text[end].isspace()
    if is_between and (text[end] == "\n" or text[end - 1] in ".!?…。"):
        return end
    near = end - end // 5
    for pattern in ("\n", ". ", "! ", "? ", "。"):
        if (index := text.rfind(pattern, near, end)) > 0:
            return index + (pattern != "\n")
    word = text.rfind(" ", max(min(near, end - MAX_WORD_CHARS), end - end // 3), end)
    if word > 0 and not is_between:
        return word
    while end > 0 and (text[end] in _JOINERS or text[end - 1] == "\u200d"):
        end -= 1
    return end


_JOINERS = (
    frozenset("\u200d\ufe0e\ufe0f")
    | frozenset(map(chr, range(0x1F3FB, 0x1F400)))
    | frozenset(map(chr, range(0x300, 0x370)))
)


def find_slot(token: bytes, table: MutableSequence[int]) -> tuple[int, int]:
    """Return the slot of `token` in the table, or the free slot for it, and the mark that stands for it there."""
    hashed, last = crc32(token), len(table) - 1
    slot, mark = hashed & last, hashed >> 16 | 1
    while table[slot] not in (0, mark):
        slot = slot + 1 & last
    return slot, mark


def _is_in_table(part: bytes) -> bool:
    return _TABLE[find_slot(part, _TABLE)[0]] != 0


def _is_token(part: str) -> bool:
    raw = part.encode()
    return _TABLE[crc32(raw) & _LAST_SLOT] != 0 and _is_in_table(raw)


def is_word(word: str) -> bool:
    """Return whether a word in lower case is one token of the tokenizers, within a text or with a capital letter.

    Words of that kind are frequent in written text, so they are hardly ever misspelt.
    """
    return any(form in _CYRILLIC or _is_token(form) for form in (f" {word}", f" {word.capitalize()}"))


def _price(chunk: str) -> float:
    """Return the cost of a chunk; each different part of a long one is priced once, and roughly if they are many."""
    if len(chunk) <= MAX_CHUNK_CHARS:
        return _price_whole(chunk, _token_chars(chunk))
    parts = Counter(chunk[start : start + MAX_CHUNK_CHARS] for start in range(0, len(chunk), MAX_CHUNK_CHARS))
    max_chars = _token_chars(chunk) if len(parts) <= MAX_VARIED_PARTS else VARIED_TOKEN_CHARS
    return sum(times * _price_whole(part, max_chars) for part, times in parts.items())


def _price_whole(chunk: str, max_chars: int) -> float:
    if "а" <= chunk[-1] <= "я":
        parts = 1 if chunk in _CYRILLIC else _parts(chunk, _CYRILLIC.__contains__, 8)
        return 1 + (parts - 1) * _FURTHER_PART
    if _is_token(chunk):
        return 1.0
    parts = _parts(chunk, _is_token, max_chars)
    if parts > 2 and chunk[-1].isalpha() and chunk[0] != " " and not chunk[0].isalpha():
        parts = min(parts, 1 + _parts(chunk[1:], _is_token, max_chars))  # the tokenizers prefer to keep the word whole
    return 1 + (parts - 1) * (_FURTHER_ASCII_PART if chunk.isascii() else _FURTHER_PART)


_price_again = lru_cache(maxsize=4096)(_price)


def _token_chars(chunk: str) -> int:
    """Return the longest token that is looked for in a chunk, in characters: longer ones are rare and slow to find."""
    if chunk[-1].isalpha():
        return 8 if len(chunk) <= MAX_WORD_CHARS else 5
    return 16 if chunk.isascii() else 2


def _parts(chunk: str, is_token: Callable[[str], bool], max_chars: int) -> int:
    """Return the parts of a chunk if each token is as long as possible; an unknown character is cut into bytes."""
    parts = start = 0
    last = len(chunk)
    while start < last:
        for end in range(min(start + max_chars, last), start, -1):
            if is_token(chunk[start:end]):
                parts += 1
                break
        else:
            parts += _byte_parts(chunk[start].encode())
        start = end
    return parts


@lru_cache(maxsize=8192)
def _byte_parts(char: bytes) -> int:
    parts = 0
    while char:
        size = len(char)
        while size > 1 and not _is_in_table(char[:size]):
            size -= 1
        char = char[size:]
        parts += 1
    return parts
