"""The `maas` command, and the orchestrator as a program: `python main.py` runs one orchestrator process.

Loads neither stages nor agents by itself: `maas.composition` is imported by what needs them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typer import Typer

    from maas.terminal.invocation import Composition


def load_composition() -> Composition:
    """Import what puts the stages together; takes most of a second."""
    from maas import composition

    return composition


def commands() -> Typer:
    """The `maas` command line as a typer application."""
    from maas.cli import build_cli

    return build_cli(load_composition)


def run(argv: Sequence[str]) -> int:
    """Execute one command line, without the leading `maas`, in this process; return its exit status.

    Settings come from `os.environ` and `.env`, output goes to `sys.stdout` and `sys.stderr`.
    """
    from maas.cli import execute

    return execute(commands(), argv)


def cli() -> None:
    """The console script `maas`."""
    sys.exit(run(sys.argv[1:]))


def main() -> None:
    """Run one orchestrator process; a MaasError becomes one line on standard error and exit status 1."""
    parser = argparse.ArgumentParser(description="Run one orchestrator process. `maas up` starts one, too.")
    parser.add_argument("--stages", help="run only these stages, separated by commas")
    parser.add_argument("--alone", action="store_true", help="execute quarantined runs one at a time, then exit")
    args = parser.parse_args()

    from maas.composition import run_orchestrator
    from shared.errors import MaasError
    from shared.text import visible

    try:
        run_orchestrator(args.stages, args.alone)
    except MaasError as error:
        sys.exit(f"maas: {visible(error.message)}")


if __name__ == "__main__":
    main()
