"""Readers: what a file says, as sections under headings. Files are hostile: this runs in a process of its own."""

from __future__ import annotations

import io
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from typing import Any

from maas.knowledge.outline import Outline, Section, Unreadable
from maas.knowledge.pdf import read_pdf
from shared.text import clean

MAX_UNPACKED_BYTES = 200 * 1024 * 1024
MAX_RATIO = 200  # of a part of a docx: what unpacks to more is a bomb
MAX_BLOCK_DEPTH = 4  # of quotations and lists within each other, in which no heading is one of the document


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
