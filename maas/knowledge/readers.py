"""Readers: what a file says, as sections under headings. Files are hostile: this runs in a process of its own."""

from __future__ import annotations

import io
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from itertools import islice
from typing import Any

from shared.text import clean

MAX_TEXT_CHARS = 20_000_000
MAX_PAGES = 5_000
MAX_UNPACKED_BYTES = 200 * 1024 * 1024
MAX_RATIO = 200  # of a part of a docx: what unpacks to more is a bomb
MAX_HEADING_CHARS = 200
MAX_DEPTH = 6
MAX_BLOCK_DEPTH = 4  # of quotations and lists within each other, in which no heading is one of the document
MAX_TITLES = 10_000  # of an outline
MAX_PLACES = 20  # on a page, of lines that may be one title
MARGIN_LINES, MIN_MARGINS, MARGIN_SHARE = 2, 3, 0.4  # lines at an edge of that share of the pages are no text
MIN_PAGE_LINES = 8  # of a page that has margins
_CUT_WORD = re.compile("[\ufffe\x02\xad]\n?|(?<=[a-zа-яё])-\n(?=[a-zа-яё])")


class Unreadable(Exception):
    """The file cannot be read; the message says why, for the person who added it."""


@dataclass(frozen=True, slots=True)
class Section:
    """A text under its headings, the outermost first; `page` counts from 1, None where there are no pages."""

    headings: tuple[str, ...]
    page: int | None
    text: str


class Outline:
    """Collects sections while headings come and go."""

    def __init__(self) -> None:
        self._headings: list[str] = []
        self._parts: list[str] = []
        self._chars = 0
        self.sections: list[Section] = []

    def heading(self, level: int, text: str, page: int | None = None) -> None:
        """Begin a section; `level` counts from 1. `page` is that of the section before, which ends."""
        self.flush(page)
        level = max(1, min(level, MAX_DEPTH))
        title = " ".join(text.split())[:MAX_HEADING_CHARS]
        self._headings = [*self._headings[: level - 1], title] if title else self._headings

    def add(self, text: str) -> None:
        self._chars += len(text)
        _check_length(self._chars)
        self._parts.append(text)

    def flush(self, page: int | None = None) -> None:
        """End the section."""
        if text := "\n\n".join(part for part in self._parts if part.strip()):
            self.sections.append(Section(tuple(self._headings), page, text))
        self._parts = []


def _check_length(chars: int) -> None:
    """Raises Unreadable."""
    if chars > MAX_TEXT_CHARS:
        raise Unreadable(f"it holds more than {MAX_TEXT_CHARS:,} characters: split it")


def read_text(content: bytes) -> list[Section]:
    outline = Outline()
    outline.add(_decode(content))
    outline.flush()
    return outline.sections


def read_markdown(content: bytes) -> list[Section]:
    """Headings are those of CommonMark; what stands in blocks of code is none."""
    from markdown_it import MarkdownIt

    text = _decode(content)
    lines, outline, begin = text.split("\n"), Outline(), 0
    parser = MarkdownIt("commonmark", {"maxNesting": MAX_BLOCK_DEPTH})
    parser.core.ruler.enableOnly(["normalize", "block"])  # what is within a line is kept as it is written
    parser.block.ruler.disable("reference")
    tokens = parser.parse(text)
    for place, token in enumerate(tokens):
        if token.type == "heading_open" and token.map is not None and token.level == 0:
            outline.add("\n".join(lines[begin : token.map[0]]))
            outline.heading(int(token.tag[1:]), tokens[place + 1].content)
            begin = token.map[1]
    outline.add("\n".join(lines[begin:]))
    outline.flush()
    return outline.sections


