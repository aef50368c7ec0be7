"""pg_dump and pg_restore: those of the embedded server, or of the machine where its server is newer."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
from psycopg import pq

from shared.errors import MaasError
from shared.log import mask
from shared.postgres.installation import wheel

POLL_INTERVAL_S = 0.2
MAX_ERROR_BYTES = 500


def dump(dsn: str, file: Path, on_progress: Callable[[int], object]) -> None:
    """Write one consistent snapshot of the database to `file`; `on_progress` receives the bytes written so far.

    Raises MaasError: program_missing, dump_failed.
    """
    for _ in _run("pg_dump", dsn, "--format=custom", f"--file={file}"):
        on_progress(file.stat().st_size)
    on_progress(file.stat().st_size)


def check(dsn: str, file: Path) -> None:
    """Raise MaasError: program_missing, dump_failed for a file that `dump` has not written."""
    for _ in _run("pg_restore", dsn, "--list", f"--file={os.devnull}", str(file)):
        pass


def restore(dsn: str, file: Path, *sections: str) -> None:
    """Fill the database with these sections of a dump, and leave owners and rights out.

    Raises MaasError: program_missing, dump_failed.
    """
    options = [f"--section={section}" for section in sections]
    options += ["--exit-on-error", "--no-owner", "--no-acl", "--dbname=postgresql://"]
    for _ in _run("pg_restore", dsn, *options, str(file)):
        pass


def _run(program: str, dsn: str, *arguments: str) -> Iterator[None]:
    """Run a program on a database, whose address is given by the environment; yields while it runs."""
    found = {one.envvar.decode(): one.val.decode() for one in pq.Conninfo.parse(dsn.encode()) if one.envvar and one.val}
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            [_find(program, dsn), *arguments], env=os.environ | found, stdin=subprocess.DEVNULL, stderr=errors
        )
        try:
            while True:
                try:
                    status = process.wait(POLL_INTERVAL_S)
                    break
                except subprocess.TimeoutExpired:
                    yield
        finally:
            process.kill()
        if status:
            errors.seek(0)
            cause = mask(errors.read(MAX_ERROR_BYTES).decode(errors="replace")).strip()
            raise MaasError("dump_failed", f"{program}: {cause or f'exit status {status}'}")


def _find(program: str, dsn: str) -> Path:
    """A program that is not older than the server."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        wanted = connection.info.server_version // 10_000
    on_path = shutil.which(program)
    for path in (wheel() / "pginstall" / "bin" / program, *([Path(on_path)] if on_path else [])):
        if path.exists() and _major(path) >= wanted:
            return path
    raise MaasError(
        "program_missing", f"{program} {wanted} or newer is needed: install the client programs of Postgres {wanted}"
    )


def _major(path: Path) -> int:
    text = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"\d+", text)
    return int(found[0]) if found else 0
