"""Documents that tests add: small ones of each format, made by libraries that others use, and hostile ones."""

from __future__ import annotations

import io
import zipfile

from docx import Document
from pypdf import PdfReader, PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

HANDBOOK = """# Handbook

Welcome to the mill.

## Vacation

Everybody has 28 days of vacation a year. The first fourteen days may be taken after half a year.

## Keys

```
# this is no heading
```

The keys of the warehouse are handed in at the gatehouse on the last day of work.

## Отпуск

Заявление на отпуск подают за две недели, его подписывает начальник отдела.
"""
NEW_LINE = ") Tj 0 -20 Td ("  # as content streams say it
PAGE = """<html><head><title>Secret title</title><style>p { color: red }</style></head><body>
<h1>Canteen</h1><p>Lunch is served from <b>noon</b> to two.</p><script>alert("invisible script")</script>
<p style="display: none">hidden sentence</p><div hidden>also hidden</div><span aria-hidden="true">and this</span>
<h2>Завтрак</h2><ul><li>Каша<li>Кофе</ul><!-- a comment --></body></html>"""


def docx() -> bytes:
    document = Document()
    document.add_heading("Travel", 1)
    document.add_paragraph("Train tickets are bought by the travel desk.")
    document.add_heading("Hotels", 2)
    table = document.add_table(1, 2)
    table.cell(0, 0).text, table.cell(0, 1).text = "Limit", "90 euros a night"
    return _saved(document)


def _saved(document: object) -> bytes:
    buffer = io.BytesIO()
    document.save(buffer)  # type: ignore[attr-defined]
    return buffer.getvalue()


def pdf(*pages: str, password: str | None = None) -> bytes:
    """A page for each text, in a font that every reader has; each has a bookmark with its number.

    `NEW_LINE` in a text begins another line.
    """
    writer = PdfWriter()
    for number, text in enumerate(pages, 1):
        page = writer.add_blank_page(300, 300)
        font = DictionaryObject(
            {
                NameObject("/Type"): NameObject("/Font"),
                NameObject("/Subtype"): NameObject("/Type1"),
                NameObject("/BaseFont"): NameObject("/Helvetica"),
            }
        )
        fonts = DictionaryObject({NameObject("/F1"): writer._add_object(font)})
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
        stream = DecodedStreamObject()
        stream.set_data(f"BT /F1 12 Tf 20 200 Td ({text}) Tj ET".encode())
        page[NameObject("/Contents")] = writer._add_object(stream)
        writer.add_outline_item(f"Part {number}", number - 1)
    if password is not None:
        writer.encrypt(password)
    content = _saved_pdf(writer)
    assert password is not None or len(PdfReader(io.BytesIO(content)).pages) == len(pages)
    return content


def _saved_pdf(writer: PdfWriter) -> bytes:
    buffer = io.BytesIO()
    writer.write(buffer)
    return buffer.getvalue()


def bomb() -> bytes:
    """A docx of a few kilobytes that unpacks to a third of a gigabyte."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("[Content_Types].xml", "word/document.xml"):
            with archive.open(name, "w", force_zip64=True) as part:
                for _ in range(40):
                    part.write(b" " * 4 * 1024 * 1024)
    return buffer.getvalue()
