"""Rows of system_prompts: their names, and the placeholders that a text of an operator may have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

PromptLanguage = Literal["ru", "en"]
# By which a text of an operator says where the inputs stand, as all in one message. The built-in texts have none.
PLACEHOLDERS: Mapping[str, tuple[str, ...]] = {
    "Analyzer": ("user_query", "lsm_records_summary"),
    "Assembler": ("user_query", "memory"),
    "Archivist": ("raw_logs_content", "start_date", "end_date"),
    "Compactor": ("records", "start_date", "end_date", "limit"),
}


def row_name(role: str, language: PromptLanguage) -> str:
    """The name of the row with the prompt of a role in a language: `Mentor` in Russian, `Mentor.en` in English."""
    return role if language == "ru" else f"{role}.{language}"


def split_row_name(name: str) -> tuple[str, PromptLanguage]:
    """The role and the language of a row of system_prompts."""
    return (name.removesuffix(".en"), "en") if name.endswith(".en") else (name, "ru")


def is_filled(role: str, text: str) -> bool:
    """Return whether a text has placeholders of its role, so that its inputs are filled into it."""
    return any(f"{{{name}}}" in text for name in PLACEHOLDERS[role])
