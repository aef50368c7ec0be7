"""What mkdocs does not know: pages of this site that lie outside of docs/, and links to them.

The documents link to each other as files of the tree do, so that the same links work on a code host. Every file
outside of docs/ that one of them links to becomes a part of the site, under its path in the tree.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r"(\]\(|^\[[\w-]+\]: )(?![a-z]+:|#)([^)\s#]+)", re.MULTILINE)
CODE = re.compile(r"(```.*?```|(?<!`)`[^`\n]*`(?!`))", re.DOTALL)
MOVED = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security-policy.md",
    "examples/README.md": "examples.md",
}


def in_tree(uri: str) -> str:
    """The path in the tree of a file of the site."""
    beside = next((path for path, moved in MOVED.items() if moved == uri), uri)
    return f"docs/{uri}" if (ROOT / "docs" / uri).exists() else beside


def in_site(path: str) -> str:
    """The path in the site of a file of the tree; of the README it is the first page."""
    return "index.md" if path == "README.md" else MOVED.get(path, path).removeprefix("docs/")


def linked(path: str) -> set[str]:
    """The files of the tree that a document links to."""
    text = CODE.sub("", (ROOT / path).read_text(encoding="utf-8"))
    return {posixpath.normpath(posixpath.join(posixpath.dirname(path), link)) for _, link in LINK.findall(text)}


def on_files(files: Files, *, config: MkDocsConfig, **_: Any) -> Files:
    """Add what is linked to, and what that links to."""
    from mkdocs.structure.files import File

    pages = {in_tree(file.src_uri) for file in files.documentation_pages()} | MOVED.keys()
    seen: set[str] = set()
    while pages:
        path = pages.pop()
        seen.add(path)
        if not (ROOT / path).is_file():  # mkdocs says which page links to it
            continue
        if files.get_file_from_path(in_site(path)) is None:
            files.append(File.generated(config, in_site(path), abs_src_path=str(ROOT / path)))
        if path.endswith(".md"):
            pages |= linked(path) - seen
    return files


def on_page_markdown(markdown: str, *, page: Page, **_: Any) -> str:
    """Turn links between files of the tree into links between files of the site."""
    folder = posixpath.dirname(in_tree(page.file.src_uri))
    here = posixpath.dirname(page.file.src_uri)

    def moved(link: re.Match[str]) -> str:
        target = in_site(posixpath.normpath(posixpath.join(folder, link[2])))
        return link[1] + posixpath.relpath(target, here or ".")

    return "".join(part if number % 2 else LINK.sub(moved, part) for number, part in enumerate(CODE.split(markdown)))
