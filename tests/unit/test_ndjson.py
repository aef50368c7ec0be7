"""JSON of a file in pieces: the same as at once, however it is cut, and never more than a bound."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maas.memory.transfer.ndjson import CHUNK_BYTES, LARGE_BYTES, MAX_JSON_SIGNS, MAX_VALUE_SIZE, read_items, read_lines
from shared.errors import MaasError

WIDE = "я😀" * 100
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=20,
)


def items(raw: bytes | str) -> list[Any]:
    raw = raw.encode() if isinstance(raw, str) else raw
    return [item for _, item in read_items(BytesIO(raw), "file")]


@settings(max_examples=30)
@given(st.lists(VALUES), st.integers(CHUNK_BYTES - 12, CHUNK_BYTES + 2), st.sampled_from([None, 1]))
def test_an_array_is_read_as_at_once(values: list[Any], at: int, indent: int | None) -> None:
    """Its elements lie where one chunk ends and the next begins."""
    whole = [{"first": "x" * at}, *values]
    assert items(json.dumps(whole, ensure_ascii=False, indent=indent)) == whole


def test_a_long_element_is_read() -> None:
    long = [{"text": WIDE * 3000}, {"text": "x" * (LARGE_BYTES + 5)}, {}]
    assert items(json.dumps(long, ensure_ascii=False)) == long
    assert items(b"\xef\xbb\xbf [ ] \n") == []


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        (b"[{}", "item 2: not JSON: ',' is missing"),
        (b"[{} {}]", "item 2: not JSON: ',' is missing"),
        (b"[{},]", "item 2: not JSON"),
        (b'[{"a": NaN}]', "item 1: not JSON: NaN"),
        (b"[{}] {}", "more after the array"),
        (b'[{}, {"a": "\xff"}]', "not UTF-8"),
        (b'[{}, {"a": "\xd1', "not UTF-8"),
        (b"[" * 50_000, "item 1: not JSON"),
        (b'[{"a": "' + b"x" * (MAX_VALUE_SIZE + 2 * CHUNK_BYTES) + b'"}]', "item 1: exceeds 4 Mi"),
        (b'[{"a": [' + b"1," * MAX_JSON_SIGNS + b"1]}]", f"item 1: holds more than {MAX_JSON_SIGNS} values"),
    ],
)
def test_what_is_wrong_is_named(raw: bytes, problem: str) -> None:
    with pytest.raises(MaasError, match=problem):
        items(raw)


def test_only_the_line_of_an_image_may_be_long() -> None:
    """An image is plain ASCII; what else is so long would take many times its space in memory."""
    image = json.dumps({"content": "x" * MAX_VALUE_SIZE}).encode()
    assert [line.number for line in read_lines(BytesIO(b"\n" + image + b"\n" + image), "file")] == [2, 3]
    for line in ({"content": "я" * MAX_VALUE_SIZE}, {"content": "\n" * MAX_VALUE_SIZE}):
        with pytest.raises(MaasError, match="line 1: exceeds 4 MiB"):
            list(read_lines(BytesIO(json.dumps(line, ensure_ascii=False).encode()), "file"))
    for signs in (b'{"a": [' + b"{}," * MAX_JSON_SIGNS + b"{}]}", b'{"a": [' + b"1," * MAX_JSON_SIGNS + b"1]}"):
        with pytest.raises(MaasError, match=f"line 1: holds more than {MAX_JSON_SIGNS} values"):
            list(read_lines(BytesIO(signs), "file"))


@pytest.mark.parametrize("text", ["," * 900_000, "[{:" * 300_000, ("\\" + "," * 10 + '"') * 80_000])
def test_signs_in_a_string_are_no_values(text: str) -> None:
    value = {"content": text}
    raw = json.dumps(value).encode()
    assert [line.body for line in read_lines(BytesIO(raw), "file")] == [value]
    assert items(b"[" + raw + b", " + raw + b"]") == [value, value]
