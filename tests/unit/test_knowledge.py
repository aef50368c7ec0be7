"""What is read in files, and how it is cut; hostile files get one clear error."""

from __future__ import annotations

import asyncio
import io
import re
import resource
import zipfile
from time import process_time

import pytest

from maas.knowledge.chunks import MAX_CHARS, cut, summary
from maas.knowledge.outline import Section, Unreadable
from maas.knowledge.reader import read_file
from maas.knowledge.readers import READERS
from tests.papers import HANDBOOK, NEW_LINE, PAGE, bomb, docx, pdf

DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"


def read(media_type: str, content: bytes) -> list[Section]:
    return READERS[media_type](content)


def test_headings_of_markdown() -> None:
    sections = read("text/markdown", HANDBOOK.encode())
    assert [one.headings for one in sections] == [
        ("Handbook",),
        ("Handbook", "Vacation"),
        ("Handbook", "Keys"),
        ("Handbook", "Отпуск"),
    ]
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
        NEW_LINE.join(
            (
                f"The Mill, page {number}",
                *(f"{animal} {verb}." for verb in ("swim", "eat", "sleep")),
                f"Part {number}",
                *(f"{animal} {verb} at night." for verb in ("hide", "call", "wait")),
            )
        )
        for number, animal in enumerate(animals, 1)
    ]
    sections = read("application/pdf", pdf(*pages))
    assert [(one.page, one.headings) for one in sections[:4]] == [
        (1, ()),
        (1, ("Part 1",)),
        (2, ("Part 1",)),
        (2, ("Part 2",)),
    ]
    assert sections[2].text == "Herons swim.\nHerons eat.\nHerons sleep."
    assert sections[3].text == "Part 2\nHerons hide at night.\nHerons call at night.\nHerons wait at night."
    assert not [one for one in sections if "The Mill" in one.text]


@pytest.mark.parametrize(
    ("media_type", "content", "message"),
    [
        ("application/pdf", pdf("Secret", password="open sesame"), "encrypted"),
        ("application/pdf", b"%PDF-1.7 nonsense", "not a pdf file"),
        (DOCX, b"PK nonsense", "not a docx file"),
        ("text/plain", b"\x00\x01" * 500, "not UTF-8 text"),
        ("text/plain", b"\xff\xfe\xfd", "not UTF-8 text"),
    ],
)
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


SIZE = 800_000
UNCLOSED = "<b>" * 100_000 + "visible" + "</u>" * 100_000


@pytest.mark.parametrize(
    ("media_type", "text"),
    [
        ("text/html", UNCLOSED),
        ("text/html", "visible<p>" + "<a b=" * (SIZE // 5)),
        ("text/html", "visible<p>" + "<?" * (SIZE // 2)),
        ("text/html", 'visible<p><a"' + '<a"' * (SIZE // 3)),
        ("text/html", "visible<p>" + "</" * (SIZE // 2)),
        ("text/html", "visible<p>" + "<!--" * (SIZE // 4)),
        ("text/markdown", "visible\n\n" + "![" * (SIZE // 2)),
        ("text/markdown", "visible\n\n" + "[a\n" * (SIZE // 8)),
        ("text/markdown", "visible\n\n" + "**a*" * (SIZE // 4)),
        ("text/markdown", "visible\n\n" + ">" * 1000 + "a\n" * (SIZE // 12)),
        ("text/plain", "visible " * (SIZE // 8)),
    ],
)
async def test_hostile_texts_are_read_in_the_time_of_a_document(media_type: str, text: str) -> None:
    """What is quadratic in any of them would end the process at MAX_CPU_S."""
    document = await read_file(text.encode(), media_type)
    assert "visible" in document.chunks[0].text


def word(body: str, styles: int = 0) -> bytes:
    """A docx with this body as XML, and so many styles."""
    named = "".join(
        f'<w:style w:type="paragraph" w:styleId="s{n}"><w:name w:val="s{n}"/></w:style>' for n in range(styles)
    )
    source = zipfile.ZipFile(io.BytesIO(docx()))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as target:
        for part in source.namelist():
            text = source.read(part)
            if part == "word/document.xml":
                text = re.sub(rb"(?s)<w:body>.*</w:body>", b"<w:body>" + body.encode() + b"</w:body>", text)
            elif part == "word/styles.xml":
                text = text.replace(b"</w:styles>", named.encode() + b"</w:styles>")
            target.writestr(part, text)
    return buffer.getvalue()


def cell(text: str, properties: str = "") -> str:
    return f"<w:tc><w:tcPr>{properties}</w:tcPr><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:tc>"


async def test_a_table_of_merged_cells() -> None:
    """A cell that goes on from the row above has its text; the work is that of one pass."""
    first = f"<w:tr>{cell('visible', '<w:vMerge w:val=' + chr(34) + 'restart' + chr(34) + '/>')}{cell('one')}</w:tr>"
    others = "".join(f"<w:tr>{cell('', '<w:vMerge/>')}{cell(f'row{n}')}</w:tr>" for n in range(8_000))
    wide = f'<w:tr>{cell("wide", """<w:gridSpan w:val="900000000"/>""")}{cell("last")}</w:tr>'
    document = await read_file(word(f"<w:tbl>{first}{others}{wide}</w:tbl>"), DOCX)
    text = "\n\n".join(one.text for one in document.chunks)
    assert "visible | one" in text and "visible | row7999" in text and "wide | last" in text


async def test_many_paragraphs_of_many_styles() -> None:
    body = "".join(
        f'<w:p><w:pPr><w:pStyle w:val="s{n % 4_000}"/></w:pPr><w:r><w:t>visible</w:t></w:r></w:p>'
        for n in range(20_000)
    )
    assert (await read_file(word(body, 4_000), DOCX)).chunks


async def test_a_long_text_holds_up_nobody() -> None:
    """35 MB of Cyrillic: the event loop goes on, and no copy of it all is made beside the chunks."""
    content = ("Слово и дело. " * 75 + "\n\n").encode() * 19_000
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    reading = asyncio.create_task(read_file(content, "text/plain"))
    longest, last = 0.0, process_time()
    while not reading.done():
        await asyncio.sleep(0.001)
        longest, last = max(longest, process_time() - last), process_time()
    document = await reading
    grown_mib = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert sum(len(one.text) for one in document.chunks) > 19_000_000
    assert longest < 1  # seconds of CPU; parsing it at once takes 2
    assert grown_mib < 110  # the chunks are 40 MiB
