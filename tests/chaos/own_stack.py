"""A stack for one trial, with a server of Postgres that is gone afterwards, and the end of the trial."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from bench.report import machine, write_json
from maas.cli.up import prepare_database
from shared.errors import MaasError
from shared.postgres import EmbeddedPostgres, acquire
from tests.stack import Stack

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


@contextmanager
def own_stack(name: str) -> Iterator[tuple[Stack, EmbeddedPostgres]]:
    """A stack without processes, and the server of its database, which a trial may kill."""
    with tempfile.TemporaryDirectory(prefix=f"maas-{name}-", dir="/var/tmp") as path:
        folder = Path(path)
        folder.chmod(0o755)
        server = acquire(folder / "data", on_note=lambda note: None)
        try:
            prepare_database(server.dsn)
            logs = folder / "logs"
            logs.mkdir()
            with Stack(server.dsn, logs) as stack:
                yield stack, server
        finally:
            server.close(wait=True)


def server_version(stack: Stack) -> str:
    return str(stack.rows("show server_version")[0]["server_version"])


def conclude(
    path: Path | None, verdict: DataclassInstance, version: str, *, kills: int, holds: bool, what: str
) -> NoReturn:
    """Write the verdict and end the process: 1 if it does not hold. Raises MaasError if nothing was killed."""
    if path is not None:
        written: dict[str, Any] = asdict(verdict)
        write_json(path, written | {"machine": machine(version)})
    if kills == 0:
        raise MaasError("no_chaos", f"nothing was killed; take more {what}")
    sys.exit(0 if holds else 1)
