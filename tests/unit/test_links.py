"""Every link of a document to another file leads to a file, and every anchor to a heading."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("examples/*.md")])
CODE = re.compile(r"```.*?```|(?<!`)`[^`\n]*`(?!`)", re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)|^\[[\w-]+\]: (\S+)$|<img[^>]* src=\"([^\"]+)\"|srcset=\"([^\"]+)\"", re.MULTILINE)
HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)


def anchor(heading: str) -> str:
    """The id of a heading, as code hosts and the site make it."""
    words = unicodedata.normalize("NFC", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)).lower()
    return re.sub(r"[^\w\- ]", "", words).strip().replace(" ", "-")


def anchors(page: Path) -> set[str]:
    return {anchor(one) for one in HEADING.findall(re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL))}


def links(text: str) -> list[str]:
    """What a page links to within the tree."""
    found = ["".join(groups) for groups in LINK.findall(CODE.sub("", text))]
    return [link for link in found if not re.match(r"[a-z]+:", link)]


def broken(page: Path, link: str) -> bool:
    path, _, fragment = link.partition("#")
    target = (page.parent / path) if path else page
    return not target.exists() or (target.suffix == ".md" and bool(fragment) and fragment not in anchors(target))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    assert not [link for link in links(page.read_text()) if broken(page, link)]


def test_a_broken_link_would_be_found() -> None:
    page = ROOT / "docs" / "memory.md"
    shown = "[a](nowhere.md), `[b](code.md)`, [c](sql.md#no-such-heading), [d](#recall)\n\n[e]: https://example.org/\n"
    assert links(shown) == ["nowhere.md", "sql.md#no-such-heading", "#recall"]
    assert [link for link in links(shown) if broken(page, link)] == ["nowhere.md", "sql.md#no-such-heading"]
    assert anchor("7. What is *remembered* of `a_user`, and") == "7-what-is-remembered-of-a_user-and"
