"""Prompts are rows that operators edit; the texts in sql/prompts seed them and stand in for a missing one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import structlog

from shared.db import SQL, Database, queries
from shared.errors import MaasError

BUILT_IN = ("Analyzer", "Assembler", "FinalResponder", "Archivist", "Compactor")
log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Prompt:
    """The text of a role; version 0 is the built-in text."""

    role: str
    text: str
    version: int


def built_in(role: str) -> str:
    """The text that a role starts with."""
    return (SQL / "prompts" / f"{role}.md").read_text(encoding="utf-8").strip()


async def read_prompts(db: Database, *roles: str) -> dict[str, Prompt]:
    """The active prompts of these roles, as they are at this moment.

    A stage's missing prompt is replaced by the built-in one, with a warning. An assistant's missing role raises
    MaasError('missing_role').
    """
    rows = await db.shared_rows("prompts", roles)
    found = {row["role_name"]: Prompt(row["role_name"], row["prompt_template"], row["version"]) for row in rows}
    for role in roles:
        if role in found:
            continue
        if role not in BUILT_IN:
            raise MaasError("missing_role", f"system_prompts has no active row {role!r}; insert it or activate it")
        log.warning("prompt_missing", role=role, used="built-in text")
        found[role] = Prompt(role, built_in(role), 0)
    return found


async def read_role_name(db: Database, assistant: str) -> str:
    """The prompt that an assistant speaks from. Raises MaasError('missing_role')."""
    rows = await db.shared_rows("assistant_role", assistant)
    if not rows:
        raise MaasError("missing_role", f"there is no active assistant {assistant!r} in the table assistants")
    name: str = rows[0]["role_name"]
    return name


def role_text(prompts: Mapping[str, Prompt], name: str) -> str:
    """What an assistant is told of itself: the rules of every answer, then its own role."""
    return f"{prompts['FinalResponder'].text}\n\n{prompts[name].text}"


def seed_prompts(dsn: str) -> int:
    """Insert version 1 of every role that has no row; returns how many were added."""
    import psycopg  # here alone, and every process loads this file

    added = 0
    with psycopg.connect(dsn) as connection, psycopg.RawCursor(connection) as cursor:
        for path in sorted((SQL / "prompts").glob("*.md")):
            cursor.execute(queries()["seed_prompt"].encode(), (path.stem, built_in(path.stem)))
            added += max(cursor.rowcount, 0)
    return added
