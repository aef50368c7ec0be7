"""`maas knowledge add`: whoever may write to a folder does not choose what else of this machine becomes a document."""

from __future__ import annotations

import os
from pathlib import Path
from uuid import UUID

import pytest

from maas.knowledge.files import LINK, SPECIAL, list_files
from tests.stack import Stack, maas

SECRET = "The combination of the safe is 4711."


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """A folder that many may write to, beside what they may not read."""
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "safe.txt").write_text(SECRET)
    folder = tmp_path / "shared"
    (folder / "more").mkdir(parents=True)
    (folder / "tea.txt").write_text("Tea is served at five.")
    (folder / "more" / "cake.md").write_text("Cake is served at six.")
    return folder


def test_links_and_special_files_are_left_out(stack: Stack, user: UUID, shared: Path) -> None:
    (shared / "list.md").symlink_to(shared.parent / "private" / "safe.txt")
    (shared / "folder").symlink_to(shared.parent / "private")
    (shared / "inner.txt").symlink_to(shared / "tea.txt")
    os.mkfifo(shared / "pipe.txt")
    done = maas(stack, "knowledge", "add", str(shared), str(shared / "list.md"), "--user", str(user))
    assert done.returncode == 0, done.stderr
    assert "2 added (2 chunks), 0 unchanged, 0 failed, 5 left out" in done.stdout
    for name in ("shared/list.md", "shared/folder", "shared/inner.txt", "list.md"):
        assert f"{name}: {LINK}" in done.stderr
    assert f"shared/pipe.txt: {SPECIAL}" in done.stderr
    rows = stack.rows("select name from knowledge_documents where user_id = %s order by name", user)
    assert [row["name"] for row in rows] == ["shared/more/cake.md", "shared/tea.txt"]


def test_links_alone_are_an_error(stack: Stack, user: UUID, tmp_path: Path) -> None:
    (tmp_path / "a.md").symlink_to("/etc/passwd")
    done = maas(stack, "knowledge", "add", str(tmp_path / "a.md"), "--user", str(user))
    assert done.returncode == 1 and LINK in done.stderr and "there is no txt" in done.stderr


def test_what_is_replaced_by_a_link_after_it_was_listed_is_not_read(shared: Path) -> None:
    """A file, and a folder above it."""
    files = {file.name: file for file in list_files([shared]).files}
    assert files["shared/more/cake.md"].read(100) == b"Cake is served at six."
    (shared / "tea.txt").unlink()
    (shared / "tea.txt").symlink_to(shared.parent / "private" / "safe.txt")
    (shared.parent / "private" / "cake.md").write_text(SECRET)
    (shared / "more").rename(shared / "less")
    (shared / "more").symlink_to(shared.parent / "private")
    for file in files.values():
        with pytest.raises(OSError, match=r"symbolic links|Not a directory"):
            file.read(100)


def test_a_pipe_that_replaces_a_file_does_not_block(shared: Path) -> None:
    (file,) = list_files([shared / "tea.txt"]).files
    (shared / "tea.txt").unlink()
    os.mkfifo(shared / "tea.txt")
    with pytest.raises(OSError, match=SPECIAL):
        file.read(100)


def test_a_file_that_grew_is_read_no_further_than_allowed(shared: Path) -> None:
    (file,) = list_files([shared / "tea.txt"]).files
    (shared / "tea.txt").write_text("x" * 1000)
    assert len(file.read(100)) == 101
