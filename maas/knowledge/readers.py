"""Readers: what a file says, as sections under headings. Files are hostile: this runs in a process of its own."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html.parser import HTMLParser

from shared.text import clean

MAX_TEXT_CHARS = 20_000_000
MAX_PAGES = 5_000
MAX_UNPACKED_BYTES = 200 * 1024 * 1024
MAX_RATIO = 200  # of a part of a docx: what unpacks to more is a bomb
MAX_HEADING_CHARS = 200
MAX_DEPTH = 6


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

    def heading(self, level: int, text: str) -> None:
        """Begin a section; `level` counts from 1."""
        self.flush()
        level = max(1, min(level, MAX_DEPTH))
        title = " ".join(text.split())[:MAX_HEADING_CHARS]
        self._headings = [*self._headings[: level - 1], title] if title else self._headings

    def add(self, text: str) -> None:
        self._chars += len(text)
        if self._chars > MAX_TEXT_CHARS:
            raise Unreadable(f"it holds more than {MAX_TEXT_CHARS:,} characters: split it")
        self._parts.append(text)

    def flush(self, page: int | None = None) -> None:
        """End the section."""
        if text := "\n\n".join(part for part in self._parts if part.strip()):
            self.sections.append(Section(tuple(self._headings), page, text))
        self._parts = []


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
    tokens = MarkdownIt("commonmark", {"maxNesting": 20}).parse(text)
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

    SILENT = frozenset({"script", "style", "noscript", "template", "head", "svg", "math", "iframe", "object", "select"})
    BLOCKS = frozenset({"p", "div", "li", "tr", "table", "ul", "ol", "pre", "section", "article", "blockquote", "dt", "dd", "br"})  # fmt: skip  # noqa: E501
    VOID = frozenset({"br", "img", "hr", "input", "meta", "link", "wbr", "col", "area", "base", "embed", "source", "track"})  # fmt: skip  # noqa: E501

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.outline = Outline()
        self._open: list[tuple[str, bool]] = []  # tags, and whether each hides what is in it
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
            self._hidden += hides

    def handle_endtag(self, tag: str) -> None:
        if any(name == tag for name, _ in self._open):
            while self._open:
                name, hides = self._open.pop()
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
    page.feed(_decode(content))
    page.close()
    return page.end()


def read_docx(content: bytes) -> list[Section]:
    """Raises Unreadable, also for what unpacks to more than it may."""
    from docx import Document
    from docx.table import Table

    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            parts = archive.infolist()
    except zipfile.BadZipFile as error:
        raise Unreadable("it is no docx file") from error
    is_bomb = any(part.file_size > MAX_RATIO * max(part.compress_size, 1024) for part in parts)
    if is_bomb or len(parts) > 5_000 or sum(part.file_size for part in parts) > MAX_UNPACKED_BYTES:
        raise Unreadable("it unpacks to more than a document does")
    try:
        document = Document(io.BytesIO(content))
        outline = Outline()
        for block in document.iter_inner_content():
            if isinstance(block, Table):
                for row in block.rows:
                    outline.add(" | ".join(dict.fromkeys(cell.text.strip() for cell in row.cells)))
                continue
            style = (block.style.name or "") if block.style is not None else ""
            level = style.removeprefix("Heading ") if style.startswith("Heading ") else "1" if style == "Title" else ""
            if level.isdecimal() and block.text.strip():
                outline.heading(int(level[:1]), block.text)
            else:
                outline.add(block.text)
    except Unreadable:
        raise
    except Exception as error:
        raise Unreadable("it is no docx file, or a damaged one") from error
    outline.flush()
    return outline.sections


def read_pdf(content: bytes) -> list[Section]:
    """A section for each page; headings are those of the outline. Raises Unreadable."""
    from pypdf import PdfReader
    from pypdf.errors import PdfReadError

    try:
        reader = PdfReader(io.BytesIO(content))
        if reader.is_encrypted and not reader.decrypt(""):
            raise Unreadable("it is encrypted: save it without a password and add it again")
        if len(reader.pages) > MAX_PAGES:
            raise Unreadable(f"it has more than {MAX_PAGES} pages: split it")
        titles = dict(_bookmarks(reader))
        outline = Outline()
        for number, page in enumerate(reader.pages, 1):
            if number - 1 in titles:
                level, title = titles[number - 1]
                outline.heading(level, title)
            outline.add(_unwrapped(page.extract_text() or ""))
            outline.flush(number)
    except (PdfReadError, RecursionError, ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise Unreadable("it is no pdf file, or a damaged one") from error
    return outline.sections


def _bookmarks(reader: object) -> Iterator[tuple[int, tuple[int, str]]]:
    """The page (from 0) of each bookmark, with its level and title; of several on a page the last."""

    def walk(items: list[object], level: int) -> Iterator[tuple[int, tuple[int, str]]]:
        for item in items[:MAX_PAGES]:
            if isinstance(item, list):
                if level < MAX_DEPTH:
                    yield from walk(item, level + 1)
            elif (number := reader.get_destination_page_number(item)) is not None:  # type: ignore[attr-defined]
                yield number, (level, str(getattr(item, "title", "") or ""))

    yield from walk(reader.outline, 1)  # type: ignore[attr-defined]


def _unwrapped(text: str) -> str:
    """The text of a page with a word that a line break has cut put together."""
    return text.replace("\u00ad\n", "").replace("-\n", "-").strip()


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
    raise Unreadable("it is no text in UTF-8")


READERS: dict[str, Callable[[bytes], list[Section]]] = {
    "text/plain": read_text,
    "text/markdown": read_markdown,
    "text/html": read_html,
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": read_docx,
    "application/pdf": read_pdf,
}
MEDIA_TYPES = {
    ".txt": "text/plain", ".text": "text/plain", ".md": "text/markdown", ".markdown": "text/markdown",
    ".html": "text/html", ".htm": "text/html", ".xhtml": "text/html", ".pdf": "application/pdf",
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
}  # fmt: skip
