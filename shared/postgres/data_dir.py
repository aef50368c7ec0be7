"""The folder in which the embedded Postgres keeps its files, and the operating-system user that it runs as."""

from __future__ import annotations

import hashlib
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shared.errors import MaasError

DEFAULT_DIR = Path(".maas")
SYSTEM_DIR = Path("/var/lib/maas")
SERVICE_USERS = ("postgres", "nobody")
HOME = "postgres"


@dataclass(frozen=True, slots=True)
class Account:
    """An operating-system user; `switch`: this process is root and must change to it."""

    name: str
    uid: int
    gid: int
    switch: bool

    @property
    def process(self) -> dict[str, Any]:
        """Arguments of `subprocess` that start a child as this user."""
        return {"user": self.uid, "group": self.gid, "extra_groups": []} if self.switch else {}


@dataclass(frozen=True, slots=True)
class DataDir:
    """The chosen folder. `home`, a folder in `data_dir`, belongs to the server's user; `data_dir` may not."""

    data_dir: Path
    home: Path
    account: Account


def choose_data_dir(data_dir: Path | None, on_note: Callable[[str], None]) -> DataDir:
    """Choose the folder of the server and the user that owns it; create the folder if it is missing.

    Without `data_dir` it is `.maas` in the current folder, or a folder below /var/lib/maas if the server's user
    cannot enter that one.
    Raises MaasError: data_dir_unreachable, data_dir_not_writable, no_unprivileged_user, unknown_user.
    """
    wanted = Path(os.path.abspath((data_dir or DEFAULT_DIR).expanduser())).resolve()
    accounts = list(_root_accounts(wanted)) if os.geteuid() == 0 else [_own_account()]
    account = next((each for each in accounts if _can_enter(each, _nearest(wanted))), None)
    if account is None and data_dir is None and os.geteuid() == 0:
        moved = SYSTEM_DIR / hashlib.sha256(os.fsencode(wanted)).hexdigest()[:12]
        on_note(
            f"user {accounts[0].name}, which runs Postgres because root must not, cannot enter {wanted.parent}; "
            f"the data is kept in {moved} (MAAS_DATA_DIR chooses another folder)"
        )
        return choose_data_dir(moved, on_note)
    if account is None:
        raise MaasError(
            "data_dir_unreachable",
            f"user {accounts[0].name}, which runs Postgres, cannot enter {_nearest(wanted)}; set MAAS_DATA_DIR to a "
            "folder below one that every user may enter, such as /var/lib/maas, or run as the user who owns it",
        )
    home = wanted / HOME
    try:
        _make(wanted, home, account)
        owner = home.stat().st_uid
    except OSError as error:
        raise _not_writable(wanted, error) from error
    if owner != account.uid:
        raise MaasError(
            "data_dir_unreachable",
            f"{home} belongs to user {_name(owner)}, you are {account.name}; run as that user or set MAAS_DATA_DIR to "
            "a folder of your own",
        )
    return DataDir(wanted, home, account)


def _not_writable(wanted: Path, error: OSError) -> MaasError:
    return MaasError(
        "data_dir_not_writable",
        f"cannot make the database folder in {wanted}: {error.strerror or error}; set MAAS_DATA_DIR to a folder on a "
        "disk that you may write, or DATABASE_URL to a server of your own",
    )


def _own_account() -> Account:
    try:
        entry = pwd.getpwuid(os.geteuid())
    except KeyError:
        raise MaasError(
            "unknown_user",
            f"user id {os.geteuid()} has no name on this machine, and Postgres refuses to run without one; add it to "
            "/etc/passwd, run as another user, or set DATABASE_URL to a server of your own",
        ) from None
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid, switch=False)


def _root_accounts(wanted: Path) -> Iterator[Account]:
    """Yield the users as whom root may run Postgres; the owner of an existing folder first."""
    home = wanted / HOME
    known = {each.pw_uid: each for each in reversed(pwd.getpwall())}
    if home.exists() and home.stat().st_uid not in known:
        raise MaasError(
            "data_dir_unreachable",
            f"{home} belongs to user id {home.stat().st_uid}, which has no name on this machine, and Postgres needs "
            f"one; give the folder to a user (chown -R nobody {home}), or set MAAS_DATA_DIR to another folder",
        )
    owners = [(home if home.exists() else _nearest(wanted)).stat().st_uid]
    if not home.exists():
        owners += [uid for name in SERVICE_USERS for uid, entry in known.items() if entry.pw_name == name]
    owners = [uid for uid in owners if uid != 0 and uid in known]
    for uid in owners:
        yield Account(known[uid].pw_name, uid, known[uid].pw_gid, switch=True)
    if not owners:
        raise MaasError(
            "no_unprivileged_user",
            "Postgres refuses to run as root and this machine has neither a user postgres nor nobody; add one "
            "(useradd --system postgres), run as an ordinary user, or set DATABASE_URL to a server of your own",
        )


def _nearest(path: Path) -> Path:
    """Return the path itself or the nearest folder above it that exists."""
    return next(each for each in (path, *path.parents) if _exists(each))


def _exists(path: Path) -> bool:
    """Return whether the path exists; a path below a folder that may not be entered does not."""
    try:
        return path.exists()
    except PermissionError:
        return False


def _can_enter(account: Account, folder: Path) -> bool:
    """Try it as that user: mode bits do not show access lists and remote file systems."""
    if not account.switch:
        return os.access(folder, os.X_OK)
    try:
        done = subprocess.run(
            ["/bin/sh", "-c", 'test -x "$0"', str(folder)], cwd="/", stdin=subprocess.DEVNULL, **account.process
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise MaasError(
            "no_unprivileged_user",
            f"Postgres refuses to run as root, and this process may not change to user {account.name} ({error}); run "
            "as an ordinary user, or set DATABASE_URL to a server of your own",
        ) from error
    return done.returncode == 0


def _make(data_dir: Path, home: Path, account: Account) -> None:
    missing = [each for each in (data_dir, *data_dir.parents) if not each.exists()]
    for folder in reversed(missing):
        folder.mkdir(exist_ok=True)
        folder.chmod(0o755 if account.switch else 0o700)
    if home.exists():
        return
    # Renamed into place with its owner set, so that another process never sees it incomplete.
    fresh = tempfile.mkdtemp(prefix=".postgres-", dir=data_dir)
    try:
        if account.switch:
            os.chown(fresh, account.uid, account.gid)
        os.rename(fresh, home)
    except OSError:
        shutil.rmtree(fresh, ignore_errors=True)
        if not home.exists():
            raise


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
