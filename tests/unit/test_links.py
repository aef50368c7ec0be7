"""Every link of a document to another file leads to a file, and every anchor to a heading."""

from __future__ import annotations

import re
import unicodedata
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType, SimpleNamespace

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


def hook() -> ModuleType:
    spec = spec_from_file_location("links", ROOT / "docs" / "links.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_page_is_in_the_navigation_of_the_site() -> None:
    """`make docs` fails otherwise; it is not part of CI, because what it installs costs 17 s of CPU."""
    _, navigation = (ROOT / "mkdocs.yml").read_text().split("nav:\n")
    named = re.findall(r": (\S+\.md)$", navigation, re.MULTILINE)
    site = hook()
    wanted = {page.name for page in ROOT.glob("docs/*.md")} | set(site.MOVED.values())
    assert len(named) == len(set(named)) and wanted <= set(named)
    assert all((ROOT / site.in_tree(name)).exists() for name in named)


@pytest.mark.parametrize(
    ("uri", "link", "moved"),
    [
        ("memory.md", "../SECURITY.md", "security-policy.md"),
        ("memory.md", "sql.md#roles", "sql.md#roles"),
        ("changelog.md", "docs/memory.md#recall", "memory.md#recall"),
        ("changelog.md", "README.md", "index.md"),
        ("examples.md", "ask.py", "examples/ask.py"),
        ("deploy.md", "../deploy/grafana.json", "deploy/grafana.json"),
        ("memory.md", "https://example.org/docs/a.md", "https://example.org/docs/a.md"),
        ("sql/migrations/README.md", "../../CHANGELOG.md", "../../changelog.md"),
    ],
)
def test_links_between_files_become_links_of_the_site(uri: str, link: str, moved: str) -> None:
    page = SimpleNamespace(file=SimpleNamespace(src_uri=uri))
    text = f"`[a]({link})` [a]({link})\n\n[b]: {link}\n\n```\n[c]({link})\n```\n"
    shown = f"`[a]({link})` [a]({moved})\n\n[b]: {moved}\n\n```\n[c]({link})\n```\n"
    assert hook().on_page_markdown(text, page=page) == shown
