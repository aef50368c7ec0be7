"""What the ledger says of the model calls of the last day, for `maas doctor`: which of them fail, and what to set."""

from __future__ import annotations

import math
import re

from maas import queries
from maas.settings import Settings
from maas.settings.models import attempt_setting, budget_setting
from maas.settings.profiles import BUILTIN_MODEL
from maas.settings.sources import PREFIX
from shared.db import Database

MIN_CALLS = 3
MIN_FAILED_SHARE = 0.5
TIMEOUT_FACTOR = 4  # what a timeout is raised by when nobody knows how long the model would have taken
BUDGET_SHARE = 0.9  # an attempt that ended earlier had a limit of its own
_WITHIN = re.compile(r"within (\d+(?:\.\d+)?) s")
_ROLE_OF_STAGE = {
    "analyzer": "Analyzer",
    "assembler": "Assembler",
    "archivist": "Archivist",
    "final_responder": "FinalResponder",
}


async def describe_calls(db: Database, settings: Settings) -> tuple[str, str | None]:
    """Return how many calls of the last day failed, and a sentence for the models that fail often; None without."""
    rows = await db.rows(queries.call_failures)
    calls, failures = sum(row["calls"] for row in rows), sum(row["failures"] for row in rows)
    often = [row for row in rows if row["calls"] >= MIN_CALLS and row["failures"] >= MIN_FAILED_SHARE * row["calls"]]
    advice = "; ".join(_sentence(row, settings) for row in often)
    return f"{calls} in the last day, {failures} of them failed", advice or None


def _sentence(row: queries.CallFailuresRow, settings: Settings) -> str:
    """Return what happened to the calls of one role and model, and what to set."""
    model = f"{row['provider']}:{row['model']}"
    role = _ROLE_OF_STAGE.get(row["stage"])
    who = f"{row['calls']} calls of the {row['role_name']} with {model}"
    if role is None or row["timeouts"] < MIN_FAILED_SHARE * row["calls"]:
        _, _, cause = row["last_error"].partition(": ")
        return f"{row['failures']} of {who} failed, the last because {cause}"
    within = _WITHIN.search(row["last_error"])
    seconds = float(within[1]) if within else row["seconds"]
    budget: float = getattr(settings.models, budget_setting(role).removeprefix(PREFIX).lower())
    setting = budget_setting(role) if seconds > budget * BUDGET_SHARE else attempt_setting(role)
    text = f"{row['timeouts']} of {who} ended at {seconds:.3g} s: set {setting}={_rounded(seconds * TIMEOUT_FACTOR)}"
    if role == "FinalResponder":
        return text
    return f"{text}, or leave it to rules: {PREFIX}{role.upper()}_MODEL={BUILTIN_MODEL}"


def _rounded(seconds: float) -> int:
    """Return whole seconds, from 10 on a multiple of 5."""
    step = 5 if seconds > 10 else 1
    return math.ceil(seconds / step) * step
