"""Where settings are named: in the environment and in `.env`, rightly or not."""

from __future__ import annotations

import os
from difflib import get_close_matches
from pathlib import Path

from dotenv import dotenv_values

from shared.settings import Settings, variable_of

PREFIX = "MAAS_"
BESIDE = {"MAAS_URL", "MAAS_API_KEY", "MAAS_MCP_USER", "MAAS_PARENT_PID"}  # of clients, and between our processes


def names_in_file() -> set[str]:
    """Variables that `.env` gives a value."""
    path = Path(".env")
    return {name for name, value in dotenv_values(path).items() if value} if path.is_file() else set()


def unknown_settings() -> list[str]:
    """A sentence for each variable that looks like a setting and is none, with the one that may be meant."""
    known = {variable_of(name) for name in Settings.model_fields}
    short = {name.removeprefix(PREFIX): name for name in known}
    given = {name.upper() for name in names_in_file() | {name for name, value in os.environ.items() if value}}
    found = []
    for name in sorted(given - known - BESIDE):
        if name.startswith(PREFIX):
            near = get_close_matches(name.removeprefix(PREFIX), short, 1)
            found.append(f"{name} is no setting" + (f"; did you mean {short[near[0]]}?" if near else ""))
    return found
