"""The text of a PDF by its outline, without the margins of its pages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice

from maas.knowledge.outline import MAX_DEPTH, MAX_TITLES, Outline, Section, Unreadable, check_length

MAX_PAGES = 5_000
MAX_PLACES = 20  # on a page, of lines that may be one title
MARGIN_LINES, MIN_MARGINS, MARGIN_SHARE = 2, 3, 0.4  # lines at an edge of that share of the pages are no text
MIN_PAGE_LINES = 8  # of a page that has margins
_CUT_WORD = re.compile("[\ufffe\x02\xad]\n?|(?<=[a-zа-яё])-\n(?=[a-zа-яё])")


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
        check_length(chars)
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
