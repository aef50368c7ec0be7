"""Labels of lines that a model refers to."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from maas.prompting.labels import make_labels, read_labels


def test_labels_are_made_of_the_words_that_few_lines_have() -> None:
    tags = [("Planning", "Alma", "Porto"), ("Planning", "Dentist"), ("Planning", "Alma", "Ferry"), ("Planning",)]
    assert make_labels(tags) == ("#alma-porto", "#planning-dentist", "#alma-ferry", "#planning")


def test_equal_labels_are_numbered() -> None:
    assert make_labels([["Врач"], ["врач!"], [], ["?"], ["Bug fix"]]) == (
        "#врач",
        "#врач-2",
        "#line",
        "#line-2",
        "#bug",
    )


@given(st.lists(st.lists(st.text(max_size=30), max_size=4), max_size=30))
def test_every_line_has_a_label_of_its_own_that_can_be_read_again(lines: list[list[str]]) -> None:
    labels = make_labels(lines)
    assert len(set(labels)) == len(lines)
    for label in labels:
        assert read_labels(label, labels) == [label]
        assert read_labels(f'"{label.upper().removeprefix("#")}" I think', labels)[:1] in ([label], [])


def test_what_a_model_writes_around_a_label_does_not_matter() -> None:
    labels = ("#alma-porto", "#dentist", "#dentist-2")
    for text in ("#dentist", "dentist", " #Dentist: ", "[#dentist]", "the record #dentist."):
        assert read_labels(text, labels) == ["#dentist"]
    assert read_labels("#dentist-2, #alma-porto, #dentist-2", labels) == ["#dentist-2", "#alma-porto"]
    assert read_labels("#dent #none 7", labels) == []
