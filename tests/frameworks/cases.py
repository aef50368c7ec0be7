"""What each framework's program does: it runs a case for each line of standard input and prints what came of it.

This runs in the environment of the frameworks, so it imports the standard library alone.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Target:
    """Whom a case asks: the base URL, the model, and the question."""

    url: str
    model: str
    text: str


Cases = Mapping[str, Callable[[Target], object]]


def serve(cases: Cases) -> None:
    """Run cases until standard input ends: a line is {case, url, model, text}, its answer {result} or {error, status}.

    The first line that is printed is `ready`. What a framework prints goes to standard error.
    """
    output, sys.stdout = sys.stdout, sys.stderr
    print("ready", file=output, flush=True)
    for line in sys.stdin:
        asked: dict[str, str] = json.loads(line)
        name = asked.pop("case")
        print(json.dumps(_run(cases[name], Target(**asked))), file=output, flush=True)


def _run(case: Callable[[Target], object], target: Target) -> dict[str, Any]:
    try:
        return {"result": case(target)}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}", "status": _status(error)}


def _status(error: BaseException | None) -> int | None:
    """The HTTP status of an error, or of the one that caused it."""
    while error is not None:
        if isinstance(status := getattr(error, "status_code", None), int):
            return status
        error = error.__cause__ or error.__context__
    return None
