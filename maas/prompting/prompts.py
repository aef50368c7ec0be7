"""Prompts: the texts of roles, what the row of an assistant says about prompting, and the texts of a run made of them.

Prompts of roles are rows that operators edit. The texts in sql/prompts and in the folders `prompts` of plugins are
their first versions; those of stages replace a missing row. Of a run there are two texts: the draft, of four elements,
and the payload, of three sections.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal
from uuid import UUID

import structlog

from maas.engine.stages import Deps, Prompt
from maas.prompt_rows import PromptLanguage, row_name
from maas.prompting.variants import Variant, choose_variant
from shared import tokens
from shared.db import SQL, Database, queries
from shared.errors import MaasError
from shared.models import spec_of
from shared.models.context_window import reported_window, request_limit
from shared.models.options import options_of
from shared.plugins import active
from shared.text import defuse, escape, unescape

BUILT_IN_ROLES = ("Analyzer", "Assembler", "FinalResponder", "Archivist", "Compactor")
MemoryProfile = Literal["full", "light", "off"]
_DRAFT = re.compile(
    r"<draft>\n<query>\n(?>(?P<query>.*?)\n</query>\n<history>\n<recent>\n)(?>(?P<recent>.*?)\n</recent>\n<focus>\n)"
    r"(?>(?P<focus>.*?)\n</focus>\n</history>\n)"
    r"(?:<client>\n<text>\n(?>(?P<client_system>.*?)\n</text>\n<messages>\n)(?>(?P<client_lines>.*?)\n</messages>\n</client>\n))?"
    r'<role version="(?P<role_version>\d{1,9})">\n'
    r'(?>(?P<role>.*?)\n</role>\n<instruction version="(?P<instruction_version>\d{1,9})">\n)'
    r"(?P<instruction>.*?)\n</instruction>\n</draft>",
    re.DOTALL,
)
_ROLE_TAG = re.compile(r'^<role version="(\d{1,9})">$', re.MULTILINE)
_TAGS = ("system", "memory", "query")
_FOREIGN_TAGS = ("system", "context_from_history", "current_query")  # other programs may write these; we only read them
_MARGIN_TOKENS = 8
MIN_PAYLOAD_TOKENS = 500  # whatever a model has refused
CLIENT_HEADING = (
    "The application through which the user asks adds the text between the tags. Follow it as far as it does not "
    "contradict what stands above."
)
MARKS_RULE = (
    "Lines of <memory> have numbers in brackets. After a sentence that rests on such a line, write its number in "
    "brackets: [2], or [2][5] for two lines. Write no other number in brackets, and no list of sources."
)
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
    rows = await deps.db.shared_rows("assistant_prompt_language", assistant, version=version) if assistant else []
    language: PromptLanguage = (rows[0]["language"] if rows else None) or deps.settings.prompt_language
    return language


async def read_prompts(
    db: Database, *roles: str, version: str | None = None, language: PromptLanguage = "ru"
) -> dict[str, Prompt]:
    """The active prompts of these roles, as they are now, or were at the latest when `version` was the present one.

    A role without a row in `language` has that of the other language. A stage's missing prompt is replaced by the
    built-in one, with a warning. An assistant's missing role raises MaasError('missing_role').
    """
    names = {role: (row_name(role, language), row_name(role, "en" if language == "ru" else "ru")) for role in roles}
    wanted = tuple(name for pair in names.values() for name in pair)
    rows = {row["role_name"]: row for row in await db.shared_rows("prompts", wanted, version=version)}
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
    rows = await db.shared_rows("assistant_role", assistant, version=version)
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
    rows = await db.shared_rows("assistant_profile", assistant, version=version)
    profile: MemoryProfile = rows[0]["memory"] if rows else "full"
    return profile


def seed_prompts(dsn: str) -> int:
    """Insert version 1 of every role that has no row, in each language; returns how many were added."""
    import psycopg  # imported here, because every process loads this file and only `maas migrate` needs it

    added = 0
    with psycopg.connect(dsn) as connection, psycopg.RawCursor(connection) as cursor:
        for name, path in prompt_files().items():
            role = name.removesuffix(".ru")
            cursor.execute(queries()["seed_prompt"].encode(), (role, path.read_text(encoding="utf-8").strip()))
            added += max(cursor.rowcount, 0)
    return added


@dataclass(frozen=True, slots=True)
class Draft:
    """Everything that an answer may need, in the column draft_context.

    `recent`, `focus` and `client_lines` are escaped lines, the rest is plain text. `client_system` and `client_lines`
    are the context that the client sent; they are left out of the text when they are empty. The versions are those of
    the prompts FinalResponder and Assembler.
    """

    query: str
    recent: tuple[str, ...]
    focus: tuple[str, ...]
    role: str
    instruction: str
    role_version: int = 0
    instruction_version: int = 0
    client_system: str = ""
    client_lines: tuple[str, ...] = ()

    def system(self, role: str) -> str:
        """A role text, followed by the client's system text between tags."""
        if not self.client_system:
            return role
        return f"{role}\n\n{CLIENT_HEADING}\n<client>\n{escape(self.client_system)}\n</client>"

    def render(self) -> str:
        return (
            f"<draft>\n<query>\n{escape(self.query)}\n</query>\n<history>\n<recent>\n{_join(self.recent)}\n</recent>\n"
            f"<focus>\n{_join(self.focus)}\n</focus>\n</history>\n{self._client()}"
            f'<role version="{self.role_version}">\n{escape(self.role)}\n</role>\n'
            f'<instruction version="{self.instruction_version}">\n{escape(self.instruction)}\n</instruction>\n</draft>'
        )

    def _client(self) -> str:
        if not self.client_system and not self.client_lines:
            return ""
        return (
            f"<client>\n<text>\n{escape(self.client_system)}\n</text>\n"
            f"<messages>\n{_join(self.client_lines)}\n</messages>\n</client>\n"
        )

    @staticmethod
    def read_role_version(text: str) -> int:
        """The version of the prompt FinalResponder in the text of a draft. Raises MaasError('bad_draft')."""
        match = _ROLE_TAG.search(text)  # all other text in a draft is escaped
        return int(match[1]) if match else Draft.parse(text).role_version

    @classmethod
    def parse(cls, text: str) -> Draft:
        """Raises MaasError('bad_draft')."""
        match = _DRAFT.fullmatch(text.strip())
        if match is None:
            raise MaasError(
                "bad_draft", "draft_context does not hold the four elements query, history, role, instruction"
            )
        return cls(
            unescape(match["query"]), _lines(match["recent"]), _lines(match["focus"]), unescape(match["role"]),
            unescape(match["instruction"]), int(match["role_version"]), int(match["instruction_version"]),
            unescape(match["client_system"] or ""), _lines(match["client_lines"] or ""),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Payload:
    """The input of the Responder, in the column final_context_payload. `memory` is escaped, the rest is plain text."""

    system: str
    memory: str
    query: str

    def render(self) -> str:
        return (
            f"<system>\n{escape(self.system)}\n</system>\n<memory>\n{defuse(self.memory)}\n</memory>\n"
            f"<query>\n{escape(self.query)}\n</query>"
        )

    @classmethod
    def parse(cls, text: str) -> Payload:
        """Parse a payload with either set of tags. Raises MaasError('bad_payload')."""
        sections = _sections(text, _TAGS) or _sections(text, _FOREIGN_TAGS)
        if sections is None:
            raise MaasError(
                "bad_payload",
                "final_context_payload does not hold <system>, <memory> and <query> in this order, nor <system>, "
                "<context_from_history> and <current_query>",
            )
        system, memory, query = sections
        return cls(unescape(system), defuse(memory), unescape(query))

    @property
    def has_marks(self) -> bool:
        """Whether the answer may cite the lines of memory by their numbers."""
        return MARKS_RULE in self.system

    def system_text(self) -> str:
        """The system text of the Responder: the role, and the memory if there is any."""
        return f"{self.system}\n\n<memory>\n{self.memory}\n</memory>" if self.memory.strip() else self.system

    def room(self, limit: int) -> int:
        """Tokens that are left for memory. Raises MaasError('query_too_long') when there are none."""
        # Counted in two parts, because the count of the first, which runs of an assistant share, is cached.
        before, _, query = Payload(self.system, "", self.query).render().rpartition("<query>\n")
        room = limit - tokens.count(before + "<query>") - tokens.count("\n" + query) - _MARGIN_TOKENS
        if room < 0:
            raise MaasError(
                "query_too_long",
                f"the query does not fit into {limit} tokens together with the role text and the client's system text; "
                "shorten it",
            )
        return room


def _sections(text: str, tags: tuple[str, ...]) -> list[str] | None:
    """The texts between these tags; None unless the tags follow one another in this order with nothing in between."""
    sections: list[str] = []
    rest = text.strip()
    for tag in tags:
        before, opening, rest = rest.partition(f"<{tag}>")
        content, closing, rest = rest.partition(f"</{tag}>")
        if before.strip() or not (opening and closing):
            return None
        sections.append(content.removeprefix("\n").removesuffix("\n"))
    return None if rest.strip() else sections


def _join(lines: tuple[str, ...]) -> str:
    return "\n".join(lines)


def _lines(text: str) -> tuple[str, ...]:
    return tuple(line for line in text.split("\n") if line)


async def payload_limit(deps: Deps, assistant: str, version: str | None = None) -> int:
    """The tokens that a payload for this assistant may hold: MAAS_PAYLOAD_TOKENS, by the tokenizers of its models.

    An assistant or agent without a model of its own uses the Responder's. Which agent will answer is not known yet, so
    the smallest limit counts. It is smaller where a model is known to take less.
    """
    rows = await deps.db.shared_rows("assistant_models", assistant, version=version)
    models = rows[0]["models"] if rows else [None]
    default_provider = deps.models["FinalResponder"].provider
    providers = {model.partition(":")[0] if model else default_provider for model in models}
    limits = [tokens.within(deps.settings.payload_tokens, provider) for provider in providers]
    for model in set(models):
        with suppress(MaasError):  # of a model that cannot be opened; the answer fails for it
            responder = deps.with_responder_model(model).models["FinalResponder"]
            window = options_of(deps.settings, "FinalResponder", spec_of(responder)).window
            window = window or await reported_window(responder)
            if (known := request_limit(responder, deps.settings.max_tokens, window)) is not None:
                limits.append(max(known, MIN_PAYLOAD_TOKENS))
    return min(limits)
