"""The console script `maas`: finds the parts of the server beside this package, or below it in a wheel.

Only the server's own processes go through here, so that `import maas` changes nothing in an application.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
PARTS = ("shared", "workers", "server", "main")


def cli() -> None:
    """Run the command line; one line and status 1 if another package hides a part of the server."""
    in_wheel = PACKAGE / "_app"
    root = in_wheel if in_wheel.is_dir() else PACKAGE.parent
    if root == in_wheel:
        sys.path.insert(0, str(root))
    for name in PARTS:
        spec = find_spec(name)
        if spec is None or spec.origin is None or not Path(spec.origin).resolve().is_relative_to(root):
            sys.exit(
                f"maas: {name} of MaaS is in {root}, and Python finds {spec and spec.origin}: install MaaS into an "
                "environment of its own, and unset PYTHONPATH"
            )
    from main import cli as run

    run()