class _Page(HTMLParser):
    """The visible text of a page. What a browser does not show is not read."""

    SILENT = frozenset(
        {"script", "style", "noscript", "template", "head", "svg", "math", "iframe", "object", "select", "nav"}
    )
    BLOCKS = frozenset(
        {"p", "div", "li", "tr", "table", "ul", "ol", "pre", "section", "article", "blockquote", "dt", "dd", "br"}
    )
    VOID = frozenset(
        {"br", "img", "hr", "input", "meta", "link", "wbr", "col", "area", "base", "embed", "source", "track"}
    )

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.outline = Outline()
        self._open: list[tuple[str, bool]] = []  # tags, and whether each hides what is in it
        self._counts: Counter[str] = Counter()  # of the tags in `_open`
        self._hidden = 0
        self._text: list[str] = []
        self._level: int | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in self.BLOCKS:
            self._end_block()
        if _level(tag) is not None and not self._hidden:
            self._end_block()
            self._level = _level(tag)
        if tag not in self.VOID:
            hides = tag in self.SILENT or _is_hidden(dict(attrs))
            self._open.append((tag, hides))
            self._counts[tag] += 1
            self._hidden += hides

    def handle_endtag(self, tag: str) -> None:
        if self._counts[tag]:
            while self._open:
                name, hides = self._open.pop()
                self._counts[name] -= 1
                self._hidden -= hides
                if name == tag:
                    break
        if _level(tag) is not None or tag in self.BLOCKS:
            self._end_block()

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self._text.append(data)

    def end(self) -> list[Section]:
        self._end_block()
        self.outline.flush()
        return self.outline.sections

    def _end_block(self) -> None:
        text = " ".join("".join(self._text).split())
        self._text = []
        if self._level is not None and text:
            self.outline.heading(self._level, text)
            self._level = None
        elif text:
            self.outline.add(text)


def _level(tag: str) -> int | None:
    return int(tag[1]) if len(tag) == 2 and tag[0] == "h" and tag[1] in "123456" else None


def _is_hidden(attrs: dict[str, str | None]) -> bool:
    style = (attrs.get("style") or "").replace(" ", "").lower()
    is_invisible = any(one in style for one in ("display:none", "visibility:hidden", "font-size:0", "opacity:0"))
    return "hidden" in attrs or attrs.get("aria-hidden") == "true" or is_invisible


def read_html(content: bytes) -> list[Section]:
    page = _Page()
    text = _decode(content)
    # What follows the last > cannot be a tag, and the parser would look for the end of each that begins there.
    whole = text.rfind(">") + 1
    page.feed(text[:whole])
    page.close()
    page.handle_data(text[whole:].partition("<")[0])
    return page.end()


def read_docx(content: bytes) -> list[Section]:
    """Raises Unreadable, also for what unpacks to more than it may."""
    from docx import Document
    from docx.table import Table

    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            parts = archive.infolist()
    except zipfile.BadZipFile as error:
        raise Unreadable("it is not a docx file") from error
    is_bomb = any(part.file_size > MAX_RATIO * max(part.compress_size, 1024) for part in parts)
    if is_bomb or len(parts) > 5_000 or sum(part.file_size for part in parts) > MAX_UNPACKED_BYTES:
        raise Unreadable("it unpacks to more than a document may have")
    try:
        document = Document(io.BytesIO(content))
        levels = _levels(document)
        outline = Outline()
        for block in document.iter_inner_content():
            if isinstance(block, Table):
                for row in _rows(block):
                    outline.add(row)
                continue
            level = levels.get(block._p.style)
            if level is not None and block.text.strip():
                outline.heading(level, block.text)
            else:
                outline.add(block.text)
    except Unreadable:
        raise
    except Exception as error:
        raise Unreadable("it is not a docx file, or a damaged one") from error
    outline.flush()
    return outline.sections


def _rows(table: Any) -> Iterator[str]:
    """The text of each row. `table.rows` would look through all rows above for every cell that is merged."""
    above: dict[int, str] = {}
    for row in table._tbl.tr_lst:
        texts: dict[int, str] = {}
        column = 0
        for cell in row.tc_lst:
            is_merged = cell.vMerge == "continue"
            text = above.get(column, "") if is_merged else "\n".join(one.text for one in cell.p_lst).strip()
            texts[column] = text
            column += max(cell.grid_span, 1)
        above = texts
        yield " | ".join(dict.fromkeys(texts.values()))


def _levels(document: Any) -> dict[str | None, int]:
    """The levels of headings by the id of their style, None being the style of paragraphs that name none."""
    from docx.enum.style import WD_STYLE_TYPE

    styles = [style for style in document.styles if style.type == WD_STYLE_TYPE.PARAGRAPH]
    levels: dict[str | None, int] = {}
    for style in styles:
        name = style.name or ""
        level = "1" if name == "Title" else name.removeprefix("Heading ") if name.startswith("Heading ") else ""
        if level.isdecimal():
            levels[style.style_id] = int(level[:1])
    return levels


