"""What is read in files, and how it is cut; hostile files get one clear error."""

from __future__ import annotations

import pytest

from maas.knowledge.chunks import MAX_CHARS, cut, summary
from maas.knowledge.reader import read_file
from maas.knowledge.readers import READERS, Section, Unreadable
from tests.papers import HANDBOOK, NEW_LINE, PAGE, bomb, docx, pdf

DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"


def read(media_type: str, content: bytes) -> list[Section]:
    return READERS[media_type](content)


def test_headings_of_markdown() -> None:
    sections = read("text/markdown", HANDBOOK.encode())
    assert [one.headings for one in sections] == [
        ("Handbook",), ("Handbook", "Vacation"), ("Handbook", "Keys"), ("Handbook", "Отпуск"),
    ]  # fmt: skip
    assert "# this is no heading" in sections[2].text


def test_a_page_is_read_as_it_is_seen() -> None:
    sections = read("text/html", PAGE.encode())
    assert [one.headings for one in sections] == [("Canteen",), ("Canteen", "Завтрак")]
    text = "\n".join(one.text for one in sections)
    assert "from noon to two" in text and "Каша" in text
    assert not [word for word in ("invisible", "hidden", "and this", "comment", "Secret", "color") if word in text]


def test_paragraphs_and_tables_of_word() -> None:
    sections = read(DOCX, docx())
    assert [one.headings for one in sections] == [("Travel",), ("Travel", "Hotels")]
    assert "Limit | 90 euros a night" in sections[1].text


def test_pages_of_pdf() -> None:
    sections = read("application/pdf", pdf("The first page speaks of bread.", "The second of mills."))
    assert [(one.page, one.headings) for one in sections] == [(1, ("Part 1",)), (2, ("Part 2",))]
    assert "mills" in sections[1].text


def test_titles_and_margins_of_pdf() -> None:
    """A title within a page begins a section; what stands at the edge of most pages is no text."""
    animals = ("Otters", "Herons", "Beavers", "Swallows")
    pages = [
        NEW_LINE.join((
            f"The Mill, page {number}", *(f"{animal} {verb}." for verb in ("swim", "eat", "sleep")), f"Part {number}",
            *(f"{animal} {verb} at night." for verb in ("hide", "call", "wait")),
        ))
        for number, animal in enumerate(animals, 1)
    ]  # fmt: skip
    sections = read("application/pdf", pdf(*pages))
    assert [(one.page, one.headings) for one in sections[:4]] == [
        (1, ()), (1, ("Part 1",)), (2, ("Part 1",)), (2, ("Part 2",)),
    ]  # fmt: skip
    assert sections[2].text == "Herons swim.\nHerons eat.\nHerons sleep."
    assert sections[3].text == "Part 2\nHerons hide at night.\nHerons call at night.\nHerons wait at night."
    assert not [one for one in sections if "The Mill" in one.text]


@pytest.mark.parametrize(
    ("media_type", "content", "message"),
    [
        ("application/pdf", pdf("Secret", password="open sesame"), "encrypted"),
        ("application/pdf", b"%PDF-1.7 nonsense", "no pdf file"),
        (DOCX, b"PK nonsense", "no docx file"),
        ("text/plain", b"\x00\x01" * 500, "no text"),
        ("text/plain", b"\xff\xfe\xfd", "no text"),
    ],
)  # fmt: skip
async def test_what_cannot_be_read_says_why(media_type: str, content: bytes, message: str) -> None:
    """In the process that reads it."""
    with pytest.raises(Unreadable, match=message):
        await read_file(content, media_type)


async def test_a_bomb_is_refused() -> None:
    with pytest.raises(Unreadable, match="unpacks to more"):
        await read_file(bomb(), DOCX)


def test_chunks_hold_everything_once() -> None:
    words = [f"word{number}" for number in range(5000)]
    text = "\n\n".join(" ".join(words[begin : begin + 37]) + "." for begin in range(0, 5000, 37))
    chunks = cut([Section(("One", "Two"), 3, text)])
    assert max(len(one.text) for one in chunks) <= MAX_CHARS
    assert " ".join(one.text for one in chunks).replace(".", "").split() == words
    assert all(text[one.position :].startswith(one.text[:20]) for one in chunks)
    assert {(one.heading, one.page) for one in chunks} == {("One > Two", 3)}


@pytest.mark.parametrize("text", ["x" * 100_000, "a. " * 30_000, "\n\n" * 50_000, "слово " * 20_000])
def test_hard_texts_are_cut(text: str) -> None:
    chunks = cut([Section((), None, text)])
    assert all(0 < len(one.text) <= MAX_CHARS for one in chunks)
    assert sum(len("".join(one.text.split())) for one in chunks) == len("".join(text.split()))


def test_a_summary_names_the_headings() -> None:
    assert summary(read("text/markdown", HANDBOOK.encode())).split("\n")[:3] == ["Handbook", "Vacation", "Keys"]
