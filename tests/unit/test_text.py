"""Text must reach prompts, fences and Postgres unchanged where it can, and harmless where it cannot."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.json import is_storable, json_object
from shared.text import clean, defuse, escape, fill, is_blank, one_line, sentences, shorten, unescape

MARKUP = st.text(alphabet=st.sampled_from("<>&;/{}ampltg \n\"'а"), max_size=60) | st.text()
TAG = re.compile(r"</?\s*\w+[^>]*>")


@given(MARKUP)
def test_escape_round_trip(text: str) -> None:
    assert unescape(escape(text)) == text


@given(MARKUP, st.sampled_from(["memory", "query", "system"]))
def test_a_fence_cannot_be_left(text: str, tag: str) -> None:
    for harmless in (escape(text), defuse(text), defuse(escape(text))):
        fenced = f"<{tag}>\n{harmless}\n</{tag}>"
        assert TAG.findall(fenced) == [f"<{tag}>", f"</{tag}>"]


@given(MARKUP)
def test_defuse_is_idempotent_and_keeps_what_was_escaped(text: str) -> None:
    assert defuse(defuse(text)) == defuse(text)
    assert defuse(escape(text)) == escape(text)


def test_unescape_undoes_one_level() -> None:
    assert unescape("&amp;lt;b&amp;gt; &copy;") == "&lt;b&gt; &copy;"


@given(
    st.dictionaries(st.sampled_from(["user_query", "memory", "a"]), st.text(alphabet="{}amemoryuser_q x"), min_size=1)
)
def test_fill_never_looks_at_what_it_put_in(values: dict[str, str]) -> None:
    names = list(values)
    template = "|".join("{" + name + "}" for name in names)
    assert fill(template, values) == "|".join(values[name] for name in names)


def test_fill_leaves_what_it_does_not_know() -> None:
    template = 'Return {"tags": [], "n": {}} for {user_query}, not {other} or { user_query }.'
    filled = fill(template, {"user_query": r"{other} \1 {user_query}"})
    assert filled == r'Return {"tags": [], "n": {}} for {other} \1 {user_query}, not {other} or { user_query }.'


def test_fill_without_values_changes_nothing() -> None:
    assert fill("{a} {b}", {}) == "{a} {b}"


def test_fill_takes_a_longer_name_for_what_it_is() -> None:
    assert fill("{ab} {a}", {"a": "1", "ab": "2"}) == "2 1"


@given(st.text(alphabet=st.characters(codec=None, exclude_categories=())))
def test_clean_text_is_taken_by_postgres(text: str) -> None:
    cleaned = clean(text)
    cleaned.encode()
    assert not re.search("[\x00-\x08\x0b-\x1f]", cleaned)
    assert clean(cleaned) == cleaned


def test_clean_keeps_lines_and_signs() -> None:
    assert clean("a\r\nb\rc\td\x00\ud83de \x7f 👨‍👩‍👧 ё") == "a\nb\nc\tde \x7f 👨‍👩‍👧 ё"


@pytest.mark.parametrize(
    "text",
    ["", " \t\n", "\u200b\u200d\ufeff", "\u00a0\u2003\u3000", "\x00\x07", "\u2800", "\u3164\ufe0f", "\u202e\u2066"],
)
def test_blank(text: str) -> None:
    assert is_blank(text)


@pytest.mark.parametrize("text", [".", "0", "я", "\u200bя", "❤\ufe0f", "。", "\u0301"])
def test_not_blank(text: str) -> None:
    assert not is_blank(text)


def test_one_line() -> None:
    assert one_line("  a\n\n b\t\u2028c\u00a0d ") == "a b c d"


@given(st.text(), st.integers(0, 80))
def test_shorten_keeps_the_limit(text: str, chars: int) -> None:
    short = shorten(text, chars)
    assert len(short) <= chars or short == text
    assert short == text or short.endswith("…") or not chars


@pytest.mark.parametrize(
    ("text", "chars", "expected"),
    [
        ("short", 5, "short"),
        ("one two three", 10, "one two…"),
        ("one two three", 9, "one two…"),
        ("First one. Second one is long.", 20, "First one. …"),
        ("Первое дело, второе", 14, "Первое дело…"),
        ("abcdefghij", 5, "abcd…"),
        ("ab e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301", 9, "ab e\u0301e\u0301…"),
        ("x" * 9, 1, "…"),
        ("x" * 9, 0, ""),
    ],
)
def test_shorten(text: str, chars: int, expected: str) -> None:
    assert shorten(text, chars) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Да. Нет! Как? Вот…", ["Да.", "Нет!", "Как?", "Вот…"]),
        ("Это, т. е. вот. И т. д. Он умер в 1837 г. тут.", ["Это, т. е. вот.", "И т. д. Он умер в 1837 г. тут."]),
        ("А. С. Пушкин жил на ул. Мойка. Да.", ["А. С. Пушкин жил на ул. Мойка.", "Да."]),
        ("Dr. Smith met Mr. Ray at 5 p.m. here. E.g. Bob.", ["Dr. Smith met Mr. Ray at 5 p.m. here.", "E.g. Bob."]),
        ("Version 3.11 is out. Cost 2.50.", ["Version 3.11 is out.", "Cost 2.50."]),
        ('"Really?" she said. (Yes.) Fine', ['"Really?" she said.', "(Yes.)", "Fine"]),
        ("- one\n- two\n\nthree", ["- one", "- two", "three"]),
        ("你好。今天好吗？好！", ["你好。", "今天好吗？", "好！"]),
        ("  \n ", []),
    ],
)
def test_sentences(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@given(st.text(alphabet=st.sampled_from('аБz .!?…"\n。1'), max_size=80))
def test_sentences_lose_nothing(text: str) -> None:
    assert "".join("".join(sentences(text)).split()) == "".join(text.split())


@pytest.mark.parametrize(
    "text",
    [
        '{"a": {"b": "x\\ny"}}',
        'Sure, use {braces}:\n```json\n{"a": {"b": "x\ny"}}\n```\nDone {1}.',
        'draft {"b": 1}, final: {"a": {"b": "x\\ny\\u0000\\ud800"}} {"c": 2}',
        '<think>maybe {"a": "a much longer guess than the answer itself is"}</think>{"a": {"b": "x\\ny"}}',
    ],
    ids=["bare", "fence", "longest", "thought"],
)
def test_json_object(text: str) -> None:
    assert json_object(text) == {"a": {"b": "x\ny"}}


@pytest.mark.parametrize(
    "text",
    ["", "no", "[1, 2]", '{"a": ', '{"a": NaN}', '{"a": 1e999}', "{'a': 1}", "{" * 100_000, '{"a":' * 100_000],
    ids=["empty", "prose", "list", "cut", "NaN", "infinite", "quotes", "braces", "deep"],
)
def test_no_json_object(text: str) -> None:
    assert json_object(text) is None


@given(
    st.dictionaries(st.text(), st.text() | st.integers() | st.lists(st.none() | st.booleans()), min_size=1),
    st.text("ab{\n}` "),
)
def test_json_object_is_found_in_prose(value: dict[str, object], prose: str) -> None:
    def cleaned(item: object) -> object:
        return clean(item) if isinstance(item, str) else item

    found = json_object(f"{prose}{json.dumps(value)}\n{prose}")
    assert found == {clean(key): cleaned(item) for key, item in value.items()}


@pytest.mark.parametrize("value", ["a\x00b", "\ud800", {"a": ["\x00"]}, {"\udfff": 1}, [float("inf")]])
def test_what_postgres_refuses_is_not_storable(value: object) -> None:
    assert not is_storable(value)


@pytest.mark.parametrize("value", ["ёж 😀 \\u0000 \x01", {"a": [1, 2.5, None, True]}, [], None])
def test_all_else_is_storable(value: object) -> None:
    assert is_storable(value)
