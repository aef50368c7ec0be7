"""How many tokens a text costs: an estimate that leans to the high side and needs no tokenizer.

A tokenizer's tables take 144 MB of memory; these take half a megabyte: the tokens that cl100k_base and o200k_base both
know, as marks in a table of hashes. A text is cut into words, numbers and runs of signs where the tokenizers cut it,
too. A chunk that is a token costs 1; any other is cut from left to right into the longest tokens there are. One time in
twenty the tokenizers cut it finer, so every further part costs a little more than 1; but no chunk costs more than its
bytes, the most that a tokenizer can make of it. `python -m bench.tokens` makes the tables and measures the estimate;
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
_CYRILLIC_LEADS, _HAN_LEADS = b"\xd0\xd1", b"\xe3\xe4\xe5\xe6\xe7\xe8\xe9"  # of their letters in UTF-8
_LATIN_FLOOR, _CYRILLIC_FLOOR = 1 / 4.2, 1 / 2.8
_MARGIN, _FURTHER_PART, _FURTHER_ASCII_PART = 1.015, 1.06, 1.25
_MORE = {"anthropic": 1.35}  # what its tokenizer may need more than those that were measured, as its makers say
_LONGEST_WORD = 40
_LONGEST_CHUNK, _FEW_PARTS, _MEDLEY_REACH = 256, 32, 4
_KEPT_CHARS = 8000
TABLE = Path(__file__).with_name("tokens.bin")
CYRILLIC = Path(__file__).with_name("tokens.cyrillic.txt")
_TABLE = array("H", TABLE.read_bytes())
_LAST_SLOT = len(_TABLE) - 1
_CYRILLIC = frozenset(CYRILLIC.read_text(encoding="utf-8").splitlines())
if sys.byteorder == "big":
    _TABLE.byteswap()


def count(text: str) -> int:
    """Estimate the tokens of `text`: hardly ever below the real number, on prose 4 to 8 % above it.

    Never below a quarter of the Latin letters or a third of the Cyrillic ones, never above the bytes. Time is linear;
    texts that were just counted, as prompts and remembered turns are again and again, cost nothing.
    """
    return _count_again(text) if len(text) <= _KEPT_CHARS else _count(text)


def within(limit: int, provider: str) -> int:
    """How many tokens by this estimate are at most `limit` by the tokenizer of a provider."""
    return int(limit / _MORE.get(provider, 1.0))


def _count(text: str) -> int:
    raw = text.encode("utf-8", "replace")  # lone surrogates have no bytes
    total = 0.0
    for chunk, times in Counter(_CHUNK.findall(raw.decode())).items():
        price = _price_again(chunk) if len(chunk) <= _LONGEST_WORD else _price(chunk)
        total += times * min(price * _MARGIN, len(chunk.encode()))
    latin = len(raw.translate(None, _NOT_LATIN))
    cyrillic, han = (sum(map(raw.count, leads)) for leads in (_CYRILLIC_LEADS, _HAN_LEADS))
    return math.ceil(max(total, latin * _LATIN_FLOOR + cyrillic * _CYRILLIC_FLOOR + han))


_count_again = lru_cache(maxsize=512)(_count)


def fit(text: str, limit: int) -> str:
    """Cut `text` to at most `limit` tokens by `count`, at the end of a line, sentence or word if one is near."""
    if limit <= 0:
        return ""
    high, most = len(text), count(text)
    if most <= limit:
        return text
    low = least = 0
    while high - low > 1 + low // 100:
        share = (limit - least) / (most - least)
        middle = low + max(1, min(high - low - 1, int((high - low) * min(max(share, 0.1), 0.9))))
        cost = count(text[:middle])
        if cost <= limit:
            low, least = middle, cost
        else:
            high, most = middle, cost
    return text[: _boundary(text, low)].rstrip()


def _boundary(text: str, end: int) -> int:
    """The best place to cut near before `end`, else `end` itself, but never within a joined sign."""
    between = text[end].isspace()
    if between and (text[end] == "\n" or text[end - 1] in ".!?…。"):
        return end
    near = end - end // 5
    for pattern in ("\n", ". ", "! ", "? ", "。"):
        if (place := text.rfind(pattern, near, end)) > 0:
            return place + (pattern != "\n")
    word = text.rfind(" ", max(min(near, end - _LONGEST_WORD), end - end // 3), end)
    if word > 0 and not between:
        return word
    while end > 0 and (text[end] in _JOINERS or text[end - 1] == "\u200d"):
        end -= 1
    return end


_JOINERS = (
    frozenset("\u200d\ufe0e\ufe0f")
    | frozenset(map(chr, range(0x1F3FB, 0x1F400)))
    | frozenset(map(chr, range(0x300, 0x370)))
)


def place(token: bytes, table: MutableSequence[int]) -> tuple[int, int]:
    """The slot of the table where `token` stands, or the free one where it would, and its mark there."""
    hashed, last = crc32(token), len(table) - 1
    slot, mark = hashed & last, hashed >> 16 | 1
    while table[slot] not in (0, mark):
        slot = slot + 1 & last
    return slot, mark


def _stands(part: bytes) -> bool:
    return _TABLE[place(part, _TABLE)[0]] != 0


def _is_token(part: str) -> bool:
    raw = part.encode()
    return _TABLE[crc32(raw) & _LAST_SLOT] != 0 and _stands(raw)


def _price(chunk: str) -> float:
    """What a chunk costs. Of a long one each part is looked at once however often it comes, and a medley briefly."""
    if len(chunk) <= _LONGEST_CHUNK:
        return _price_whole(chunk, _reach(chunk))
    parts = Counter(chunk[start : start + _LONGEST_CHUNK] for start in range(0, len(chunk), _LONGEST_CHUNK))
    reach = _reach(chunk) if len(parts) <= _FEW_PARTS else _MEDLEY_REACH
    return sum(times * _price_whole(part, reach) for part, times in parts.items())


def _price_whole(chunk: str, reach: int) -> float:
    if "а" <= chunk[-1] <= "я":
        parts = 1 if chunk in _CYRILLIC else _parts(chunk, _CYRILLIC.__contains__, 8)
        return 1 + (parts - 1) * _FURTHER_PART
    if _is_token(chunk):
        return 1.0
    parts = _parts(chunk, _is_token, reach)
    if parts > 2 and chunk[-1].isalpha() and chunk[0] != " " and not chunk[0].isalpha():
        parts = min(parts, 1 + _parts(chunk[1:], _is_token, reach))  # the tokenizers rather keep the word
    return 1 + (parts - 1) * (_FURTHER_ASCII_PART if chunk.isascii() else _FURTHER_PART)


_price_again = lru_cache(maxsize=4096)(_price)


def _reach(chunk: str) -> int:
    """How long the parts of a chunk may be: what takes longer to find is rare."""
    if chunk[-1].isalpha():
        return 8 if len(chunk) <= _LONGEST_WORD else 5
    return 16 if chunk.isascii() else 2


def _parts(chunk: str, is_token: Callable[[str], bool], reach: int) -> int:
    """How many tokens a chunk is if each is as long as can be; a sign that is no token is cut into bytes."""
    parts = start = 0
    last = len(chunk)
    while start < last:
        for end in range(min(start + reach, last), start, -1):
            if is_token(chunk[start:end]):
                parts += 1
                break
        else:
            parts += _byte_parts(chunk[start].encode())
        start = end
    return parts


@lru_cache(maxsize=8192)
def _byte_parts(sign: bytes) -> int:
    parts = 0
    while sign:
        size = len(sign)
        while size > 1 and not _stands(sign[:size]):
            size -= 1
        sign = sign[size:]
        parts += 1
    return parts