def read_pdf(content: bytes) -> list[Section]:
    """Sections below the titles of the outline, a new one on each page. Raises Unreadable."""
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(content)
    except pypdfium2.PdfiumError as error:
        if "password" in str(error).lower() or "security" in str(error).lower():
            raise Unreadable("it is encrypted: save it without a password and add it again") from error
        raise Unreadable("it is not a pdf file, or a damaged one") from error
    if len(document) > MAX_PAGES:
        raise Unreadable(f"it has more than {MAX_PAGES} pages: split it")
    titles: dict[int, list[tuple[int, str]]] = {}
    for item in islice(document.get_toc(max_depth=MAX_DEPTH), MAX_TITLES):
        target = item.get_dest()
        if target is not None and (index := target.get_index()) is not None:
            titles.setdefault(index, []).append((item.level + 1, item.get_title()))
    pages = []
    chars = 0
    for index in range(len(document)):
        try:
            text = _joined(document[index].get_textpage().get_text_range())
        except pypdfium2.PdfiumError:
            text = ""
        chars += len(text)
        _check_length(chars)
        pages.append(text.split("\n"))
    outline = Outline()
    for index, lines in enumerate(_without_margins(pages)):
        begin = 0
        of_page = titles.get(index, ())
        places = _places(lines) if of_page else {}
        for level, title in of_page:
            number, name = _number_and_name(title)
            possible = places.get(name, ()) if number or name else ()
            place = next((at for at, of_line in possible if at >= begin and of_line.endswith(number)), begin)
            outline.add("\n".join(lines[begin:place]))
            outline.heading(level, title, page=index + 1)
            begin = place
        outline.add("\n".join(lines[begin:]))
        outline.flush(index + 1)
    return outline.sections


def _joined(text: str) -> str:
    """The text of a page; words that the end of a line cut are put together."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _CUT_WORD.sub("", text).strip()


def _without_margins(pages: list[list[str]]) -> Iterator[list[str]]:
    """Lines without those that stand at the top or the bottom of most pages but for numbers."""

    def alike(line: str) -> str:
        return "".join(filter(str.isalpha, line)) or "0"

    edges = Counter(alike(line) for lines in pages for line in {*lines[:MARGIN_LINES], *lines[-MARGIN_LINES:]} if line)
    usual = {line for line, count in edges.items() if count >= max(MIN_MARGINS, MARGIN_SHARE * len(pages))}
    for lines in pages:
        if len(lines) < MIN_PAGE_LINES:
            yield lines
            continue
        last = len(lines) - MARGIN_LINES
        yield [
            line for at, line in enumerate(lines) if not ((at < MARGIN_LINES or at >= last) and alike(line) in usual)
        ]


def _places(lines: list[str]) -> dict[str, list[tuple[int, str]]]:
    """By the name that a line is without its number: the first lines that are it, and the number of each."""
    places: dict[str, list[tuple[int, str]]] = {}
    for at, line in enumerate(lines):
        number, name = _number_and_name(line)
        same = places.setdefault(name, [])
        if len(same) < MAX_PLACES:
            same.append((at, number))
    return places


def _number_and_name(line: str) -> tuple[str, str]:
    """A title without spaces and the size of its letters: the number that it begins with, and the rest."""
    text = "".join(line.split()).casefold()
    name = text.lstrip("0123456789.")
    return text[: len(text) - len(name)], name


def _decode(content: bytes) -> str:
    """Raises Unreadable for what is no text."""
    for encoding in ("utf-8-sig", "utf-16") if content[:2] in (b"\xff\xfe", b"\xfe\xff") else ("utf-8-sig", "cp1251"):
        try:
            text = content.decode(encoding)
        except UnicodeDecodeError:
            continue
        if text.count("\0") * 100 > len(text):
            break
        return clean(text.replace("\r\n", "\n").replace("\r", "\n"))
    raise Unreadable("it is not UTF-8 text")


READERS: dict[str, Callable[[bytes], list[Section]]] = {
    "text/plain": read_text,
    "text/markdown": read_markdown,
    "text/html": read_html,
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": read_docx,
    "application/pdf": read_pdf,
}
MEDIA_TYPES = {
    ".txt": "text/plain",
    ".text": "text/plain",
    ".md": "text/markdown",
    ".markdown": "text/markdown",
    ".html": "text/html",
    ".htm": "text/html",
    ".xhtml": "text/html",
    ".pdf": "application/pdf",
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
}
