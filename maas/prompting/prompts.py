"""Prompts of roles, and what the row of an assistant says about prompting it.

Prompts are rows that operators edit. The texts in sql/prompts are their first versions, and replace a missing row.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import structlog

from maas.engine.stages import Prompt
from shared.db import SQL, Database, queries
from shared.errors import MaasError

BUILT_IN_ROLES = ("Analyzer", "Assembler", "FinalResponder", "Archivist", "Compactor")
MemoryProfile = Literal["full", "light", "off"]
log = structlog.get_logger()


def built_in_text(role: str) -> str:
    """The first version of a role's prompt."""
    return (SQL / "prompts" / f"{role}.ru.md").read_text(encoding="utf-8").strip()


async def read_prompts(db: Database, *roles: str) -> dict[str, Prompt]:
    """The active prompts of these roles, as they are at this moment.

    A stage's missing prompt is replaced by the built-in one, with a warning. An assistant's missing role raises
    MaasError('missing_role').
    """
    rows = await db.shared_rows("prompts", roles)
    prompts = {row["role_name"]: Prompt(row["role_name"], row["prompt_template"], row["version"]) for row in rows}
    for role in roles:
        if role in prompts:
            continue
        if role not in BUILT_IN_ROLES:
            raise MaasError("missing_role", f"system_prompts has no active row {role!r}; insert it or activate it")
        log.warning("prompt_missing", role=role, used="built-in text")
        prompts[role] = Prompt(role, built_in_text(role), 0)
    return prompts


async def read_role_name(db: Database, assistant: str) -> str:
    """The name of the role that an assistant answers in. Raises MaasError('missing_role')."""
    rows = await db.shared_rows("assistant_role", assistant)
    if not rows:
        raise MaasError("missing_role", f"there is no active assistant {assistant!r} in the table assistants")
    name: str = rows[0]["role_name"]
    return name


def role_text(prompts: Mapping[str, Prompt], name: str) -> str:
    """The system text of an assistant: the rules of every answer, then its own role."""
    return f"{prompts['FinalResponder'].text}\n\n{prompts[name].text}"


async def read_profile(db: Database, assistant: str) -> MemoryProfile:
    """The memory profile of an assistant: `full`, `light` (without model calls) or `off`."""
    rows = await db.shared_rows("assistant_profile", assistant)
    profile: MemoryProfile = rows[0]["memory"] if rows else "full"
    return profile


def seed_prompts(dsn: str) -> int:
    """Insert version 1 of every role that has no row; returns how many were added."""
    import psycopg  # imported here, because every process loads this file and only `maas migrate` needs it

    added = 0
    with psycopg.connect(dsn) as connection, psycopg.RawCursor(connection) as cursor:
        for role in sorted(path.name.removesuffix(".ru.md") for path in (SQL / "prompts").glob("*.ru.md")):
            cursor.execute(queries()["seed_prompt"].encode(), (role, built_in_text(role)))
            added += max(cursor.rowcount, 0)
    return added
