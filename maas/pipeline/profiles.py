"""How an assistant remembers: with models, by rule alone, or not at all."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from maas.pipeline.stages import Deps
from shared.db import Database

Profile = Literal["full", "light", "off"]
_REMEMBERING = ("Analyzer", "Assembler", "Archivist")


async def read_profile(db: Database, assistant: str) -> Profile:
    """`memory` of the assistant's definition."""
    rows = await db.shared_rows("assistant_profile", assistant)
    profile: Profile = rows[0]["memory"] if rows else "full"
    return profile


def by_rule(deps: Deps) -> Deps:
    """The same with the built-in model in all roles but the Responder's."""
    return replace(deps, models={**deps.models, **dict.fromkeys(_REMEMBERING, deps.rules)}, fallbacks={})
