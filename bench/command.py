"""The command line of a benchmark: an error is one line, and a signal still ends what was started."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import typer

from shared import log
from shared.errors import MaasError


def run_command(command: Callable[..., None], name: str = "bench") -> None:
    """Parse the arguments of `command`, run it, exit; `name` stands before an error."""
    log.configure("error")
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    cli = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    cli.command()(command)
    try:
        cli()
    except MaasError as error:
        sys.exit(f"{name}: {error.message}")


def prepare_output(path: Path) -> Path:
    """The path, its folder made. Raises MaasError('bad_output') when no file can be written there."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MaasError("bad_output", f"--out {path}: {path.parent} cannot be made: {error.strerror}") from error
    if path.is_dir() or not os.access(path.parent, os.W_OK):
        raise MaasError("bad_output", f"--out {path} cannot be written; name a file in a folder of yours")
    return path


def _interrupt(_: int, __: FrameType | None) -> None:
    raise KeyboardInterrupt
