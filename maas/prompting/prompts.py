"""Prompts: the texts of roles, and what the row of an assistant says about prompting.

Prompts of roles are rows that operators edit. The texts in sql/prompts and in the folders `prompts` of plugins are
their first versions; those of stages replace a missing row.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Literal, cast
from uuid import UUID

import structlog

from maas import queries
from maas.engine.stages import Deps, Prompt
from maas.model_options import options_of
from maas.plugins import active
from maas.prompt_rows import PromptLanguage, row_name
from maas.prompting.variants import Variant, choose_variant
from shared import tokens
from shared.db import Database
from shared.errors import MaasError
from shared.models import spec_of
from shared.models.context_window import reported_window, request_limit
from shared.query import SQL

BUILT_IN_ROLES = ("Analyzer", "Assembler", "FinalResponder", "Archivist", "Facts", "Compactor")
MemoryProfile = Literal["full", "light", "off"]
MIN_PAYLOAD_TOKENS = 500  # whatever a model has refused
KEEP_NUMBERS = "Lines begin with a number in brackets. Keep that number before whatever you keep of a line."
log = structlog.get_logger()


def built_in_text(role: str, language: PromptLanguage = "ru") -> str:
    """The first version of a role's prompt. Raises KeyError where the role has none in this language, and MaasError."""
    return prompt_files()[f"{role}.{language}"].read_text(encoding="utf-8").strip()


def prompt_files() -> dict[str, Path]:
    """The files of first versions by role and language, such as `Mentor.ru`; ours and those of the plugins that are on.

    Raises MaasError('bad_plugin') where two of them have one name.
    """
    found: dict[str, Path] = {}
    for folder in (SQL, *(plugin.folder for plugin in active())):
        for path in sorted((folder / "prompts").glob("*.md")):
            if path.stem in found:
                raise MaasError("bad_plugin", f"{path} and {found[path.stem]} have one name: rename the role of one")
            found[path.stem] = path
    return found


async def prompt_language(deps: Deps, assistant: str | None, version: str | None = None) -> PromptLanguage:
    """The language of the prompts of an assistant: `prompt_language` of its definition, else MAAS_PROMPT_LANGUAGE."""
    rows = await deps.db.shared_rows(queries.assistant_prompt_language, assistant, version=version) if assistant else []
    language = (rows[0]["language"] if rows else None) or deps.settings.answers.prompt_language
    return cast(PromptLanguage, language)


async def read_prompts(
    db: Database, *roles: str, version: str | None = None, language: PromptLanguage = "ru"
) -> dict[str, Prompt]:
    """The active prompts of these roles, as they are now, or were at the latest when `version` was the present one.

    A role without a row in `language` has that of the other language. A stage's missing prompt is replaced by the
    built-in one, with a warning. An assistant's missing role raises MaasError('missing_role').
    """
    names = {role: (row_name(role, language), row_name(role, "en" if language == "ru" else "ru")) for role in roles}
    wanted = tuple(name for pair in names.values() for name in pair)
    rows = {row["role_name"]: row for row in await db.shared_rows(queries.prompts, wanted, version=version)}
    prompts: dict[str, Prompt] = {}
    for role, (own, other) in names.items():
        row = rows.get(own) or (None if role in BUILT_IN_ROLES and _is_built_in(role, language) else rows.get(other))
        if row is not None and row["is_active"]:
            prompts[role] = Prompt(row["role_name"], row["prompt_template"], row["version"])
            continue
        if role not in BUILT_IN_ROLES:
            raise MaasError("missing_role", f"system_prompts has no active row {role!r}; insert it or activate it")
        used: PromptLanguage = language if _is_built_in(role, language) else "ru"
        log.warning("prompt_missing", role=own, used="built-in text")
        prompts[role] = Prompt(row_name(role, used), built_in_text(role, used), 0)
    return prompts


@cache
def _is_built_in(role: str, language: PromptLanguage) -> bool:
    return (SQL / "prompts" / f"{role}.{language}.md").is_file()


async def read_role_name(db: Database, assistant: str, user_id: UUID, version: str | None = None) -> str:
    """The name of the role that an assistant answers this user in. Raises MaasError('missing_role')."""
    rows = await db.shared_rows(queries.assistant_role, assistant, version=version)
    if not rows:
        raise MaasError("missing_role", f"there is no active assistant {assistant!r} in the table assistants")
    name: str = rows[0]["role_name"]
    if not (stored := rows[0]["variants"]):
        return name
    variant = choose_variant([Variant.model_validate(one) for one in stored], assistant, user_id)
    return name if variant is None else variant.role_prompt


def role_text(prompts: Mapping[str, Prompt], name: str) -> str:
    """The system text of an assistant: the rules of every answer, then its own role."""
    return f"{prompts['FinalResponder'].text}\n\n{prompts[name].text}"


async def read_profile(db: Database, assistant: str, version: str | None = None) -> MemoryProfile:
    """The memory profile of an assistant: `full`, `light` (without model calls) or `off`."""
    rows = await db.shared_rows(queries.assistant_profile, assistant, version=version)
    return cast(MemoryProfile, rows[0]["memory"]) if rows else "full"


def seed_prompts(dsn: str) -> int:
    """Insert version 1 of every role that has no row, in each language; returns how many were added."""
    import psycopg  # imported here, because every process loads this file and only `maas migrate` needs it

    added = 0
    seed = queries.seed_prompt.text.encode()
    with psycopg.connect(dsn) as connection, psycopg.RawCursor(connection) as cursor:
        for name, path in prompt_files().items():
            role = name.removesuffix(".ru")
            cursor.execute(seed, (role, path.read_text(encoding="utf-8").strip()))
            added += max(cursor.rowcount, 0)
    return added


async def payload_limit(deps: Deps, assistant: str, version: str | None = None) -> int:
    """The tokens that a payload for this assistant may hold: MAAS_PAYLOAD_TOKENS, by the tokenizers of its models.

    An assistant or agent without a model of its own uses the Responder's. Which agent will answer is not known yet, so
    the smallest limit counts. It is smaller where a model is known to take less.
    """
    rows = await deps.db.shared_rows(queries.assistant_models, assistant, version=version)
    models = rows[0]["models"] if rows else [None]
    default_provider = deps.models["FinalResponder"].provider
    providers = {model.partition(":")[0] if model else default_provider for model in models}
    limits = [tokens.within(deps.settings.answers.payload_tokens, provider) for provider in providers]
    for model in set(models):
        with suppress(MaasError):  # of a model that cannot be opened; the answer fails for it
            responder = deps.with_responder_model(model).models["FinalResponder"]
            window = options_of(deps.settings, "FinalResponder", spec_of(responder)).window
            window = window or await reported_window(responder)
            if (known := request_limit(responder, deps.settings.answers.max_tokens, window)) is not None:
                limits.append(max(known, MIN_PAYLOAD_TOKENS))
    return min(limits)
